// Reading a kubeconfig: YAML to JSON, then the chosen context, its cluster and its user.
//
// Each mapping is read through a Section, which knows its place in the file for error sentences and
// keeps the first error, so that the readers below need not check after every field. A field that
// Muster does not know is an error: kubectl may know it, and ignoring it could weaken what the
// operator has asked for.
//
// Refused by name: proxy-url, basic authentication, auth-provider, impersonation; plain HTTP and
// skipped verification unless the server is on loopback; exec plugins unless the member allows
// them.
#include "backends/k8s/client/kubeconfig.h"

#include <arpa/inet.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>

#include "backends/k8s/client/member_files.h"
#include "schedd/text/base64.h"
#include "schedd/text/yaml.h"

namespace muster::k8s {
namespace {

namespace fs = std::filesystem;

// One mapping of the file with its name for sentences, such as "users[admin].user". Its readers
// keep the first error and go on, so that the caller asks for an error once, at the end.
class Section {
 public:
  Section(std::string name, const json::object& object) : name_(std::move(name)), object_(object) {}

  const json::value* Find(std::string_view key) const {
    const auto* value = object_.if_contains(key);
    return value == nullptr || value->is_null() ? nullptr : value;
  }
  std::string Text(std::string_view key) {
    const auto* value = Find(key);
    if (value == nullptr) return "";
    if (!value->is_string()) Fail(key, "must be a string");
    return value->is_string() ? std::string(value->get_string()) : "";
  }
  bool Flag(std::string_view key) {
    const auto* value = Find(key);
    if (value == nullptr) return false;
    if (!value->is_bool()) Fail(key, "must be true or false");
    return value->is_bool() && value->get_bool();
  }
  // An error if the field is given and not an empty string.
  void Refuse(std::string_view key, const std::string& why) {
    const auto* value = Find(key);
    if (value == nullptr) return;
    if (value->is_string() && value->get_string().empty()) return;
    Fail(key, why);
  }
  // An error for any field that is not in this list.
  void OnlyThese(std::initializer_list<std::string_view> known) {
    for (const auto& entry : object_) {
      if (std::find(known.begin(), known.end(), std::string_view(entry.key())) == known.end())
        Fail(entry.key(), "is not known to Muster");
    }
  }
  void Fail(std::string_view key, const std::string& why) {
    if (error_.empty()) error_ = Field(key) + " " + why;
  }
  // Takes over the error of a section inside this one.
  void Take(const Section& inner) {
    if (error_.empty()) error_ = inner.error_;
  }
  std::string Field(std::string_view key) const { return name_ + "." + std::string(key); }
  const json::object& object() const { return object_; }
  const std::string& error() const { return error_; }

