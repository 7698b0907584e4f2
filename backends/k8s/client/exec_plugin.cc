// RunExecPlugin: spawns the program in a process group of its own, reads its output from a pipe
// until the end, then waits for its exit through a pidfd. Both waits poll the stop descriptor too
// and share one deadline. Whenever the call returns, the group is killed and the child reaped
// (Child's destructor).
//
// The plugin gets only kPassed of the daemon's environment, because the rest may hold secrets such
// as the database's password. Its standard error is dropped: plugins may write secrets there.
#include "backends/k8s/client/exec_plugin.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "schedd/text/base64.h"
#include "schedd/text/json.h"

namespace muster::k8s {
namespace {

Error Failed(std::string what) {
  return {Code::kUnauthenticated, "the exec plugin " + std::move(what)};
}

// Owns a file descriptor.
class File {
 public:
  explicit File(int fd = -1) : fd_(fd) {}
  ~File() { Reset(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  void Reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// The strings as a null-terminated array for posix_spawn.
std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (auto& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// The variables that a plugin gets from the daemon's environment (README.md, "Exec plugins").
constexpr std::array kPassed = {"PATH",
                                "HOME",
                                "TMPDIR",
                                "HTTP_PROXY",
                                "HTTPS_PROXY",
                                "ALL_PROXY",
                                "NO_PROXY",
                                "http_proxy",
                                "https_proxy",
                                "all_proxy",
                                "no_proxy",
                                "SSL_CERT_FILE",
                                "SSL_CERT_DIR",
                                "CURL_CA_BUNDLE",
                                "AWS_CA_BUNDLE",
                                "REQUESTS_CA_BUNDLE",
                                "NODE_EXTRA_CA_CERTS"};

// The plugin's environment: kPassed, then the kubeconfig's `env`, then KUBERNETES_EXEC_INFO.
std::vector<std::string> Environment(const ExecPlugin& plugin, const std::string& info) {
  std::vector<std::string> out;
  for (const char* name : kPassed) {
    const char* value = std::getenv(name);
    if (value != nullptr && !plugin.env.contains(name))
      out.push_back(std::string(name) + "=" + value);
  }
  for (const auto& [name, value] : plugin.env) {
    if (name != "KUBERNETES_EXEC_INFO") out.push_back(name + "=" + value);
  }
  out.push_back("KUBERNETES_EXEC_INFO=" + info);
  return out;
}

// A child process in a process group of its own, with its output in a pipe. The destructor kills
// the group and reaps the child.
class Child {
 public:
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    Reap();
  }
  // 0, or errno.
  int Start(const ExecPlugin& plugin, const std::string& info);
  int output() const { return output_.get(); }
  int pidfd() const { return pidfd_.get(); }
  // Its wait status. To be called once it has ended.
  int Reap() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
  File output_, pidfd_;
};

int Child::Start(const ExecPlugin& plugin, const std::string& info) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
  output_.Reset(ends[0]);
  const File writer(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  std::vector<std::string> args{plugin.command};
  args.insert(args.end(), plugin.args.begin(), plugin.args.end());
  std::vector<std::string> env = Environment(plugin, info);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, writer.get(), 1);
  // Standard error may hold secrets, so it is dropped.
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, usual;
  ::sigemptyset(&none);
  ::sigemptyset(&usual);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) ::sigaddset(&usual, number);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const int error = ::posix_spawnp(&pid_, plugin.command.c_str(), &actions, &attributes,
                                   Pointers(args).data(), Pointers(env).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    pid_ = -1;
    return error;
  }
  // The wrapper of glibc 2.36 cannot be linked from C++.
  pidfd_.Reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  return pidfd_.get() < 0 ? errno : 0;
}

// Waits until `fd` is readable or at its end. The error says that the plugin was stopped or is too
// slow.
Status Await(int fd, const ExecStop& stop, const Clock& clock, Monotonic deadline) {
  for (;;) {
    const std::int64_t left_ms = (deadline - clock.Now()) / kNanosPerMilli + 1;
    pollfd waited[2] = {{fd, POLLIN, 0}, {stop.fd(), POLLIN, 0}};
    const int n = ::poll(waited, 2, static_cast<int>(std::clamp<std::int64_t>(left_ms, 0, 60'000)));
    if (waited[1].revents != 0 && n > 0) return Failed("was stopped");
    if (n > 0) return Done{};
    if (n < 0 && errno != EINTR) return Failed("cannot be watched");
    if (clock.Now() >= deadline) return Failed("did not answer in time");
  }
}

// The plugin's output up to its end, at most kExecBytes.
Result<std::string> ReadAll(const Child& child, const ExecStop& stop, const Clock& clock,
                            Monotonic deadline) {
  std::string out;
  char piece[4096];
  for (;;) {
    if (auto ready = Await(child.output(), stop, clock, deadline); !ready) return ready.error();
    const ssize_t n = ::read(child.output(), piece, sizeof(piece));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return Failed("cannot be read");
    if (n == 0) return out;
    out.append(piece, static_cast<std::size_t>(n));
    if (out.size() > kExecBytes) return Failed("printed over 256 KiB");
  }
}

}  // namespace

ExecStop::ExecStop() : fd_(::eventfd(0, EFD_CLOEXEC)) {}
ExecStop::~ExecStop() { ::close(fd_); }
void ExecStop::Stop() { ::eventfd_write(fd_, 1); }

Result<ExecCredentials> RunExecPlugin(const ExecPlugin& plugin, const std::string& info,
                                      const Clock& clock, const ExecStop& stop,
                                      std::int64_t limit_ms) {
  const Monotonic deadline = clock.Now() + MillisToNanos(limit_ms);
  Child child;
  if (const int error = child.Start(plugin, info); error != 0) {
    std::string why = std::string("cannot be run: ") + std::strerror(error);
    if (!plugin.install_hint.empty()) why += " (its kubeconfig says how to install it)";
    return Failed(why);
  }
  auto output = ReadAll(child, stop, clock, deadline);
  if (!output) return output.error();
  if (auto ended = Await(child.pidfd(), stop, clock, deadline); !ended) return ended.error();
  const int status = child.Reap();
  if (WIFSIGNALED(status)) return Failed("died of signal " + std::to_string(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0)
    return Failed("ended with exit code " + std::to_string(WEXITSTATUS(status)));
  return ParseExecCredential(*output, plugin.api_version);
}

std::string ExecInfo(const MemberAccess& access, const std::string& ca_pem) {
  json::object spec{{"interactive", false}};
  if (access.exec.provide_cluster_info) {
    const bool v6 = access.host.find(':') != std::string::npos;
    json::object cluster{{"server", std::string(access.tls ? "https://" : "http://") +
                                        (v6 ? "[" + access.host + "]" : access.host) + ":" +
                                        access.port + access.base_path}};
    if (!access.tls_server_name.empty()) cluster["tls-server-name"] = access.tls_server_name;
    if (access.skip_verify) cluster["insecure-skip-tls-verify"] = true;
    if (!ca_pem.empty()) cluster["certificate-authority-data"] = EncodeBase64(ca_pem);
    spec["cluster"] = std::move(cluster);
  }
  return WriteJson(json::object{{"apiVersion", access.exec.api_version},
                                {"kind", "ExecCredential"},
                                {"spec", std::move(spec)}});
}

}  // namespace muster::k8s
