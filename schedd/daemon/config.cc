// The configuration from four sources. Defaults are in DaemonConfig; then the YAML file, the
// environment and the flags each put their values into one map from key to Setting, so a later
// source overwrites an earlier one; Build turns the map into a DaemonConfig. Every source uses the
// keys of Keys(): --KEY, MUSTER_KEY and `KEY:`. Problems are collected, and none of them is
// followed by a start.
#include "schedd/daemon/config.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "schedd/base/names.h"
#include "schedd/base/quantity.h"
#include "schedd/base/quantity_text.h"
#include "schedd/shapes/config/admission_config.h"
#include "schedd/text/yaml.h"

namespace muster {
namespace {

constexpr const char* kVersion = "musterd 0.1.0";
// Connections of one member: with more, requests only wait inside the API server.
constexpr int kConnectionsMax = 256;

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
      {"rest", "HOST:PORT of the REST API (default 127.0.0.1:8686)"},
      {"grpc", "HOST:PORT of the gRPC API (default 127.0.0.1:8687)"},
      {"local-cluster",
       "member cluster of this host's processes: NAME[,cpu=N,memory=Q,RESOURCE=Q,label:KEY=VALUE]"},
      {"simulated-cluster",
       "member cluster on which jobs only sleep: NAME[,cpu=N,...,run-time-ms=N]"},
      {"member-cluster",
       "Kubernetes member cluster: NAME,kubeconfig=FILE[,context=C][,credentials-dir=DIR]"
       "[,dispatch=fast|safe][,connections=N][,allow-exec=true|false][,label:KEY=VALUE]"},
      {"default-image",
       "container image of batch scripts on Kubernetes where no queue names one "
       "(annotation muster.io/default-image)"},
      {"log-level", "debug, info, warning or error (default info)"},
      {"log-file", "file for the log (default: standard error)"},
  };
  return keys;
}

// Keys that may be given several times.
bool IsList(const std::string& key) { return key.ends_with("-cluster"); }

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
    if (key == "rest") SetHostPort(setting, &config.rest, problems);
    if (key == "grpc") SetHostPort(setting, &config.grpc, problems);
    if (key == "local-cluster")
      AddClusters(setting, &ParseLocalFlag, &config.local_clusters, &names, problems);
    if (key == "simulated-cluster")
      AddClusters(setting, &ParseSimulatedFlag, &config.simulated_clusters, &names, problems);
    if (key == "member-cluster")
      AddClusters(setting, &ParseMemberFlag, &config.members, &names, problems);
    if (key == "default-image") config.default_image = value;
    if (key == "log-file") config.log_file = value;
    if (key == "log-level") {
      config.log_level = value;
      if (value != "debug" && value != "info" && value != "warning" && value != "error") {
        Problem(problems, setting.origin, "must be debug, info, warning or error");
      }
    }
  }
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

// Names other than localhost are not resolved: a name may lead anywhere tomorrow.
bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

// One part of a cluster flag: "label:KEY=VALUE", "run-time-ms=N" or "RESOURCE=AMOUNT".
Status AddClusterPart(const std::string& part, bool simulated, DeclaredCluster* cluster) {
  const auto equals = part.find('=', part.starts_with("label:") ? 6 : 0);
  if (equals == std::string::npos || equals == 0) {
    return InvalidArgument("\"" + part + "\" is not RESOURCE=AMOUNT");
  }
  const std::string key = part.substr(0, equals);
  const std::string value = part.substr(equals + 1);
  if (key.starts_with("label:")) {
    cluster->labels[key.substr(6)] = value;
    return Done{};
  }
  if (key == "run-time-ms" && simulated) {
    const auto parsed =
        std::from_chars(value.data(), value.data() + value.size(), cluster->run_time_ms);
    if (parsed.ec != std::errc() || parsed.ptr != value.data() + value.size() ||
        cluster->run_time_ms < 0) {
      return InvalidArgument("run-time-ms: \"" + value + "\" is not a number of milliseconds");
    }
    return Done{};
  }
  auto amount = ParseQuantity(key, value);
  if (!amount.ok()) return InvalidArgument(key + ": " + amount.error().detail);
  if (!IsByteResource(key) && !IsWholeAmount(key, value))
    return InvalidArgument(key + ": " + kWholeAmountRule);
  SetAmount(&cluster->allocatable, key, *amount);
  return Done{};
}

// The name becomes the name of a MemberCluster object, a DNS label.
Status CheckName(const std::string& name) {
  if (IsDnsLabel(name)) return Done{};
  return InvalidArgument("\"" + name + "\" is not a cluster name (DNS label)");
}