 private:
  const std::string name_;
  const json::object& object_;
  std::string error_;
};

// Which files the kubeconfig may name, and where relative paths begin.
struct FileRules {
  std::string directory;
  std::vector<std::string> allowed;
  bool inline_only = false;
};

// The entry called `name` of a list such as clusters: [{name, cluster: {...}}]. `asked_by`: the
// field that names the entry, for the error.
Result<const json::object*> FindEntry(const json::object& file, const std::string& list,
                                      const std::string& inner, const std::string& name,
                                      const std::string& asked_by) {
  const auto* entries = file.if_contains(list);
  if (entries != nullptr && !entries->is_null() && !entries->is_array())
    return InvalidArgument("kubeconfig: " + list + " must be a list");
  if (entries != nullptr && entries->is_array()) {
    for (const auto& entry : entries->get_array()) {
      if (!entry.is_object()) return InvalidArgument("kubeconfig: " + list + " must hold mappings");
      const auto* its_name = entry.get_object().if_contains("name");
      if (its_name == nullptr || !its_name->is_string() || its_name->get_string() != name) continue;
      const auto* body = entry.get_object().if_contains(inner);
      static const json::object kNone;
      if (body == nullptr || body->is_null()) return &kNone;
      if (!body->is_object())
        return InvalidArgument("kubeconfig: " + list + "[" + name + "]." + inner +
                               " must be a mapping");
      return &body->get_object();
    }
  }
  return InvalidArgument("kubeconfig: " + asked_by + " names \"" + name + "\", which is not in " +
                         list);
}

// Reads a field that may be given as base64 data or as a file. `data_key` "": only as a file.
Material ReadMaterial(Section& section, std::string_view data_key, std::string_view file_key,
                      const FileRules& place) {
  Material out;
  if (const std::string text = section.Text(data_key); !text.empty()) {
    const auto bytes = DecodeBase64(text);
    if (!bytes) section.Fail(data_key, "is not base64");
    if (bytes) out.data = *bytes;
    return out;
  }
  const std::string file = section.Text(file_key);
  if (file.empty()) return out;
  if (place.inline_only) {
    section.Fail(file_key,
                 "names a file, which is not taken from a member that is added: use " +
                     (data_key.empty()
                          ? "token, with the file's text"
                          : std::string(data_key) + " (kubectl config view --flatten writes it)"));
    return out;
  }
  out.file = (fs::path(place.directory) / file).lexically_normal().string();
  const auto read = ReadMemberFile(out.file, place.allowed);
  if (!read) section.Fail(file_key, read.error().detail);
  return out;
}

// Whether the host is "localhost" or a loopback address; other names do not count, whatever they
// resolve to.
bool IsLoopback(const std::string& host) {
  if (host == "localhost") return true;
  in_addr v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  return ::inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

bool IsPort(const std::string& text) {
  if (text.empty() || text.size() > 5) return false;
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return false;
  const int port = std::stoi(text);
  return port > 0 && port <= 65'535;
}

// Splits "https://host:port/path" into its parts; false if the text is no such URL.
bool SplitServer(std::string_view url, MemberAccess* out) {
  const bool plain = url.starts_with("http://");
  if (!plain && !url.starts_with("https://")) return false;
  out->tls = !plain;
  url.remove_prefix(plain ? 7 : 8);
  for (const char c : url) {
    const bool odd = c <= ' ' || c == '"' || c == '<' || c == '>' || c == '\\' || c == 0x7f;
    if (odd || c == '@' || c == '?' || c == '#') return false;
  }
  const std::size_t slash = std::min(url.find('/'), url.size());
  std::string_view authority = url.substr(0, slash);
  out->base_path = url.substr(slash);
  while (out->base_path.ends_with('/')) out->base_path.pop_back();
  if (authority.starts_with('[')) {
    const auto end = authority.find(']');
    if (end == std::string_view::npos) return false;
    out->host = authority.substr(1, end - 1);
    authority.remove_prefix(end + 1);
    in6_addr v6{};
    if (::inet_pton(AF_INET6, out->host.c_str(), &v6) != 1) return false;
  } else {
    const std::size_t colon = std::min(authority.find(':'), authority.size());
    out->host = authority.substr(0, colon);
    authority.remove_prefix(colon);
  }
  out->port = plain ? "80" : "443";
  if (authority.starts_with(':')) {
    out->port = authority.substr(1);
    authority = {};
  }
  return authority.empty() && !out->host.empty() && IsPort(out->port);
}

// clusters[].cluster: the server and the certificates that are trusted.
void ReadCluster(Section& section, const FileRules& place, MemberAccess* out) {
  section.OnlyThese({"server", "certificate-authority", "certificate-authority-data",
                     "tls-server-name", "insecure-skip-tls-verify", "proxy-url",
                     "disable-compression", "extensions"});
  section.Refuse("proxy-url", "is not supported: Muster reaches members directly");
  const std::string server = section.Text("server");
  if (server.empty()) {
    section.Fail("server", "is missing");
  } else if (!SplitServer(server, out)) {
    section.Fail("server", "is not a URL of the form https://host:port/path");
  } else if (!out->tls && !IsLoopback(out->host)) {
    section.Fail("server", "must begin with https:// unless it is on loopback");
  }
  out->tls_server_name = section.Text("tls-server-name");
  out->skip_verify = section.Flag("insecure-skip-tls-verify");
  if (out->skip_verify && !IsLoopback(out->host))
    section.Fail("insecure-skip-tls-verify", "is refused unless the server is on loopback");
  out->ca = ReadMaterial(section, "certificate-authority-data", "certificate-authority", place);
  if (out->skip_verify && !out->ca.empty())
    section.Fail("insecure-skip-tls-verify", "cannot stand beside a certificate authority");
}

void ReadExecEnvironment(Section& section, ExecPlugin* out) {
  const auto* env = section.Find("env");
  if (env == nullptr) return;
  if (!env->is_array()) return section.Fail("env", "must be a list");
  for (const auto& entry : env->get_array()) {
    if (!entry.is_object()) return section.Fail("env", "must hold mappings of name and value");
    Section pair(section.Field("env[]"), entry.get_object());
    const std::string name = pair.Text("name");
    if (name.empty() || name.find('=') != std::string::npos)
      pair.Fail("name", "is not a variable's name");
    out->env[name] = pair.Text("value");
    section.Take(pair);
  }
}

// users[].user.exec, if the caller allows it.
void ReadExec(Section& user, const FileRules& place, bool allowed, ExecPlugin* out) {
  const auto* value = user.Find("exec");
  if (value == nullptr) return;
  if (!allowed)
    return user.Fail("exec", "is refused: exec plugins are not allowed for this member");
  if (!value->is_object()) return user.Fail("exec", "must be a mapping");
  Section section(user.Field("exec"), value->get_object());
  section.OnlyThese({"apiVersion", "command", "args", "env", "installHint", "provideClusterInfo",
                     "interactiveMode"});
  out->api_version = section.Text("apiVersion");
  if (out->api_version != "client.authentication.k8s.io/v1" &&
      out->api_version != "client.authentication.k8s.io/v1beta1")
    section.Fail("apiVersion", "must be client.authentication.k8s.io/v1 or /v1beta1");
  out->command = section.Text("command");
  if (out->command.empty()) section.Fail("command", "is missing");
  // As for kubectl, a command with a slash is relative to the kubeconfig, one without is looked for
  // in PATH.
  if (out->command.find('/') != std::string::npos)
    out->command = (fs::path(place.directory) / out->command).lexically_normal().string();
  if (const auto* args = section.Find("args"); args != nullptr) {
    if (!args->is_array()) section.Fail("args", "must be a list");
    for (const auto& arg : args->is_array() ? args->get_array() : json::array{}) {
      if (!arg.is_string()) section.Fail("args", "must hold strings");
      if (arg.is_string()) out->args.emplace_back(arg.get_string());
    }
  }
  ReadExecEnvironment(section, out);
  out->provide_cluster_info = section.Flag("provideClusterInfo");
  out->install_hint = section.Text("installHint");
  if (section.Text("interactiveMode") == "Always")
    section.Fail("interactiveMode", "is Always, and the daemon has no terminal");
  user.Take(section);
}

// Tokens go into a header, so blanks and control characters are refused.
bool IsToken(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

// users[].user: certificates, tokens, or an exec plugin.
void ReadUser(Section& section, const FileRules& place, bool allow_exec, MemberAccess* out) {
  section.OnlyThese({"token", "tokenFile", "client-certificate", "client-certificate-data",
                     "client-key", "client-key-data", "exec", "username", "password",
                     "auth-provider", "as", "as-uid", "as-groups", "as-user-extra", "extensions"});
  for (const char* key : {"username", "password"})
    section.Refuse(key, "is not supported: Kubernetes has no basic authentication any more");
  section.Refuse("auth-provider", "is not supported: use an exec plugin");
  for (const char* key : {"as", "as-uid", "as-groups", "as-user-extra"})
    section.Refuse(key, "is not supported: Muster does not impersonate");
  out->client_certificate =
      ReadMaterial(section, "client-certificate-data", "client-certificate", place);
  out->client_key = ReadMaterial(section, "client-key-data", "client-key", place);
  if (out->client_certificate.empty() != out->client_key.empty())
    section.Fail("client-certificate", "and client-key must stand together");
  // If both are given the file is used, as by kubectl.
  if (section.Find("tokenFile") != nullptr && !section.Text("tokenFile").empty()) {
    out->token = ReadMaterial(section, "", "tokenFile", place);
  } else {
    out->token.data = section.Text("token");
    if (!IsToken(out->token.data)) section.Fail("token", "holds a blank or unprintable character");
  }
  ReadExec(section, place, allow_exec, &out->exec);
  if (!out->exec.empty() && (!out->token.empty() || !out->client_certificate.empty()))
    section.Fail("exec", "cannot stand beside a token or a certificate");
  if (!out->tls && !out->client_certificate.empty())
    section.Fail("client-certificate", "needs a server that begins with https://");
}

}  // namespace

Result<MemberAccess> ParseKubeconfig(std::string_view text, const std::string& directory,
                                     const KubeconfigOptions& options) {
  auto documents = ParseYaml(text);
  if (!documents) return InvalidArgument("kubeconfig: not YAML: " + documents.error().detail);
  if (documents->size() != 1 || !documents->front().is_object())
    return InvalidArgument("kubeconfig: must be one mapping");
  const json::object& file = documents->front().get_object();
  Section top("kubeconfig", file);
  MemberAccess out;
  FileRules place{directory, {}, options.inline_only};
  place.allowed = options.allowed_directories;
  if (place.allowed.empty()) place.allowed.push_back(directory);
  out.allowed_directories = place.allowed;

  const std::string from = options.context.empty() ? "current-context" : "the context option";
  const std::string name = options.context.empty() ? top.Text("current-context") : options.context;
  if (!top.error().empty()) return InvalidArgument(top.error());
  if (name.empty()) return InvalidArgument("kubeconfig: current-context is missing");
  const auto context = FindEntry(file, "contexts", "context", name, from);
  if (!context) return context.error();
  Section chosen("kubeconfig: contexts[" + name + "].context", **context);
  const std::string cluster_name = chosen.Text("cluster"), user_name = chosen.Text("user");
  out.ns = chosen.Text("namespace");
  if (cluster_name.empty()) chosen.Fail("cluster", "is missing");
  if (user_name.empty()) chosen.Fail("user", "is missing");
  if (!chosen.error().empty()) return InvalidArgument(chosen.error());

  const auto cluster = FindEntry(file, "clusters", "cluster", cluster_name,
                                 "contexts[" + name + "].context.cluster");
  if (!cluster) return cluster.error();
  Section cluster_section("kubeconfig: clusters[" + cluster_name + "].cluster", **cluster);
  ReadCluster(cluster_section, place, &out);
  if (!cluster_section.error().empty()) return InvalidArgument(cluster_section.error());
  const auto user =
      FindEntry(file, "users", "user", user_name, "contexts[" + name + "].context.user");
  if (!user) return user.error();
  Section user_section("kubeconfig: users[" + user_name + "].user", **user);
  ReadUser(user_section, place, options.allow_exec, &out);
  if (!user_section.error().empty()) return InvalidArgument(user_section.error());
  return out;
}

Result<MemberAccess> LoadKubeconfig(const std::string& path, const KubeconfigOptions& options) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  // The operator chooses the kubeconfig's own path, so it may lie anywhere.
  const auto read = ReadMemberFile(absolute.string(), {"/"});
  if (error || !read) {
    return NotFound("the kubeconfig file " + (error ? "has no path" : read.error().detail));
  }
  return ParseKubeconfig(read->content, absolute.parent_path().string(), options);
}

}  // namespace muster::k8s
