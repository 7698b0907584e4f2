// What every Slurm-named command shares: finding the server, Slurm's way of saying that something
// is wrong, and Slurm's ids.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clients/lib/api_client.h"
#include "clients/slurm/job_list.h"

struct option;  // of getopt.h

namespace muster::slurm {

inline constexpr int kExitRefused = 1;
inline constexpr int kExitUsage = 255;  // exit(-1), as option errors of sbatch end, and of no other
/// What every command answers to --version: tools look for `slurm N.N.N`.
inline constexpr char kVersionLine[] = "slurm 25.05.0 (muster 0.1.0)\n";

/// "sbatch: error: TEXT" on stderr, once per line of `text`.
void PrintError(const char* command, std::string_view text);
/// The exit status of an error: `otherwise`, unless SLURM_EXIT_ERROR replaces it.
int ErrorExit(int otherwise);
/// "Try "sbatch --help" for more information", after getopt_long has said what is wrong; gives the
/// exit status.
int UsageExit(const char* command, int exit = kExitRefused);
/// "--wckey: not supported by this version": the option whose `val` is `id`, by its long name.
std::string NotSupported(const ::option* options, int id, const char* why = nullptr);
/// A user number of this host as its name; anything else as it stands.
std::string UserName(const std::string& user);

/// The client settings, or nullopt after an error on stderr.
std::optional<client::Settings> FindServer(const char* command);

/// Slurm's sentence for a failure: servers that are unreachable or not ready read as an unreachable
/// slurmctld does.
std::string FailureText(const client::Failure& failure);

/// A partition as users write it: "queue" in the default namespace, or "namespace/queue".
struct Partition {
  std::string ns, queue;
};
Partition SplitPartition(std::string_view text, const std::string& default_ns);
/// How a row's partition is shown: with its namespace only where that is not the default one.
std::string_view PartitionOf(const JobRow& row, std::string_view default_ns, std::string* scratch);

/// "12", "12_3" or "12_[1-4,7]" (also with a step, "12.batch", which names its job).
struct JobSpec {
  std::int64_t id = 0;
  bool tasks_only = false;  // true: just these tasks of array `id`
  std::vector<std::int32_t> tasks;
};
std::optional<JobSpec> ParseJobSpec(std::string_view text);
/// True if the row is the job, one of the named tasks, or any task of the named array.
bool Matches(const JobSpec& spec, const JobRow& row);

/// The jobs that `specs` name, each once, in order of id. One request per plain id; a list where an
/// array is meant. Unknown ids are left out.
client::Outcome<Done> FetchSpecs(client::ApiClient& api, const std::vector<JobSpec>& specs,
                                 JobList* list);

/// Splits at commas; empty parts are left out.
std::vector<std::string> SplitList(std::string_view text);

/// A whole number without sign, or nullopt.
std::optional<std::int64_t> ParseCount(std::string_view text);

/// Writes all of `text` to stdout; a reader that went away is no error worth a message.
void WriteOut(std::string_view text);

// The commands. Each takes its own words (argv[0] is its name) and returns its exit status.
int RunSbatch(int argc, char** argv);
int RunSqueue(int argc, char** argv);
int RunScancel(int argc, char** argv);
int RunSacct(int argc, char** argv);
int RunSinfo(int argc, char** argv);
int RunScontrol(int argc, char** argv);

}  // namespace muster::slurm
