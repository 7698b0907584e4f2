// `muster`'s commands: what the command line asked for, as plain structs, and one function for
// each. Parsing (main.cc, the only file that sees CLI11) and doing are apart, so that tests call
// the functions directly.
//
// Every function prints to stdout, errors to stderr, and returns the exit status: 0, 1 refused, 2
// bad usage, 3 server not reached (rule C2).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clients/lib/api_client.h"

namespace muster::cli {

inline constexpr int kRefused = 1;
inline constexpr int kBadUsage = 2;
inline constexpr int kTimedOut = 124;  // as timeout(1)

/// A server, a namespace and how to print.
struct Session {
  explicit Session(client::Settings settings, bool every_namespace = false)
      : api(std::move(settings)), all_namespaces(every_namespace) {}
  client::ApiClient api;
  bool all_namespaces = false;  // -A
  const std::string& ns() const { return api.settings().ns; }
};

/// What `version` and `--version` say of this program.
inline constexpr char kVersion[] = "muster 0.1.0";

/// "muster: SENTENCE" on stderr.
void PrintError(const std::string& sentence);
/// The same for a failure, with a line for each wrong field; gives the exit status.
int PrintFailure(const client::Failure& failure);
/// The `warnings` of an answer on stderr, as kubectl has them: `Warning: unknown field "..."`.
void PrintWarnings(const json::value& answer);

struct ApplyOptions {
  std::vector<std::string> files;  // files, directories or "-"
  bool dry_run = false;
};
int Apply(Session& session, const ApplyOptions& options);

struct SubmitOptions {
  std::string file;  // "-" for stdin
  std::string queue;
  bool wait = false;
  std::string wait_timeout;  // "" for none
};
int Submit(Session& session, const SubmitOptions& options);

struct GetOptions {
  std::string kind, name, output;  // output: "", wide, json, yaml, name
  std::string state, queue, user;  // jobs only
  bool watch = false;
};
int Get(Session& session, const GetOptions& options);
/// "unknown kind ...", and the kinds there are, on stderr; gives the exit status.
int UnknownKind(const std::string& name);

struct NamedOptions {
  std::string kind;
  std::vector<std::string> names;
};
int Describe(Session& session, const NamedOptions& options);
int Delete(Session& session, const NamedOptions& options);

struct WaitOptions {
  std::vector<std::string> jobs;
  std::string condition = "finished";  // started, finished, a state, or condition=TYPE
  std::string timeout;
};
int Wait(Session& session, const WaitOptions& options);

/// hold, release or requeue.
int ChangeJobs(Session& session, const std::string& verb, const std::vector<std::string>& jobs);

struct LogOptions {
  std::string job, container, pod;
  std::int64_t tail = -1;  // lines; -1: all
  bool follow = false;
};
/// The output of all pods and containers of a job, or of those that were asked for, as it is. Where
/// it comes of several, each line begins with "[POD/CONTAINER] ".
int Logs(Session& session, const LogOptions& options);

int Explain(Session& session, const std::string& job, const std::string& output);
/// Refreshes until `q` on a terminal, prints once otherwise.
int Top(Session& session, bool once);

struct QuotaKey {
  std::string cluster_queue, flavor, resource;  // "" matches any, for get
};
struct QuotaEdit {
  QuotaKey key;
  std::string nominal, borrowing_limit, lending_limit;  // "" leaves it, "none" removes a limit
  bool dry_run = false;
};
/// Both over gRPC (quota.cc is the only file that sees it).
int QuotaGet(Session& session, const QuotaKey& key);
int QuotaSet(Session& session, const QuotaEdit& edit);

struct AuditOptions {
  std::string since;       // RFC 3339, or how long ago: "2h"; "" for any time
  std::int64_t limit = 0;  // 0: the server's
  std::string output;      // "", json, yaml
};
/// Who changed what, the last entry last.
int Audit(Session& session, const AuditOptions& options);

int ClusterList(Session& session, const std::string& output);
int ClusterDescribe(Session& session, const std::string& name, const std::string& output);
struct ClusterAddOptions {
  std::string name, kubeconfig, context;  // kubeconfig: a file; context "": its current one
  std::vector<std::string> labels;        // KEY=VALUE
  bool fast = false, force = false;
};
int ClusterAdd(Session& session, const ClusterAddOptions& options);
int ClusterRemove(Session& session, const std::string& name, bool force);
int ClusterCordon(Session& session, const std::string& name, bool cordon);
/// Nothing runs any more on a member that does not answer.
int ClusterFence(Session& session, const std::string& name);
/// Releases what is quarantined on a member.
int ClusterCollect(Session& session, const std::string& name);

struct TaintOptions {
  std::string cluster;
  std::vector<std::string> edits;  // key=value:Effect, key:Effect; key:Effect-, key- remove
  bool overwrite = false;
};
int ClusterTaint(Session& session, const TaintOptions& options);

struct DrainOptions {
  std::string cluster;
  bool force = false;  // jobs that may not be requeued too
  bool wait = false;   // until nothing is left there
};
int ClusterDrain(Session& session, const DrainOptions& options);

/// A run on a virtual clock, on this machine; no server is asked.
struct SimulateOptions {
  std::vector<std::string> files;  // files, directories or "-"
  std::string ns;                  // of documents without one; "": default
  std::string settings;  // the daemon's configuration file: its `admission:`; "": defaults
  std::string until, stop_time, run_time, arrival;  // durations; "": none
  std::vector<std::string> edits;                   // schedd/simulate/edits.h
  bool compare = false;                             // without and with the edits
  std::string output;                               // "", text, json, yaml
  bool summary_only = false;
  std::string swf;  // a trace in the Standard Workload Format; "": none
  std::string swf_by, swf_queue, swf_resource;
  std::vector<std::string> swf_map;  // "3=team-a/main"
  bool swf_used = false, swf_memory = false, swf_no_limit = false;
};
int Simulate(const SimulateOptions& options);

int Version(Session& session, bool client_only);
/// What the server says of itself: where it is, its version, whether it serves, its warnings.
int ServerStatus(Session& session, const std::string& output);

}  // namespace muster::cli
