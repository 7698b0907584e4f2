// The commands of `muster`: a struct with the options of each command, and one function that
// carries it out. Each function is defined in a source named after what it does. Parsing is apart
// (main/main.cc; only main/ sees CLI11), so that tests call the functions directly.
//
// Every function prints to stdout, errors to stderr, and returns the exit status: 0, 1 refused, 2
// bad usage, 3 server not reached (rule C2).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "clients/cli/session.h"
#include "clients/lib/api_client.h"

namespace muster::cli {

/// The version that `muster version` and `--version` print.
inline constexpr char kVersion[] = "muster 0.1.0";

struct ApplyOptions {
  std::vector<std::string> files;  // files, directories or "-"
  bool dry_run = false;
};
/// Creates or changes all objects of the files in one request.
int Apply(Session& session, const ApplyOptions& options);

struct SubmitOptions {
  std::string file;  // "-" for stdin
  std::string queue;
  bool wait = false;
  std::string wait_timeout;  // "" for none
};
/// Submits a batch script or the jobs of a manifest file.
int Submit(Session& session, const SubmitOptions& options);

struct GetOptions {
  std::string kind, name, output;  // output: "", wide, json, yaml, name
  // Lists of jobs only; "" = any. `since`: a time or how long ago, of ended jobs.
  std::string state, queue, user, job_kind, array, since, search;
  bool watch = false;
};
/// An option of `get jobs`, which the server's list has under the same name.
struct JobListOption {
  const char* name;  // without its dashes
  std::string GetOptions::*value;
  const char* help;
};
extern const std::array<JobListOption, 7> kJobListOptions;
/// Lists objects of a kind, or shows one.
int Get(Session& session, const GetOptions& options);
/// Prints "unknown kind ..." with the list of kinds on stderr; gives the exit status. Defined in
/// get.cc; `describe` and `delete` use it too.
int UnknownKind(const std::string& name);

struct NamedOptions {
  std::string kind;
  std::vector<std::string> names;
};
/// Shows everything about each object.
int Describe(Session& session, const NamedOptions& options);
/// Deletes each object; a job is cancelled.
int Delete(Session& session, const NamedOptions& options);

struct WaitOptions {
  std::vector<std::string> jobs;
  std::string condition = "finished";  // started, finished, a state, or condition=TYPE
  std::string timeout;
};
/// Waits until the condition holds for all jobs.
int Wait(Session& session, const WaitOptions& options);

/// `verb` is hold, release or requeue.
int ChangeJobs(Session& session, const std::string& verb, const std::vector<std::string>& jobs);

struct LogOptions {
  std::string job, container, pod;
  std::int64_t tail = -1;  // lines; -1: all
  bool follow = false;
  bool timestamps = false;  // before each line when it was printed
};
/// Prints the output of the pods and containers that the options name (all by default), unchanged.
/// If there are several logs, each line begins with "[POD/CONTAINER] ".
int Logs(Session& session, const LogOptions& options);

/// Why a job waits, or runs where it runs. `output` is "", json or yaml.
int Explain(Session& session, const std::string& job, const std::string& output);
/// The use of clusters and quotas: refreshed on a terminal until the user presses q, printed once
/// otherwise.
int Top(Session& session, bool once);

struct QuotaKey {
  std::string cluster_queue, flavor, resource;  // "" matches any, for get
};
struct QuotaEdit {
  QuotaKey key;
  std::string nominal, borrowing_limit, lending_limit;  // "" leaves it, "none" removes a limit
  bool dry_run = false;
};
/// Both use gRPC (quota/quota.cc is the only source that sees it).
int QuotaGet(Session& session, const QuotaKey& key);
int QuotaSet(Session& session, const QuotaEdit& edit);

struct AuditOptions {
  std::string since, until;        // RFC 3339, or how long ago: "2h"; "" for any time
  std::string user, verb, object;  // "" for any
  std::int64_t limit = 0;          // 0: the server's
  std::string output;              // "", wide, json, yaml
  /// Checks the chain of hashes over the whole trail instead of showing it.
  bool verify = false;
  std::string export_file;  // "" or where all rows that match go as JSON lines; "-": the output
};
/// Who asked for what, the newest entry last. With `verify` 1 is the exit code of a broken chain.
int Audit(Session& session, const AuditOptions& options);

/// Who the caller is for the server. `output` is "", json or yaml.
int WhoAmI(Session& session, const std::string& output);
struct TokenOptions {
  std::string user, ttl, description;  // "": the caller, the server's default, none
  std::vector<std::string> groups;
};
/// Prints the new token alone on stdout.
int TokenCreate(Session& session, const TokenOptions& options);
int TokenList(Session& session);
int TokenRevoke(Session& session, const std::vector<std::string>& names);
struct CanIOptions {
  std::string verb, resource, name, subresource;  // resource: a kind, PLURAL.GROUP or a /path
  bool list = false;
};
/// Prints yes or no (exit status 1), or with `list` every rule of the caller in the namespace.
int CanI(Session& session, const CanIOptions& options);
/// Which server, which way, who the caller is there, and why something is refused.
int DoctorAuth(Session& session);

/// Which database `musterd` looks at, in its own keys; "": as its environment and defaults say.
struct DatabaseOptions {
  std::string config, data_dir, postgres, postgres_owner;
};
struct DoctorOptions {
  DatabaseOptions database;
  std::string output;  // "" or json
};
/// What is off, and how to mend it: asked of the daemon about itself and its members, and of the
/// database if one is named. 1: something is off; 3: neither could be asked.
int Doctor(Session& session, const DoctorOptions& options);
/// Both run `musterd` on the database and give its exit status. Restore needs an empty one.
int Backup(const std::string& file, const DatabaseOptions& options);
int Restore(const std::string& file, const DatabaseOptions& options);

int ClusterList(Session& session, const std::string& output);
int ClusterDescribe(Session& session, const std::string& name, const std::string& output);
struct ClusterAddOptions {
  std::string name, kubeconfig, context;  // kubeconfig: a file; context "": its current one
  std::vector<std::string> labels;        // KEY=VALUE
  bool fast = false, force = false;
};
/// Makes a Kubernetes cluster a member.
int ClusterAdd(Session& session, const ClusterAddOptions& options);
/// Removes a member that was added. `force`: without waiting for the jobs and objects on it.
int ClusterRemove(Session& session, const std::string& name, bool force);
/// Stops placing new jobs on a member, or (`cordon` false) places jobs on it again.
int ClusterCordon(Session& session, const std::string& name, bool cordon);
/// Tells the server that nothing runs any more on a member that does not answer.
int ClusterFence(Session& session, const std::string& name);
/// Releases what is quarantined on a member.
int ClusterCollect(Session& session, const std::string& name);

struct TaintOptions {
  std::string cluster;
  std::vector<std::string> edits;  // key=value:Effect, key:Effect; key:Effect-, key- remove
  bool overwrite = false;
};
/// Edits the taints of a member as kubectl taint does.
int ClusterTaint(Session& session, const TaintOptions& options);

struct DrainOptions {
  std::string cluster;
  bool force = false;  // jobs that may not be requeued too
  bool wait = false;   // until nothing is left there
};
/// Cordons a member and sends its jobs elsewhere.
int ClusterDrain(Session& session, const DrainOptions& options);

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
/// Plays jobs against queues on a virtual clock, on this machine; no server is asked.
int Simulate(const SimulateOptions& options);

struct LoginOptions {
  std::string issuer, client_id, scopes;  // "": as the configuration file says
  bool renew = false;                     // only renew the tokens that are kept
};
/// Logs in at an OpenID Connect provider by its device code, and keeps the tokens for later
/// commands to this server (rule U57).
int Login(Session& session, const LoginOptions& options);
/// Forgets the tokens of Login.
int Logout();

/// The versions of this program and (unless `client_only`) of the server.
int Version(Session& session, bool client_only);
/// The server's address, its version, whether it is ready, and its warnings.
int ServerStatus(Session& session, const std::string& output);

}  // namespace muster::cli
