// Finds the server, the token, the namespace and the user from the four sources of rule C3: flag,
// environment variable, configuration file, default. The file is read first, so that a broken file
// is an error even where a flag would win: a user should learn of it at once. A file with a token
// must be readable by its owner alone.
#include "clients/lib/settings.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "schedd/text/yaml.h"

namespace muster::client {
namespace {

struct FileSettings {
  std::string server, grpc, token, ns;
};

// One `key: value` line of the file. Unknown keys are refused, so that a misspelt `tokn:` is
// noticed.
Status TakeKey(const json::key_value_pair& entry, const std::string& path, FileSettings* out) {
  const std::string key(entry.key());
  if (!entry.value().is_string()) return InvalidArgument(path + ": " + key + " must be text");
  const std::string value(entry.value().get_string());
  if (key == "server")
    out->server = value;
  else if (key == "grpc")
    out->grpc = value;
  else if (key == "token")
    out->token = value;
  else if (key == "namespace")
    out->ns = value;
  else
    return InvalidArgument(path + ": unknown key \"" + key +
                           "\" (known: server, grpc, token, namespace)");
  return Done{};
}

// An absent file is no error: it gives empty settings.
Result<FileSettings> ReadFile(const std::string& path) {
  FileSettings out;
  struct stat info {};
  if (path.empty() || stat(path.c_str(), &info) != 0) return out;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) return InvalidArgument(path + ": cannot be read");
  Result<std::vector<json::value>> documents = ParseYaml(text.str());
  if (!documents.ok()) return InvalidArgument(path + ": " + documents.error().detail);
  if (documents->empty()) return out;
  if (documents->size() != 1 || !documents->front().is_object()) {
    return InvalidArgument(path + ": must be one mapping of server, grpc, token, namespace");
  }
  for (const json::key_value_pair& entry : documents->front().get_object()) {
    Status taken = TakeKey(entry, path, &out);
    if (!taken.ok()) return taken.error();
  }
  if (!out.token.empty() && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return InvalidArgument(path +
                           ": holds a token but other users may read it; run chmod 600 on it");
  }
  return out;
}

// The first text that is not empty; `d` may be empty.
std::string FirstOf(const std::string& a, const std::string& b, const std::string& c,
                    const std::string& d) {
  if (!a.empty()) return a;
  if (!b.empty()) return b;
  return c.empty() ? d : c;
}

}  // namespace

std::string ProcessEnv(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string DefaultConfigFile(const EnvLookup& env) {
  const std::string xdg = env("XDG_CONFIG_HOME");
  if (!xdg.empty()) return xdg + "/muster/config.yaml";
  const std::string home = env("HOME");
  return home.empty() ? std::string() : home + "/.config/muster/config.yaml";
}

// The effective user, so that `sudo -u` and setuid tools act as the user they run as. Root is
// answered without reading /etc/passwd.
std::string CurrentUser() {
  const uid_t uid = geteuid();
  if (uid == 0) return "root";
  const struct passwd* entry = getpwuid(uid);
  return entry != nullptr ? std::string(entry->pw_name) : std::to_string(uid);
}

Result<Settings> LoadSettings(const SettingFlags& flags, const EnvLookup& env,
                              const std::string& config_file) {
  Result<FileSettings> file = ReadFile(config_file);
  if (!file.ok()) return file.error();
  Settings out;
  const std::string url =
      FirstOf(flags.server, env("MUSTER_URL"), file->server, "http://127.0.0.1:8686");
  Result<Endpoint> endpoint = ParseServerUrl(url);
  if (!endpoint.ok()) return endpoint.error();
  out.server = std::move(endpoint).value();
  out.grpc = FirstOf("", env("MUSTER_GRPC"), file->grpc, "127.0.0.1:8687");
  out.token = FirstOf("", env("MUSTER_TOKEN"), file->token, "");
  out.ns = FirstOf(flags.ns, env("MUSTER_NAMESPACE"), file->ns, "default");
  out.user = CurrentUser();
  return out;
}

}  // namespace muster::client
