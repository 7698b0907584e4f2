// The daemon's configuration: flags over environment (MUSTER_*) over a YAML file over defaults
// (rule C5).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/auth/jwt/issuer.h"
#include "schedd/base/result.h"
#include "schedd/base/tenant_limits.h"
#include "schedd/daemon/access_config.h"
#include "schedd/daemon/config_audit.h"
#include "schedd/daemon/lease_config.h"
#include "schedd/daemon/tls_config.h"
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
  /// Of a local cluster: the user of jobs whose submitter has no account on this host ("": nobody),
  /// and whether root's jobs run as root (unset: if the daemon runs as root).
  std::string job_account = {};
  std::optional<bool> root_jobs = {};
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

struct DaemonConfig {
  std::string data_dir;
  std::string postgres_url;  // "": start a private server
  /// Connects to the same database as the owner of the schema; "": postgres_url does.
  std::string postgres_owner_url;
  /// One of the two came with a password on the command line; main.cc sets it.
  bool password_on_command_line = false;
  /// The file of the keys that seal Secrets; "": keys/secrets below data_dir.
  std::string secrets_key;
  HostPort rest{"127.0.0.1", 8686};
  HostPort grpc{"127.0.0.1", 8687};
  AccessConfig access;
  /// Without a cluster of any kind there is one named "local", of the host's size.
  std::vector<DeclaredCluster> local_clusters;
  /// The socket of the muster-launcher that serves the local clusters; "": this process does.
  std::string launcher;
  /// For benchmarks: jobs there only sleep.
  std::vector<DeclaredCluster> simulated_clusters;
  /// Kubernetes clusters.
  std::vector<DeclaredMember> members;
  /// Of batch scripts on Kubernetes whose queues name no image; "": such scripts are refused.
  std::string default_image;
  /// The program that is told of what batch scripts want mails about; "": none.
  std::string mail_program;
  TlsConfig tls;
  std::string log_level = "info";
  std::string log_file;  // "": stderr
  AuditConfig audit;
  LeaseConfig lease;
  AdmissionSettingsPtr admission = std::make_shared<const AdmissionSettings>();
  /// Issuers of JSON web tokens (rule U50).
  std::vector<auth::IssuerConfig> oidc;
  /// Whether munge credentials are accepted (rule U55), and munged's socket; "": its default.
  bool munge = false;
  std::string munge_socket;
  TenantLimits limits;  // section `limits:` of the file
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

/// "NAME[,cpu=N,memory=Q,RESOURCE=Q,label:KEY=VALUE]", for a local cluster also
/// ",job-account=USER,root-jobs=submitter|never", for a simulated one ",run-time-ms=N".
Result<DeclaredCluster> ParseClusterFlag(const std::string& text, bool simulated);

/// "NAME,kubeconfig=FILE[,context=C][,credentials-dir=DIR][,dispatch=fast|safe][,connections=N]
/// [,allow-exec=true|false][,label:KEY=VALUE]".
Result<DeclaredMember> ParseMemberFlag(const std::string& text);

/// "HOST:PORT". CheckListening (tls_config.h) says which hosts a configuration may have.
Result<HostPort> ParseHostPort(const std::string& text);

}  // namespace muster
