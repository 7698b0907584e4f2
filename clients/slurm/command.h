// What the Slurm-named commands share: finding the server, errors in Slurm's form, job ids and
// partitions. It also declares the commands; each is defined in the source of its name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clients/lib/api_client.h"
#include "clients/slurm/job_list.h"
#include "schedd/model/batch.h"

struct option;  // of getopt.h

namespace muster::slurm {

inline constexpr int kExitRefused = 1;
/// exit(-1): how sbatch alone ends on option errors.
inline constexpr int kExitUsage = 255;
/// The answer of every command to --version: tools look for `slurm N.N.N`.
inline constexpr char kVersionLine[] = "slurm 25.05.0 (muster 0.1.0)\n";

/// Prints "sbatch: error: TEXT" on stderr, for each line of `text`.
void PrintError(const char* command, std::string_view text);
/// The exit status of an error: `otherwise`, unless SLURM_EXIT_ERROR replaces it.
int ErrorExit(int otherwise);
/// Prints the error; gives the exit status of a request that is refused.
int Fail(const char* command, std::string_view text);
/// Prints "Try "sbatch --help" for more information", after getopt_long has printed what is wrong;
/// gives the exit status.
int UsageExit(const char* command, int exit = kExitRefused);
/// "--wckey: not supported by this version", or with `why` instead. The option is the one whose
/// `val` is `id`, by its long name.
std::string NotSupported(const ::option* options, int id, const char* why = nullptr);
/// The name of a user number of this host; any other text unchanged.
std::string UserName(const std::string& user);

/// The client settings, or nullopt after an error on stderr.
std::optional<client::Settings> FindServer(const char* command);

/// Slurm's sentence for a failure. A server that is unreachable or not ready gives the sentence of
/// an unreachable slurmctld.
std::string FailureText(const client::Failure& failure);

/// A partition as users write it: "queue" in the default namespace, or "namespace/queue".
struct Partition {
  std::string ns, queue;
};
Partition SplitPartition(std::string_view text, const std::string& default_ns);
/// A row's partition as it is shown: with its namespace only if that is not the default one.
std::string_view PartitionOf(const JobRow& row, std::string_view default_ns, std::string* scratch);

/// True if the list is empty (no filter) or names the row's partition. A partition without a
/// namespace means the one in the user's namespace.
bool InPartitions(const std::vector<std::string>& list, const JobRow& row,
                  const std::string& default_ns);
/// True if the list is empty (no filter) or has the text.
bool PassesFilter(const std::vector<std::string>& list, std::string_view text);

/// A job id as users write it: "12", "12_3", "12_[1-4,7]", "12+1" (a component), or a step of one:
/// "12.batch", "12_3.0".
struct JobSpec {
  std::int64_t id = 0;
  bool tasks_only = false;  // only `tasks` of array `id` are meant
  TaskRanges tasks = {};
  std::int32_t het_offset = -1;  // of a heterogeneous job; -1: the whole job
  std::string step = {};         // "batch", "extern" or a number; "": the job
};
std::optional<JobSpec> ParseJobSpec(std::string_view text);
/// True if the row is the job, one of the named tasks, the record of waiting tasks that has one of
/// them, or any task of the named array. Steps and components are not looked at.
bool Matches(const JobSpec& spec, const JobRow& row);
/// "12_[1-4]" or "12_3" without its step.
std::string SpecText(const JobSpec& spec);

/// Reads the jobs that `specs` name into `list`, each once, in order of id. It makes one request
/// for each id, and one more for each array. Unknown ids are left out.
client::Outcome<Done> FetchSpecs(client::ApiClient& api, const std::vector<JobSpec>& specs,
                                 JobList* list);

/// True if the list is empty (no filter) or names a host of the job or its member cluster.
bool OnNodes(const std::vector<std::string>& nodes, const JobRow& row);

/// The user that the server takes the caller for, whose jobs `--me` and `sacct` mean: with
/// MUSTER_AS that one; of a caller who shows a credential what the server says; else the account.
client::Outcome<std::string> OwnUser(client::ApiClient& api);

/// Splits at commas that are not in brackets; empty parts are left out.
std::vector<std::string> SplitList(std::string_view text);

/// A whole number without sign, or nullopt.
std::optional<std::int64_t> ParseCount(std::string_view text);

/// Writes all of `text` to stdout. A closed output (squeue | head) is not reported.
void WriteOut(std::string_view text);

// The commands. Each takes its own arguments (argv[0] is its name) and returns its exit status.
int RunSbatch(int argc, char** argv);
int RunSqueue(int argc, char** argv);
int RunScancel(int argc, char** argv);
int RunSacct(int argc, char** argv);
int RunSinfo(int argc, char** argv);
int RunScontrol(int argc, char** argv);
int RunSacctmgr(int argc, char** argv);
int RunSstat(int argc, char** argv);
int RunSeff(int argc, char** argv);
int RunSalloc(int argc, char** argv);
int RunSrun(int argc, char** argv);  // outside a job
int RunSbcast(int argc, char** argv);
int RunStrigger(int argc, char** argv);

}  // namespace muster::slurm