// A flag of two words, such as dispatch=fast|safe.
Status SetWord(const std::string& key, const std::string& value, const char* yes, const char* no,
               bool* out) {
  *out = value == yes;
  if (*out || value == no) return Done{};
  return InvalidArgument(key + ": \"" + value + "\" is not " + yes + " or " + no);
}

// A number from 1 to kConnectionsMax.
Status SetConnections(const std::string& value, int* out) {
  const auto parsed = std::from_chars(value.data(), value.data() + value.size(), *out);
  if (parsed.ec == std::errc() && parsed.ptr == value.data() + value.size() && *out >= 1 &&
      *out <= kConnectionsMax) {
    return Done{};
  }
  return InvalidArgument("connections: \"" + value + "\" is not a number from 1 to " +
                         std::to_string(kConnectionsMax));
}

// Paths are made absolute, because the daemon may change its directory later.
Status SetPath(const std::string& key, const std::string& value, std::string* out) {
  if (value.empty()) return InvalidArgument(key + ": must not be empty");
  std::error_code failed;
  *out = std::filesystem::absolute(value, failed).lexically_normal().string();
  if (failed) return InvalidArgument(key + ": \"" + value + "\" is not a path");
  return Done{};
}

// One part of --member-cluster after the name: "KEY=VALUE" or "label:KEY=VALUE".
Status AddMemberPart(const std::string& part, DeclaredMember* member) {
  const auto equals = part.find('=');
  if (equals == std::string::npos || equals == 0) {
    return InvalidArgument("\"" + part + "\" is not KEY=VALUE");
  }
  const std::string key = part.substr(0, equals);
  const std::string value = part.substr(equals + 1);
  if (key.starts_with("label:")) {
    member->labels[key.substr(6)] = value;
    return Done{};
  }
  if (key == "kubeconfig") return SetPath(key, value, &member->kubeconfig);
  if (key == "credentials-dir") return SetPath(key, value, &member->credentials_dir);
  if (key == "dispatch") return SetWord(key, value, "fast", "safe", &member->fast);
  if (key == "allow-exec") return SetWord(key, value, "true", "false", &member->allow_exec);
  if (key == "connections") return SetConnections(value, &member->connections);
  if (key == "context") {
    member->context = value;
    return Done{};
  }
  return InvalidArgument("\"" + key +
                         "\" is not kubeconfig, context, credentials-dir, dispatch, connections, "
                         "allow-exec or label:KEY");
}

}  // namespace

// Splits at commas; a value can therefore not have one.
Result<DeclaredMember> ParseMemberFlag(const std::string& text) {
  DeclaredMember member;
  std::stringstream parts(text);
  std::getline(parts, member.name, ',');
  const Status named = CheckName(member.name);
  if (!named.ok()) return named.error();
  std::string part;
  while (std::getline(parts, part, ',')) {
    const Status status = AddMemberPart(part, &member);
    if (!status.ok()) return InvalidArgument(member.name + ": " + status.error().detail);
  }
  if (member.kubeconfig.empty()) {
    return InvalidArgument(member.name + ": kubeconfig=FILE is missing");
  }
  return member;
}

// The name, then parts that AddClusterPart reads.
Result<DeclaredCluster> ParseClusterFlag(const std::string& text, bool simulated) {
  DeclaredCluster cluster;
  std::stringstream parts(text);
  std::getline(parts, cluster.name, ',');
  const Status named = CheckName(cluster.name);
  if (!named.ok()) return named.error();
  std::string part;
  while (std::getline(parts, part, ',')) {
    const auto status = AddClusterPart(part, simulated, &cluster);
    if (!status.ok()) return status.error();
  }
  return cluster;
}

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
  if (!IsLoopback(out.host)) {
    return InvalidArgument(out.host +
                           " is not a loopback address; musterd listens beyond loopback only with "
                           "authentication, which this version does not have");
  }
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
  app.add_option("--config", config_file, "YAML file with the keys below and `admission:`");
  std::map<std::string, std::vector<std::string>> flags;
  for (const auto& [key, help] : Keys()) {
    app.add_option("--" + key, flags[key], help)->allow_extra_args(false)->type_size(1);
  }
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
  if (!config_file.empty()) ReadFile(config_file, &settings, &admission, &problems);
  ReadEnvironment(env, &settings);
  for (const auto& [key, values] : flags) {
    if (values.empty()) continue;
    if (!IsList(key) && values.size() > 1) Problem(&problems, "--" + key, "given more than once");
    settings[key] = {values, "--" + key};
  }
  ParsedCommandLine parsed;
  parsed.config = Build(settings, env, &problems);
  parsed.config.admission = std::move(admission);
  if (!problems.empty()) return AllProblems(std::move(problems));
  return parsed;
}

}  // namespace muster
