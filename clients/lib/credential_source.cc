// A plugin runs with the user's environment and terminal: it may ask for a password there, and its
// messages are for the user. Its standard input is the terminal or nothing, never the command's
// own, which may be a manifest.
#include "clients/lib/credential_source.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "clients/lib/deadline.h"
#include "clients/lib/pem_file.h"
#include "schedd/credentials/exec_credential.h"
#include "schedd/text/json.h"

extern char** environ;

namespace muster::client {
namespace {

// A person may have to type a password.
constexpr std::int64_t kPluginMs = 60'000;
constexpr std::size_t kPluginBytes = 256 << 10;
// What expires within this time is renewed, so that it does not expire on its way.
constexpr std::int64_t kRenewBeforeS = 10;
// As Kubernetes' clients read a token's file again.
constexpr std::int64_t kFileMs = 60'000;

Failure PluginFailed(const ExecCommand& plugin, const std::string& why) {
  return LocalFailure("the credential plugin " + plugin.command + " " + why);
}

std::vector<std::string> PluginEnvironment(const ExecCommand& plugin, bool terminal) {
  std::vector<std::string> out;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string name(*one, std::strcspn(*one, "="));
    if (name != "KUBERNETES_EXEC_INFO" && plugin.env.count(name) == 0) out.emplace_back(*one);
  }
  for (const auto& [name, value] : plugin.env) out.push_back(name + "=" + value);
  const json::object info{{"apiVersion", plugin.api_version},
                          {"kind", "ExecCredential"},
                          {"spec", json::object{{"interactive", terminal}}}};
  out.push_back("KUBERNETES_EXEC_INFO=" + WriteJson(info));
  return out;
}

std::vector<char*> SpawnPointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// 0, or errno. The plugin's output can be read from `*output`.
int SpawnPlugin(const ExecCommand& plugin, pid_t* pid, int* output) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
  const bool terminal = ::isatty(0) == 1;
  std::vector<std::string> args{plugin.command};
  args.insert(args.end(), plugin.args.begin(), plugin.args.end());
  std::vector<std::string> env = PluginEnvironment(plugin, terminal);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!terminal) posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  const int error = ::posix_spawnp(pid, plugin.command.c_str(), &actions, nullptr,
                                   SpawnPointers(args).data(), SpawnPointers(env).data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  *output = ends[0];
  if (error != 0) ::close(ends[0]);
  return error;
}

// The output up to its end; "" as the reason if all is well.
std::string ReadOutput(int fd, std::string* out) {
  const std::int64_t deadline = NowMs() + kPluginMs;
  char piece[4096];
  for (;;) {
    const std::int64_t left = deadline - NowMs();
    pollfd waited{fd, POLLIN, 0};
    const int ready = ::poll(&waited, 1, left > 0 ? static_cast<int>(left) : 0);
    if (ready == 0) return "did not end within a minute";
    const ssize_t n = ready < 0 ? -1 : ::read(fd, piece, sizeof piece);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return "cannot be read";
    if (n == 0) return "";
    out->append(piece, static_cast<std::size_t>(n));
    if (out->size() > kPluginBytes) return "printed over 256 KiB";
  }
}

}  // namespace

CredentialSource CredentialSource::OfFile(std::string path) {
  CredentialSource out;
  out.file_ = std::move(path);
  return out;
}

CredentialSource CredentialSource::OfPlugin(ExecCommand plugin) {
  CredentialSource out;
  out.plugin_ = std::move(plugin);
  return out;
}

Outcome<Credential> CredentialSource::Get() {
  const std::int64_t now_us = std::int64_t{::time(nullptr)} * 1'000'000;
  const bool lasts = !expires_.set() || expires_.us - kRenewBeforeS * 1'000'000 > now_us;
  const bool fresh = file_.empty() ? lasts : NowMs() - read_ms_ < kFileMs;
  if (have_ && fresh) return kept_;
  Outcome<Credential> got = file_.empty() ? RunPlugin() : ReadFile();
  if (!got.ok()) return got;
  have_ = true;
  kept_ = *got;
  return got;
}

// A token's file ends in a newline more often than not.
Outcome<Credential> CredentialSource::ReadFile() {
  Result<std::string> text = ReadPemFile(file_);
  if (!text.ok()) return LocalFailure(text.error().detail);
  Credential out;
  out.token = std::move(text).value();
  while (!out.token.empty() && static_cast<unsigned char>(out.token.back()) <= ' ')
    out.token.pop_back();
  if (out.token.empty()) return LocalFailure(file_ + ": has no token");
  if (!FitsBearerHeader(out.token)) return LocalFailure(file_ + ": its token has a blank in it");
  read_ms_ = NowMs();
  return out;
}

Outcome<Credential> CredentialSource::RunPlugin() {
  pid_t pid = -1;
  int fd = -1;
  if (const int error = SpawnPlugin(plugin_, &pid, &fd); error != 0)
    return PluginFailed(plugin_, std::string("cannot be run: ") + std::strerror(error));
  std::string output;
  const std::string wrong = ReadOutput(fd, &output);
  ::close(fd);
  if (!wrong.empty()) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!wrong.empty()) return PluginFailed(plugin_, wrong);
  if (!WIFEXITED(status)) return PluginFailed(plugin_, "died of a signal");
  if (WEXITSTATUS(status) != 0)
    return PluginFailed(plugin_, "ended with exit code " + std::to_string(WEXITSTATUS(status)));
  Result<ExecCredentials> read = ParseExecCredential(output, plugin_.api_version);
  if (!read.ok()) return LocalFailure(read.error().detail + " (" + plugin_.command + ")");
  expires_ = read->expires;
  return Credential{read->token, read->certificate_pem, read->key_pem};
}

}  // namespace muster::client
