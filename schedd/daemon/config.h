// The daemon's configuration: flags over environment (MUSTER_*) over a YAML file over defaults
// (rule C5).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/model/admission_settings.h"
#include "schedd/model/resources.h"
#include "schedd/model/scheduling.h"

namespace muster {

/// One member cluster made of this host's processes, or one that only sleeps.
struct DeclaredCluster {
  std::string name;
  ResourceList allocatable;
  LabelMap labels;
  std::int64_t run_time_ms = 0;  // simulated ones: how long a job "runs"
};

/// One Kubernetes member cluster. What its kubeconfig says is read by the backend, which shows on
/// the member what is wrong with it.
struct DeclaredMember {
  std::string name;
  std::string kubeconfig;       // an absolute path
  std::string context;          // "": the file's current-context
  std::string credentials_dir;  // files that it names lie under this; "": under its own directory
  bool fast = false;            // one unsuspended create instead of create, record, release
  bool allow_exec = false;      // may the kubeconfig name a program that gives credentials
  int connections = 0;          // at once, without watches; 0: the backend's own number
  LabelMap labels;
};

struct HostPort {
  std::string host;
  int port = 0;
};

struct DaemonConfig {
  std::string data_dir;
  std::string postgres_url;  // "": start a private server
  HostPort rest{"127.0.0.1", 8686};
  HostPort grpc{"127.0.0.1", 8687};
  std::vector<DeclaredCluster>
      local_clusters;  // none of any kind: one named "local", the host's size
  std::vector<DeclaredCluster> simulated_clusters;  // for benchmarks: jobs there only sleep
  std::vector<DeclaredMember> members;              // Kubernetes
  std::string default_image;  // of batch scripts on Kubernetes whose queues name none; "": refused
  std::string log_level = "info";
  std::string log_file;  // "": stderr
  AdmissionSettingsPtr admission = std::make_shared<const AdmissionSettings>();
};

/// What the command line asked for.
struct ParsedCommandLine {
  DaemonConfig config;
  std::optional<std::string> print_and_exit;  // --help or --version: this text, then exit 0
};

using EnvironmentLookup = const char* (*)(const char* name);

/// Every problem of every source at once, in Error.fields; nothing is started on any.
Result<ParsedCommandLine> ParseCommandLine(int argc, const char* const* argv,
                                           EnvironmentLookup env);

/// "NAME[,cpu=N,memory=Q,RESOURCE=Q,label:KEY=VALUE,run-time-ms=N]".
Result<DeclaredCluster> ParseClusterFlag(const std::string& text, bool simulated);

/// "NAME,kubeconfig=FILE[,context=C][,credentials-dir=DIR][,dispatch=fast|safe][,connections=N]
/// [,allow-exec=true|false][,label:KEY=VALUE]".
Result<DeclaredMember> ParseMemberFlag(const std::string& text);

/// "HOST:PORT"; the host must be a loopback address until authentication exists.
Result<HostPort> ParseHostPort(const std::string& text);

}  // namespace muster
