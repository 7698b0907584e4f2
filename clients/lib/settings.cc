// Finds the server, the token, the namespace and whom to act as from the four sources of rule C3:
// flag, environment variable, configuration file, default. The file is read first, so that a broken
// file is an error even where a flag would win: a user should learn of it at once. A file with a
// token must be readable by its owner alone. A token never leaves this host in plain text (rule
// U44).
#include "clients/lib/settings.h"

#include <pwd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>

#include "clients/lib/munge_credential.h"
#include "clients/lib/settings_file.h"
#include "schedd/base/limits_server_list.h"
#include "schedd/credentials/exec_credential.h"

namespace muster::client {
namespace {

// The first text that is not empty; `d` may be empty.
std::string FirstOf(const std::string& a, const std::string& b, const std::string& c,
                    const std::string& d) {
  if (!a.empty()) return a;
  if (!b.empty()) return b;
  return c.empty() ? d : c;
}

// True if a process accepts connections there. A daemon that is stopped leaves no socket, and one
// that was killed leaves one that refuses.
bool SomebodyAnswers(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  path.copy(address.sun_path, path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  const bool answers =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
      errno == EAGAIN;
  ::close(fd);
  return answers;
}

// "grpcs://HOST:PORT", "grpc://HOST:PORT", "unix:PATH", which is plain, or HOST:PORT, which speaks
// TLS if the server does.
Settings::GrpcAddress GrpcAddressOf(std::string_view text, const Endpoint& server) {
  bool tls = server.tls && !text.starts_with("unix:");
  if (text.starts_with("grpcs://")) {
    tls = true;
    text.remove_prefix(8);
  } else if (text.starts_with("grpc://")) {
    tls = false;
    text.remove_prefix(7);
  }
  return {std::string(text), tls};
}

// Where gRPC is by default: beside a server that is asked by https, or on this host. The daemon
// puts gRPC's socket beside that of REST.
std::string DefaultGrpc(const Endpoint& server) {
  if (!server.unix_path.empty()) {
    const std::string path =
        server.unix_path.substr(0, server.unix_path.rfind('/')) + "/muster-grpc.sock";
    if (SomebodyAnswers(path)) return "unix:" + path;
  }
  if (!server.tls) return "127.0.0.1:8687";
  Endpoint beside = server;
  beside.port = 8687;
  return beside.Authority();
}

// `text`: addresses separated by commas; "": the default of each server.
Status TakeGrpcAddresses(std::string_view text, Settings* out) {
  std::vector<Settings::GrpcAddress> all;
  const auto add = [&all](Settings::GrpcAddress one) {
    const bool known = std::any_of(all.begin(), all.end(), [&one](const auto& other) {
      return other.address == one.address && other.tls == one.tls;
    });
    if (!known) all.push_back(std::move(one));
  };
  if (text.empty()) {
    add(GrpcAddressOf(DefaultGrpc(out->server), out->server));
    for (const Endpoint& server : out->more_servers)
      add(GrpcAddressOf(DefaultGrpc(server), server));
  }
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    add(GrpcAddressOf(text.substr(0, comma), out->server));
    const bool last = comma == std::string_view::npos;
    text = last ? std::string_view() : text.substr(comma + 1);
    if (all.back().address.empty() || (!last && text.empty()))
      return InvalidArgument("the list of gRPC servers (MUSTER_GRPC, grpc:) has an empty address");
  }
  if (all.size() > limits::kServers)
    return InvalidArgument("at most " + std::to_string(limits::kServers) +
                           " gRPC servers are taken (MUSTER_GRPC, grpc:)");
  out->grpc = all.front().address;
  out->grpc_tls = all.front().tls;
  out->more_grpc.assign(std::make_move_iterator(all.begin() + 1),
                        std::make_move_iterator(all.end()));
  return Done{};
}

Status TakeTls(const SettingFlags& flags, const EnvLookup& env, const FileSettings& file,
               Settings* out) {
  TlsSettings& tls = out->tls;
  tls.ca_file = FirstOf(flags.ca, env("MUSTER_CA"), file.ca, "");
  tls.certificate_file = FirstOf(flags.certificate, env("MUSTER_CERT"), file.certificate, "");
  tls.key_file = FirstOf(flags.key, env("MUSTER_KEY"), file.key, "");
  tls.skip_verify = file.skip_verify;
  if (tls.certificate_file.empty() != tls.key_file.empty()) {
    return InvalidArgument(
        "a client certificate needs both its certificate (--cert, MUSTER_CERT, cert:) and its key "
        "(--key, MUSTER_KEY, key:)");
  }
  if (tls.skip_verify && out->server.tls) {
    out->warning = "insecure-skip-tls-verify is set: " + out->server.ToString() +
                   " may be anybody, and may read the credentials";
  }
  return Done{};
}

// What signs requests that have no token. kInvalidArgument: `auth` names no way to sign.
Result<RequestSigner> ChooseSigner(const FileSettings& file, const EnvLookup& env,
                                   const Settings& settings) {
  const std::string auth = FirstOf(env("MUSTER_AUTH"), file.auth, "", "");
  if (auth == "munge") {
    const std::string socket = FirstOf(env("MUSTER_AUTH_SOCKET"), file.munge_socket, "", "");
    return RequestSigner([socket](const HttpRequest& request) {
      return MungeAuthorization(request.method, request.target, request.body, socket);
    });
  }
  if (!auth.empty()) {
    return InvalidArgument("auth (MUSTER_AUTH): \"" + auth + "\" is not known (known: munge)");
  }
  const std::string login = LoginFile(env);
  if (login.empty()) return RequestSigner();
  return LoginSigner(login, settings.server.ToString());
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

std::vector<std::string> DefaultSockets(const EnvLookup& env, bool root) {
  std::vector<std::string> out;
  const auto add = [&out](const std::string& directory, const char* below) {
    if (!directory.empty()) out.push_back(directory + below + "/run/muster.sock");
  };
  add(env("MUSTER_DATA_DIR"), "");
  if (!root) {
    const std::string state = env("XDG_STATE_HOME");
    if (!state.empty())
      add(state, "/muster");
    else
      add(env("HOME"), "/.local/state/muster");
  }
  add("/var/lib/muster", "");
  return out;
}

Endpoint DefaultServer(const std::vector<std::string>& sockets) {
  for (const std::string& path : sockets) {
    if (!SomebodyAnswers(path)) continue;
    Endpoint found;
    found.unix_path = path;
    return found;
  }
  return {};
}

bool AsksByTls(const EnvLookup& env, const std::string& config_file) {
  const std::string url = env("MUSTER_URL");
  if (!url.empty()) return url.find("https://") != std::string::npos;
  const Result<FileSettings> file = ReadSettingsFile(config_file);
  return file.ok() && file->server.find("https://") != std::string::npos;
}

Result<Settings> LoadSettings(const SettingFlags& flags, const EnvLookup& env,
                              const std::string& config_file) {
  Result<FileSettings> file = ReadSettingsFile(config_file);
  if (!file.ok()) return file.error();
  Settings out;
  const std::string url = FirstOf(flags.server, env("MUSTER_URL"), file->server, "");
  if (url.empty()) {
    out.server = DefaultServer(DefaultSockets(env, geteuid() == 0));
  } else {
    Result<std::vector<Endpoint>> servers = ParseServerList(url);
    if (!servers.ok()) return servers.error();
    out.server = servers->front();
    out.more_servers.assign(servers->begin() + 1, servers->end());
    out.away_file = AwayFile(LoginFile(env));
  }
  const Status grpc = TakeGrpcAddresses(FirstOf("", env("MUSTER_GRPC"), file->grpc, ""), &out);
  if (!grpc.ok()) return grpc.error();
  if (const Status taken = TakeTls(flags, env, *file, &out); !taken.ok()) return taken.error();
  out.token = FirstOf("", env("MUSTER_TOKEN"), file->token, "");
  if (!FitsBearerHeader(out.token))
    return InvalidArgument("the token (MUSTER_TOKEN, token:) has a blank in it");
  if (out.token.empty() && !file->token_file.empty()) {
    out.source = std::make_shared<CredentialSource>(CredentialSource::OfFile(file->token_file));
  } else if (out.token.empty() && !file->exec.command.empty()) {
    out.source = std::make_shared<CredentialSource>(CredentialSource::OfPlugin(file->exec));
  }
  std::vector<Endpoint> servers = out.more_servers;
  servers.push_back(out.server);
  for (const Endpoint& one : servers) {
    if ((!out.token.empty() || out.source != nullptr) && !one.tls && !one.IsLocal()) {
      return InvalidArgument("credentials are not sent to " + one.ToString() +
                             " in plain text; use https://");
    }
  }
  out.ns = FirstOf(flags.ns, env("MUSTER_NAMESPACE"), file->ns, "default");
  out.as_user = FirstOf(flags.as_user, env("MUSTER_AS"), "", "");
  out.as_groups = flags.as_groups;
  out.oidc = file->oidc;
  Result<RequestSigner> signer = ChooseSigner(*file, env, out);
  if (!signer.ok()) return signer.error();
  out.signer = std::move(signer).value();
  return out;
}

}  // namespace muster::client
