// The configuration from four sources. Defaults are in DaemonConfig; then the YAML file, the
// environment and the flags each put their values into one map from key to Setting, so a later
// source overwrites an earlier one; Build turns the map into a DaemonConfig. Every source uses the
// keys of Keys(): --KEY, MUSTER_KEY and `KEY:`. Problems are collected, and none of them is
// followed by a start.
#include "schedd/daemon/config.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "schedd/daemon/limits_config.h"
#include "schedd/daemon/oidc_config.h"
#include "schedd/shapes/config/admission_config.h"
#include "schedd/text/yaml.h"

namespace muster {
namespace {

constexpr const char* kVersion = "musterd 0.1.0";

// The values of one key, and where they came from: messages name that place.
struct Setting {
  std::vector<std::string> values;
  std::string origin;
};
// By key, without dashes in front.
using Settings = std::map<std::string, Setting>;

// All keys with their help texts, which `--help` prints.
const std::map<std::string, std::string>& Keys() {
  static const std::map<std::string, std::string> keys = {
      {"data-dir",
       "directory of all state (default: /var/lib/muster as root, else ~/.local/state/muster)"},
      {"postgres", "libpq URL of an existing PostgreSQL; without it a private one is started"},
      {"postgres-owner",
       "libpq URL of the same database for the owner of its schema, who migrates it; then "
       "--postgres may name a role with fewer rights (default: --postgres does both)"},
      {"standby",
       "with postgres: leave the lead to other daemons at the start, and take it when theirs ends"},
      {"lease-ttl",
       "with postgres: how long a leader may be silent before another daemon leads, 1s to 1m "
       "(default 5s)"},
      {"advertise",
       "with postgres: http:// or https:// address of the REST API that other daemons send clients "
       "to (default: made of --rest)"},
      {"secrets-key",
       "file of the keys that seal Secrets in the database (default: DATA_DIR/keys/secrets, made "
       "at "
       "the first start)"},
      {"rest", "HOST:PORT of the REST API (default 127.0.0.1:8686)"},
      {"grpc", "HOST:PORT of the gRPC API (default 127.0.0.1:8687)"},
      {"socket",
       "Unix socket of the REST API (default: DATA-DIR/run/muster.sock; none turns it off)"},
      {"loopback-peers",
       "true or false: TCP clients of this host are known by their account (default: true unless "
       "others may come)"},
      {"local-cluster",
       "member cluster of this host's processes: NAME[,cpu=N,memory=Q,RESOURCE=Q,label:KEY=VALUE]"
       "[,job-account=USER][,root-jobs=submitter|never]"},
      {"launcher",
       "socket of the muster-launcher that serves the local clusters, so that this daemon needs no "
       "root (default: this daemon serves them itself)"},
      {"simulated-cluster",
       "member cluster on which jobs only sleep: NAME[,cpu=N,...,run-time-ms=N]"},
      {"member-cluster",
       "Kubernetes member cluster: NAME,kubeconfig=FILE[,context=C][,credentials-dir=DIR]"
       "[,dispatch=fast|safe][,connections=N][,allow-exec=true|false][,label:KEY=VALUE]"},
      {"default-image",
       "container image of batch scripts on Kubernetes where no queue names one "
       "(annotation muster.io/default-image)"},
      {"mail-program",
       "absolute path of a program that is called as mail(1) is, -s SUBJECT USER, for the events "
       "of "
       "--mail-type (default: none is told)"},
      {"audit-retention",
       "how long rows of the audit trail are kept, in whole days: a duration such as 90d "
       "(default 0: for ever)"},
      {"tls-cert", "PEM file: certificate of both servers, then its chain; they then speak TLS"},
      {"tls-key", "PEM file: key of tls-cert, which only its owner may access"},
      {"client-ca", "PEM file: authorities of client certificates (user: CN, groups: O)"},
      {"client-crl", "PEM file: revocation lists of the authorities in client-ca"},
      {"server-names", "names of the servers (default: those of tls-cert); may be repeated"},
      {"tokens", "true: access tokens are how remote clients are known (default false)"},
      {"munge", "true: accept munge credentials (default false)"},
      {"munge-socket", "socket of the munged to ask; implies --munge true"},
      {"log-level", "debug, info, warning or error (default info)"},
      {"log-file", "file for the log (default: standard error)"},
  };
  return keys;
}

// Keys that may be given several times.
bool IsList(const std::string& key) { return key.ends_with("-cluster") || key == "server-names"; }

void Problem(std::vector<FieldError>* problems, const std::string& where, const std::string& what) {
  problems->push_back({where, what});
}

// The value of a key in the YAML file as texts; numbers and booleans as they are written.
std::vector<std::string> ScalarOrList(const json::value& value, bool list, std::string* problem) {
  const auto text = [](const json::value& item) -> std::optional<std::string> {
    if (item.is_string()) return std::string(item.as_string());
    if (item.is_int64() || item.is_uint64() || item.is_bool()) return WriteJson(item);
    return std::nullopt;
  };
  std::vector<std::string> out;
  if (value.is_array() && list) {
    for (const auto& item : value.as_array()) {
      const auto one = text(item);
      if (!one) *problem = "must be a list of strings";
      out.push_back(one.value_or(""));
    }
    return out;
  }
  const auto one = text(value);
  if (!one) *problem = list ? "must be a list of strings" : "must be a string";
  out.push_back(one.value_or(""));
  return out;
}

// Reads the section `admission:`, for which there is no flag or variable.
void TakeAdmission(const std::string& path, const json::value& section,
                   AdmissionSettingsPtr* admission, std::vector<FieldError>* problems) {
  auto read = ReadAdmissionSettings(section);
  if (read.ok()) {
    *admission = std::make_shared<const AdmissionSettings>(std::move(read).value());
    return;
  }
  for (const FieldError& one : read.error().fields) {
    const std::string key = one.field.empty() ? "admission" : "admission." + one.field;
    Problem(problems, path + ": " + key, one.message);
  }
}

// Reads the YAML file of --config. An unknown key is a problem: it is most likely misspelt.
void ReadFile(const std::string& path, Settings* settings, AdmissionSettingsPtr* admission,
              std::vector<auth::IssuerConfig>* issuers, TenantLimits* limits,
              std::vector<FieldError>* problems) {
  std::ifstream file(path);
  if (!file) return Problem(problems, "--config", "cannot read " + path);
  std::stringstream text;
  text << file.rdbuf();
  auto documents = ParseYaml(text.str());
  if (!documents.ok()) return Problem(problems, path, documents.error().detail);
  if (documents->empty()) return;
  if (documents->size() != 1 || !(*documents)[0].is_object()) {
    return Problem(problems, path, "must be one YAML mapping");
  }
  for (const auto& [name, value] : (*documents)[0].as_object()) {
    const std::string key(name);
    if (key == "admission") {
      TakeAdmission(path, value, admission, problems);
      continue;
    }
    if (key == "oidc") {
      TakeOidc(path, value, issuers, problems);
      continue;
    }
    if (key == "limits") {
      TakeTenantLimits(path, value, limits, problems);
      continue;
    }
    if (!Keys().contains(key)) {
      Problem(problems, path + ": " + key, "unknown key");
      continue;
    }
    std::string problem;
    (*settings)[key] = {ScalarOrList(value, IsList(key), &problem), path + ": " + key};
    if (!problem.empty()) Problem(problems, path + ": " + key, problem);
  }
}

// "data-dir" is MUSTER_DATA_DIR.
std::string EnvironmentName(const std::string& key) {
  std::string name = "MUSTER_";
  for (const char c : key) name += c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return name;
}

// Lists in one variable are separated by ';', because a cluster's own text has commas.
void ReadEnvironment(EnvironmentLookup env, Settings* settings) {
  for (const auto& [key, help] : Keys()) {
    const std::string name = EnvironmentName(key);
    const char* value = env(name.c_str());
    if (value == nullptr || *value == '\0') continue;
    Setting setting{{}, name};
    std::stringstream parts(value);
    std::string part;
    while (IsList(key) && std::getline(parts, part, ';')) setting.values.push_back(part);
    if (!IsList(key)) setting.values.emplace_back(value);
    (*settings)[key] = setting;
  }
}

// /var/lib/muster as root, else the XDG state directory.
std::string DefaultDataDir(EnvironmentLookup env) {
  if (geteuid() == 0) return "/var/lib/muster";
  const char* state = env("XDG_STATE_HOME");
  if (state != nullptr && *state != '\0') return std::string(state) + "/muster";
  const char* home = env("HOME");
  return std::string(home == nullptr ? "/tmp" : home) + "/.local/state/muster";
}

// The key is left at its default if the value is wrong; the problem stops the start anyway.
void SetHostPort(const Setting& setting, HostPort* out, std::vector<FieldError>* problems) {
  auto parsed = ParseHostPort(setting.values.front());
  if (parsed.ok()) {
    *out = *parsed;
  } else {
    Problem(problems, setting.origin, parsed.error().detail);
  }
}

void SetLoopbackPeers(const Setting& setting, AccessConfig* access,
                      std::vector<FieldError>* problems) {
  const std::string& value = setting.values.front();
  access->loopback_peers_set = true;
  access->loopback_peers = value == "true";
  if (value != "true" && value != "false")
    Problem(problems, setting.origin, "\"" + value + "\" is not true or false");
}

void SetLauncher(const Setting& setting, std::string* out, std::vector<FieldError>* problems) {
  *out = setting.values.front();
  if (!out->starts_with('/'))
    Problem(problems, setting.origin, "\"" + *out + "\" is not an absolute path");
}

// Names of clusters of all three kinds must differ.
template <class Cluster>
void AddClusters(const Setting& setting, Result<Cluster> (*parse)(const std::string&),
                 std::vector<Cluster>* out, std::set<std::string>* names,
                 std::vector<FieldError>* problems) {
  for (const auto& value : setting.values) {
    auto cluster = parse(value);
    if (!cluster.ok()) {
      Problem(problems, setting.origin, cluster.error().detail);
    } else if (!names->insert(cluster->name).second) {
      Problem(problems, setting.origin, "cluster " + cluster->name + " is declared twice");
    } else {
      out->push_back(*cluster);
    }
  }
}

// Function pointers for AddClusters.
Result<DeclaredCluster> ParseLocalFlag(const std::string& text) {
  return ParseClusterFlag(text, false);
}
Result<DeclaredCluster> ParseSimulatedFlag(const std::string& text) {
  return ParseClusterFlag(text, true);
}

// Turns the merged settings into a configuration. Each problem names the source of its value.
DaemonConfig Build(const Settings& settings, EnvironmentLookup env,
                   std::vector<FieldError>* problems) {
  DaemonConfig config;
  config.data_dir = DefaultDataDir(env);
  std::set<std::string> names;
  for (const auto& [key, setting] : settings) {
    if (setting.values.empty()) continue;
    const std::string& value = setting.values.front();
    if (key == "data-dir") config.data_dir = value;
    if (key == "postgres") config.postgres_url = value;
    if (key == "postgres-owner") config.postgres_owner_url = value;
    if (key == "secrets-key") config.secrets_key = value;
    if (key == "rest") SetHostPort(setting, &config.rest, problems);
    if (key == "grpc") SetHostPort(setting, &config.grpc, problems);
    if (key == "socket") config.access.socket = value;
    if (key == "loopback-peers") SetLoopbackPeers(setting, &config.access, problems);
    if (key == "local-cluster")
      AddClusters(setting, &ParseLocalFlag, &config.local_clusters, &names, problems);
    if (key == "launcher") SetLauncher(setting, &config.launcher, problems);
    if (key == "simulated-cluster")
      AddClusters(setting, &ParseSimulatedFlag, &config.simulated_clusters, &names, problems);
    if (key == "member-cluster")
      AddClusters(setting, &ParseMemberFlag, &config.members, &names, problems);
    for (const Status& taken :
         {TakeTlsKey(key, setting.values, &config.tls), TakeLeaseKey(key, value, &config.lease)}) {
      if (!taken.ok()) Problem(problems, setting.origin, taken.error().detail);
    }
    if (key == "default-image") config.default_image = value;
    if (key == "mail-program") {
      config.mail_program = value;
      if (!value.empty() && value[0] != '/')
        Problem(problems, setting.origin, "must be an absolute path");
    }
    if (key == "audit-retention") {
      const Status read = ReadAuditRetention(value, &config.audit);
      if (!read.ok()) Problem(problems, setting.origin, read.error().detail);
    }
    if (key == "munge-socket") config.munge_socket = value;
    if (key == "munge") {
      config.munge = value == "true";
      if (!config.munge && value != "false")
        Problem(problems, setting.origin, "must be true or false");
    }
    if (key == "log-file") config.log_file = value;
    if (key == "log-level") {
      config.log_level = value;
      if (value != "debug" && value != "info" && value != "warning" && value != "error") {
        Problem(problems, setting.origin, "must be debug, info, warning or error");
      }
    }
  }
  if (config.postgres_url.empty() && !config.postgres_owner_url.empty()) {
    Problem(problems, "postgres-owner",
            "needs postgres: a private PostgreSQL has roles of its own");
  }
  for (const FieldError& one : CheckLease(config.lease, !config.postgres_url.empty()))
    Problem(problems, one.field, one.message);
  config.munge = config.munge || !config.munge_socket.empty();
  if (config.data_dir.empty()) Problem(problems, "data-dir", "must not be empty");
  return config;
}

// One error with all problems, as fields and as lines of its text.
Error AllProblems(std::vector<FieldError> problems) {
  Error error{Code::kInvalidArgument, "", std::move(problems)};
  for (const auto& problem : error.fields) {
    if (!error.detail.empty()) error.detail += "\n";
    error.detail += problem.field + ": " + problem.message;
  }
  return error;
}

}  // namespace

// "[::1]:8686" is ::1 with port 8686. Port 0 lets the kernel choose one.
Result<HostPort> ParseHostPort(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return InvalidArgument("\"" + text + "\" is not HOST:PORT");
  HostPort out{text.substr(0, colon), 0};
  if (out.host.size() > 2 && out.host.front() == '[' && out.host.back() == ']') {
    out.host = out.host.substr(1, out.host.size() - 2);
  }
  const std::string port = text.substr(colon + 1);
  const auto parsed = std::from_chars(port.data(), port.data() + port.size(), out.port);
  if (parsed.ec != std::errc() || parsed.ptr != port.data() + port.size() || out.port < 0 ||
      out.port > 65535) {
    return InvalidArgument("\"" + text + "\" is not HOST:PORT");
  }
  if (out.host.empty()) return InvalidArgument("\"" + text + "\" names no host");
  return out;
}

// CLI11 only splits the command line and prints the help: allow_extras() lets unknown arguments
// pass, so that they are reported together with all other problems.
Result<ParsedCommandLine> ParseCommandLine(int argc, const char* const* argv,
                                           EnvironmentLookup env) {
  CLI::App app{"Muster: one batch scheduler for a fleet of clusters", "musterd"};
  app.set_version_flag("--version", kVersion);
  app.allow_extras();
  std::string config_file;
  app.add_option("--config", config_file,
                 "YAML file with the keys below, `admission:`, `limits:` and `oidc:`");
  std::map<std::string, std::vector<std::string>> flags;
  for (const auto& [key, help] : Keys()) {
    app.add_option("--" + key, flags[key], help)->allow_extra_args(false)->type_size(1);
  }
  // `--standby` alone means true.
  app.get_option("--standby")->expected(0, 1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return ParsedCommandLine{{}, app.help()};
  } catch (const CLI::CallForVersion&) {
    return ParsedCommandLine{{}, std::string(kVersion) + "\n"};
  } catch (const CLI::ParseError& error) {
    return InvalidArgument(error.what());
  }
  std::vector<FieldError> problems;
  for (const auto& extra : app.remaining()) Problem(&problems, extra, "unknown argument");
  // The sources in ascending order of precedence: file, environment, flags.
  Settings settings;
  if (config_file.empty() && env("MUSTER_CONFIG") != nullptr) config_file = env("MUSTER_CONFIG");
  AdmissionSettingsPtr admission = std::make_shared<const AdmissionSettings>();
  std::vector<auth::IssuerConfig> issuers;
  TenantLimits limits;
  if (!config_file.empty())
    ReadFile(config_file, &settings, &admission, &issuers, &limits, &problems);
  ReadEnvironment(env, &settings);
  for (auto& [key, values] : flags) {
    if (key == "standby" && app.get_option("--standby")->count() > 0 &&
        (values.empty() || values.front().empty()))
      values = {"true"};
    if (values.empty()) continue;
    if (!IsList(key) && values.size() > 1) Problem(&problems, "--" + key, "given more than once");
    settings[key] = {values, "--" + key};
  }
  ParsedCommandLine parsed;
  parsed.config = Build(settings, env, &problems);
  parsed.config.admission = std::move(admission);
  parsed.config.limits = limits;
  parsed.config.oidc = std::move(issuers);
  const DaemonConfig& config = parsed.config;
  for (FieldError& one :
       CheckListening(config.rest, config.grpc, config.tls, HasRemoteMethod(config)))
    problems.push_back(std::move(one));
  if (!problems.empty()) return AllProblems(std::move(problems));
  return parsed;
}

}  // namespace muster
