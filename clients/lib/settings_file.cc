// One YAML mapping. Unknown keys are refused, so that a misspelt `tokn:` is noticed.
#include "clients/lib/settings_file.h"

#include <sys/stat.h>

#include <fstream>
#include <map>
#include <sstream>

#include "schedd/text/yaml.h"

namespace muster::client {
namespace {

constexpr char kKnownKeys[] =
    "server, grpc, token, token-file, exec, namespace, ca, cert, key, insecure-skip-tls-verify, "
    "auth, munge-socket, oidc";

// "x" beside /home/a/.config/muster/config.yaml is /home/a/.config/muster/x.
std::string BesideFile(const std::string& file, const std::string& path) {
  if (path.empty() || path[0] == '/') return path;
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? path : file.substr(0, slash + 1) + path;
}

Status TakeExecMember(const json::key_value_pair& entry, ExecCommand* out) {
  const std::string key(entry.key());
  const auto text = [](const json::value& value) { return std::string(value.get_string()); };
  if ((key == "command" || key == "apiVersion") && entry.value().is_string()) {
    (key == "command" ? out->command : out->api_version) = text(entry.value());
    return Done{};
  }
  if (key == "args" && entry.value().is_array()) {
    for (const json::value& one : entry.value().get_array()) {
      if (!one.is_string()) return InvalidArgument("exec.args must be a list of texts");
      out->args.push_back(text(one));
    }
    return Done{};
  }
  if (key == "env" && entry.value().is_object()) {
    for (const json::key_value_pair& one : entry.value().get_object()) {
      if (!one.value().is_string()) return InvalidArgument("exec.env must be a mapping of texts");
      out->env[std::string(one.key())] = text(one.value());
    }
    return Done{};
  }
  return InvalidArgument("exec." + key +
                         " is not one of command, args (a list), env (a mapping) and apiVersion");
}

Status TakeExec(const json::value& value, ExecCommand* out) {
  if (!value.is_object()) return InvalidArgument("exec must be a mapping with a command");
  for (const json::key_value_pair& entry : value.get_object()) {
    Status taken = TakeExecMember(entry, out);
    if (!taken.ok()) return taken;
  }
  if (out->command.empty()) return InvalidArgument("exec names no command");
  if (out->api_version != "client.authentication.k8s.io/v1" &&
      out->api_version != "client.authentication.k8s.io/v1beta1")
    return InvalidArgument("exec.apiVersion must be client.authentication.k8s.io/v1 or v1beta1");
  return Done{};
}

// The sentence of an error goes behind the file's name.
Status TakeSetting(const json::key_value_pair& entry, FileSettings* out) {
  static const std::map<std::string, std::string FileSettings::*> kTexts = {
      {"server", &FileSettings::server},    {"grpc", &FileSettings::grpc},
      {"token", &FileSettings::token},      {"token-file", &FileSettings::token_file},
      {"namespace", &FileSettings::ns},     {"ca", &FileSettings::ca},
      {"cert", &FileSettings::certificate}, {"key", &FileSettings::key},
      {"auth", &FileSettings::auth},        {"munge-socket", &FileSettings::munge_socket},
  };
  const std::string key(entry.key());
  if (key == "exec") return TakeExec(entry.value(), &out->exec);
  if (key == "insecure-skip-tls-verify") {
    if (!entry.value().is_bool()) return InvalidArgument(key + " must be true or false");
    out->skip_verify = entry.value().get_bool();
    return Done{};
  }
  const auto text = kTexts.find(key);
  if (text == kTexts.end())
    return InvalidArgument("unknown key \"" + key + "\" (known: " + kKnownKeys + ")");
  if (!entry.value().is_string()) return InvalidArgument(key + " must be text");
  out->*text->second = std::string(entry.value().get_string());
  return Done{};
}

}  // namespace

Result<FileSettings> ReadSettingsFile(const std::string& path) {
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
  if (documents->size() != 1 || !documents->front().is_object())
    return InvalidArgument(path + ": must be one mapping of " + kKnownKeys);
  for (const json::key_value_pair& entry : documents->front().get_object()) {
    if (entry.key() == "oidc") {
      const Status taken = TakeOidcClient(entry.value(), path, &out.oidc);
      if (!taken.ok()) return taken.error();
      continue;
    }
    const Status taken = TakeSetting(entry, &out);
    if (!taken.ok()) return InvalidArgument(path + ": " + taken.error().detail);
  }
  const int sources = !out.token.empty() + !out.token_file.empty() + !out.exec.command.empty();
  if (sources > 1)
    return InvalidArgument(path + ": only one of token, token-file and exec may be given");
  if (!out.token.empty() && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return InvalidArgument(path +
                           ": holds a token but other users may read it; run chmod 600 on it");
  }
  for (std::string* file : {&out.ca, &out.certificate, &out.key, &out.token_file, &out.oidc.ca})
    *file = BesideFile(path, *file);
  if (out.exec.command.find('/') != std::string::npos)
    out.exec.command = BesideFile(path, out.exec.command);
  return out;
}

}  // namespace muster::client
