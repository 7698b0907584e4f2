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

/// A member cluster made of this host's processes (local), or one whose jobs only sleep
/// (simulated).
struct DeclaredCluster {
  std::string name;
  ResourceList allocatable;
  LabelMap labels;
  /// Of a simulated cluster: how long a job "runs".
  std::int64_t run_time_ms = 0;
};

/// A Kubernetes member cluster. Its kubeconfig is read by the backend, which shows on the member
/// what is wrong with it.
struct DeclaredMember {
  std::string name;
  std::string kubeconfig;  // an absolute path
  std::string context;     // "": the file's current-context
  /// Files that the kubeconfig names must be below it; "": below the kubeconfig's own directory.
  std::string credentials_dir;
  /// One unsuspended create instead of create, record and release.
  bool fast = false;
  /// The kubeconfig may name a program that gives credentials.
  bool allow_exec = false;
  /// At once, without watches; 0: the backend's own number.
  int connections = 0;
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
  /// Without a cluster of any kind there is one named "local", of the host's size.
  std::vector<DeclaredCluster> local_clusters;
  /// For benchmarks: jobs there only sleep.
  std::vector<DeclaredCluster> simulated_clusters;
  /// Kubernetes clusters.
  std::vector<DeclaredMember> members;
  /// Of batch scripts on Kubernetes whose queues name no image; "": such scripts are refused.
  std::string default_image;
  std::string log_level = "info";
  std::string log_file;  // "": stderr
  AdmissionSettingsPtr admission = std::make_shared<const AdmissionSettings>();
};

/// The result of reading the command line.
struct ParsedCommandLine {
  DaemonConfig config;
  /// For --help or --version: print this text and exit with 0.
  std::optional<std::string> print_and_exit;
};

using EnvironmentLookup = const char* (*)(const char* name);

/// The error has every problem of every source in Error.fields.
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
