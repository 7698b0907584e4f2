// Of musterd's file the keys `launcher` and `local-cluster`; musterd itself checks the others.
#include "schedd/launcher/launcher_config.h"

#include <CLI/CLI.hpp>
#include <fstream>
#include <set>
#include <sstream>

#include "schedd/text/yaml.h"

namespace muster {
namespace {

constexpr const char* kVersion = "muster-launcher 0.1.0";

using Problems = std::vector<FieldError>;

// Members of one source; they replace those of a source before.
void SetClusters(const std::vector<std::string>& texts, const std::string& origin,
                 LauncherConfig* config, Problems* problems) {
  config->clusters.clear();
  std::set<std::string> names;
  for (const std::string& text : texts) {
    Result<DeclaredCluster> cluster = ParseClusterFlag(text, false);
    if (!cluster.ok()) {
      problems->push_back({origin, cluster.error().detail});
    } else if (!names.insert(cluster->name).second) {
      problems->push_back({origin, "cluster " + cluster->name + " is declared twice"});
    } else {
      config->clusters.push_back(std::move(*cluster));
    }
  }
}

void TakeFileClusters(const std::string& path, const json::value& value, LauncherConfig* config,
                      Problems* problems) {
  const std::string origin = path + ": local-cluster";
  std::vector<std::string> texts;
  const json::array one{value};
  for (const json::value& item : value.is_array() ? value.get_array() : one) {
    if (!item.is_string()) return problems->push_back({origin, "must be a list of strings"});
    texts.emplace_back(item.get_string());
  }
  SetClusters(texts, origin, config, problems);
}

void ReadFile(const std::string& path, LauncherConfig* config, Problems* problems) {
  std::ifstream file(path);
  if (!file) return problems->push_back({"--config", "cannot read " + path});
  std::stringstream text;
  text << file.rdbuf();
  const auto documents = ParseYaml(text.str());
  if (!documents.ok()) return problems->push_back({path, documents.error().detail});
  if (documents->empty()) return;
  if (documents->size() != 1 || !(*documents)[0].is_object())
    return problems->push_back({path, "must be one YAML mapping"});
  const json::object& keys = (*documents)[0].get_object();
  if (const json::value* socket = keys.if_contains("launcher")) {
    if (socket->is_string()) {
      config->socket = socket->get_string();
    } else {
      problems->push_back({path + ": launcher", "must be a string"});
    }
  }
  if (const json::value* clusters = keys.if_contains("local-cluster"))
    TakeFileClusters(path, *clusters, config, problems);
}

}  // namespace

Result<ParsedLauncher> ParseLauncherLine(int argc, const char* const* argv) {
  ParsedLauncher parsed;
  LauncherConfig& config = parsed.config;
  CLI::App app{"Serves the local members of a musterd that does not run as root",
               "muster-launcher"};
  app.set_version_flag("--version", kVersion);
  std::string socket, state_dir, daemon_user;
  std::vector<std::string> clusters;
  app.add_option("--config", config.file,
                 "musterd's YAML file; its keys launcher and local-cluster are read");
  app.add_option(
      "--socket", socket,
      "Unix socket for musterd (default " + config.socket + ", or launcher of the file)");
  app.add_option("--local-cluster", clusters,
                 "member cluster, as musterd's flag of this name; must be the same")
      ->allow_extra_args(false)
      ->type_size(1);
  app.add_option("--daemon-user", daemon_user,
                 "account that musterd runs as (default " + config.daemon_user + ")");
  app.add_option("--state-dir", state_dir,
                 "directory of the members (default " + config.state_dir + ")");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    parsed.print_and_exit = app.help();
    return parsed;
  } catch (const CLI::CallForVersion&) {
    parsed.print_and_exit = std::string(kVersion) + "\n";
    return parsed;
  } catch (const CLI::ParseError& error) {
    return InvalidArgument(error.what());
  }
  Problems problems;
  if (!config.file.empty()) ReadFile(config.file, &config, &problems);
  if (!clusters.empty()) SetClusters(clusters, "--local-cluster", &config, &problems);
  if (!socket.empty()) config.socket = socket;
  if (!state_dir.empty()) config.state_dir = state_dir;
  if (!daemon_user.empty()) config.daemon_user = daemon_user;
  for (const auto& [flag, path] :
       {std::pair{"--socket", &config.socket}, std::pair{"--state-dir", &config.state_dir}}) {
    if (!path->starts_with('/'))
      problems.push_back({flag, "\"" + *path + "\" is not an absolute path"});
  }
  if (config.clusters.empty() && problems.empty())
    config.clusters.push_back({.name = "local", .allocatable = {}, .labels = {}});
  if (problems.empty()) return parsed;
  Error error{Code::kInvalidArgument, "", std::move(problems)};
  for (const FieldError& one : error.fields)
    error.detail += (error.detail.empty() ? "" : "\n") + one.field + ": " + one.message;
  return error;
}

}  // namespace muster
