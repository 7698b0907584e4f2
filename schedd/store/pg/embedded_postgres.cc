// A watching thread owns the server process for its whole life: it starts the server, waits for its
// end or for a stop, and starts it again with growing pauses. The thread matters because the server
// gets PR_SET_PDEATHSIG, which fires when the thread that forked it ends (server_process.cc): so
// the server ends with the daemon, even if the daemon is killed.
//
// Readiness is not polled: the server writes its progress into postmaster.pid, and inotify wakes
// the thread for each change. A lock file keeps two daemons from one data directory;
// server_files.cc removes what a crashed run has left.
#include "schedd/store/pg/embedded_postgres.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <future>
#include <optional>
#include <thread>
#include <utility>

#include "schedd/store/pg/server_files.h"
#include "schedd/store/pg/server_process.h"
#include "schedd/store/pg/statements_roles.h"
#include "schedd/telemetry/log.h"

namespace muster {
namespace {

using pg::Account;
using pg::Child;
using pg::ServerBinaries;
using pg::ServerLayout;

// Recovery after a crash replays at most max_wal_size of the write-ahead log.
constexpr int kReadyWaitMs = 120'000;
constexpr int kStopMs = 10'000;  // Stop without an argument
constexpr int kBackoffMs = 50, kBackoffMaxMs = 5'000;
constexpr int kProvisionTries = 60, kProvisionAgainMs = 500;
constexpr off_t kLogBytes = 16 << 20;

// Settings for fast durable commits on a small private server. Durability is never traded: fsync,
// synchronous_commit and full_page_writes stay on.
constexpr const char* kSettings[] = {"listen_addresses=",
                                     "unix_socket_permissions=0700",
                                     "port=5432",
                                     "max_connections=100",
                                     "shared_buffers=64MB",
                                     "fsync=on",
                                     "synchronous_commit=on",
                                     "full_page_writes=on",
                                     "wal_compression=lz4",
                                     "default_toast_compression=lz4",
                                     "max_wal_size=2GB",
                                     "min_wal_size=256MB",
                                     "checkpoint_timeout=15min",
                                     "checkpoint_completion_target=0.9",
                                     "wal_buffers=16MB",
                                     "jit=off",
                                     "max_parallel_workers_per_gather=0",
                                     "autovacuum=on",
                                     "autovacuum_naptime=15s",
                                     "autovacuum_vacuum_scale_factor=0.05",
                                     "autovacuum_vacuum_insert_scale_factor=0.2",
                                     "cluster_name=muster",
                                     "log_timezone=UTC",
                                     "timezone=UTC"};

// Percent-encodes a path for a URL.
std::string Escaped(const std::string& path) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.') {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

// The socket directory is the host of the URL.
std::string UrlOf(const ServerLayout& layout, const std::string& role,
                  const std::string& database) {
  return "postgresql://" + role + "@/" + database + "?host=" + Escaped(layout.socket) +
         "&port=5432&connect_timeout=3";
}

// psql's exit status when it could not connect, or lost the connection (psql's manual page).
constexpr int kPsqlNotConnected = 2;

// Makes the roles and the database `muster` where they are missing. Only the server's account may
// be the superuser, so psql runs as that account. kUnavailable: the server did not answer.
Status ProvisionOnce(const ServerLayout& layout, const ServerBinaries& binaries,
                     const Account& account) {
  const Status written = pg::WriteServerFile(layout.script, pg::sql::kProvision, account);
  if (!written.ok()) return written;
  int exit_status = 0;
  const Result<std::string> done =
      pg::RunTool({binaries.dir + "/psql", "-X", "-q", "-t", "-d",
                   UrlOf(layout, "muster", "postgres"), "-f", layout.script},
                  account, &exit_status);
  if (done.ok()) return Done{};
  if (exit_status == kPsqlNotConnected) return Unavailable(done.error().detail);
  return done.error();
}

// A requested stop is no failure of the server, so it has a code of its own.
Error StartCancelled() {
  return {Code::kCancelled, "the start was given up before PostgreSQL was ready"};
}

// On a busy machine a server that reports ready may still be too slow to answer. It is this
// daemon's own server and it is alive, so it is asked again.
Status Provision(const ServerLayout& layout, const ServerBinaries& binaries, const Account& account,
                 int stop_fd) {
  Status made = ProvisionOnce(layout, binaries, account);
  for (int tries = 1;
       !made.ok() && made.error().code == Code::kUnavailable && tries < kProvisionTries; ++tries) {
    if (pg::WaitReadable({stop_fd}, kProvisionAgainMs) == stop_fd) return StartCancelled();
    made = ProvisionOnce(layout, binaries, account);
  }
  return made;
}

// Closes a file descriptor at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  const int fd_;
};

// Opens a file for the server in its directory, which belongs to its account: that account could
// put a link, a pipe or another name of somebody's file there. -1 for all but a plain file.
int OpenPlain(const std::string& path, int flags) {
  const int fd =
      open(path.c_str(), flags | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
  struct stat status {};
  if (fd < 0 || (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1)) {
    return fd;
  }
  close(fd);
  return -1;
}

// Opens the server's log for appending; a large one is renamed to `.1` first.
int OpenLog(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0 && status.st_size > kLogBytes) {
    rename(path.c_str(), (path + ".1").c_str());
  }
  return OpenPlain(path, O_WRONLY | O_APPEND);
}

}  // namespace

struct EmbeddedPostgres::Impl {
  Impl(ServerLayout server_layout, ServerBinaries server_binaries, Account server_account, int lock)
      : layout(std::move(server_layout)),
        binaries(std::move(server_binaries)),
        account(std::move(server_account)),
        lock_fd(lock),
        stop_fd(eventfd(0, EFD_CLOEXEC)),
        owner_url(UrlOf(layout, "muster_owner", "muster")),
        daemon_url(UrlOf(layout, "muster_daemon", "muster")) {}

  // The watching thread. Reports the outcome of the first start through `first_start`.
  void Watch(std::promise<Status> first_start);
  Status StartServer(Child* server);
  Status AwaitReady(const Child& server, int inotify_fd);
  void StopServer(Child* server);
  void Request(std::uint64_t stop) { (void)!write(stop_fd.get(), &stop, sizeof(stop)); }

  const ServerLayout layout;
  const ServerBinaries binaries;
  const Account account;
  const Descriptor lock_fd, stop_fd;
  const std::string owner_url, daemon_url;
  std::atomic<int> pid{0};
  std::atomic<int> stop_within_ms{kStopMs};
  std::atomic<std::int64_t> restarts{0};
  std::thread watcher;
  // Declared last, so that it no longer runs when the members above are destroyed.
  std::optional<std::stop_callback<std::function<void()>>> on_stop;
};

// The inotify watch is set before the server starts, so that no change of postmaster.pid is missed.
Status EmbeddedPostgres::Impl::StartServer(Child* server) {
  Status clean = pg::CleanLeftovers(layout);
  if (clean.ok()) clean = pg::WriteAccessFiles(layout, account);
  if (!clean.ok()) return clean;
  const Descriptor inotify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (inotify_add_watch(inotify.get(), layout.data.c_str(), IN_CLOSE_WRITE | IN_MODIFY) < 0) {
    return Error{Code::kFailedPrecondition,
                 std::string("cannot watch the database: ") + std::strerror(errno)};
  }
  const Descriptor log(OpenLog(layout.log));
  if (log.get() < 0) return Error{Code::kFailedPrecondition, "cannot write " + layout.log};
  std::vector<std::string> argv = {binaries.dir + "/postgres", "-D", layout.data};
  for (const char* setting : kSettings) argv.insert(argv.end(), {"-c", setting});
  argv.insert(argv.end(), {"-c", "unix_socket_directories=" + layout.socket, "-c",
                           "hba_file=" + layout.hba, "-c", "ident_file=" + layout.ident});
  Result<Child> child = pg::StartChild(argv, account, log.get());
  if (!child.ok()) return child.error();
  *server = std::move(child).value();
  Status ready = AwaitReady(*server, inotify.get());
  if (!ready.ok()) {
    StopServer(server);
    return ready;
  }
  pid = server->pid();
  return Done{};
}

Status EmbeddedPostgres::Impl::AwaitReady(const Child& server, int inotify_fd) {
  while (!pg::SaysReady(layout.data, server.pid())) {
    const int woken = pg::WaitReadable({stop_fd.get(), server.pidfd(), inotify_fd}, kReadyWaitMs);
    if (woken == stop_fd.get()) return StartCancelled();
    if (woken == server.pidfd()) {
      return Error{Code::kUnavailable, "the private PostgreSQL does not start; see " + layout.log};
    }
    if (woken < 0 && errno != EINTR) {
      return Error{Code::kUnavailable,
                   "the private PostgreSQL is not ready in time; see " + layout.log};
    }
    std::array<char, 4096> events{};
    (void)!read(inotify_fd, events.data(), events.size());
  }
  return Done{};
}

// SIGINT is PostgreSQL's fast shutdown, SIGQUIT its immediate one (PostgreSQL documentation,
// "Shutting Down the Server").
void EmbeddedPostgres::Impl::StopServer(Child* server) {
  pid = 0;
  if (server->pid() == 0) return;
  const int within = stop_within_ms;
  kill(server->pid(), SIGINT);
  if (pg::WaitReadable({server->pidfd()}, within / 5 * 4) < 0) {
    kill(server->pid(), SIGQUIT);
    if (pg::WaitReadable({server->pidfd()}, within / 5) < 0) kill(server->pid(), SIGKILL);
  }
  server->Reap();
  *server = Child();
}

// The first start reports its failure to the caller and is not repeated; later starts are repeated
// until they succeed or a stop is requested.
void EmbeddedPostgres::Impl::Watch(std::promise<Status> first_start) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);  // other threads of the daemon handle signals
  Child server;
  Status started = StartServer(&server);
  const bool up = started.ok();
  first_start.set_value(std::move(started));
  if (!up) return;
  int backoff_ms = kBackoffMs;
  for (;;) {
    const int woken = pg::WaitReadable({stop_fd.get(), server.pidfd()}, -1);
    if (woken == stop_fd.get()) break;
    if (woken < 0) continue;  // interrupted
    pid = 0;
    const int status = server.Reap();
    server = Child();
    Log(LogLevel::kError, "postgres", "server_died", {{"status", std::int64_t{status}}});
    for (bool again = true; again;) {
      const Status restarted = StartServer(&server);
      again = !restarted.ok();
      if (!again) break;
      Log(LogLevel::kError, "postgres", "server_start_failed", {{"err", restarted.error().detail}});
      if (pg::WaitReadable({stop_fd.get()}, backoff_ms) == stop_fd.get()) return;
      backoff_ms = std::min(backoff_ms * 2, kBackoffMaxMs);
    }
    backoff_ms = kBackoffMs;
    ++restarts;
    Log(LogLevel::kInfo, "postgres", "server_restarted", {{"pid", std::int64_t{server.pid()}}});
  }
  StopServer(&server);
}

// The order matters: the lock file comes before anything that could disturb another daemon's
// server, and the database cluster before the thread that starts the server on it.
Result<std::unique_ptr<EmbeddedPostgres>> EmbeddedPostgres::Start(const std::string& data_dir,
                                                                  std::stop_token stop) {
  Result<ServerLayout> layout = pg::LayoutFor(data_dir);
  if (!layout.ok()) return layout.error();
  Result<Account> account = pg::ServerAccount(layout->data);
  if (!account.ok()) return account.error();
  Status status = pg::MakeDirectories(data_dir, *layout, *account);
  if (!status.ok()) return status.error();
  const int lock = OpenPlain(layout->home + "/lock", O_RDWR);
  if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0) {
    if (lock >= 0) close(lock);
    return Error{Code::kFailedPrecondition, "another daemon uses the database in " + layout->home};
  }
  const std::vector<ServerBinaries> installed = pg::FindBinaries(*account);
  Result<ServerBinaries> binaries = pg::ChooseBinaries(installed, layout->data);
  if (!binaries.ok()) {
    close(lock);
    return binaries.error();
  }
  auto impl = std::make_unique<Impl>(*layout, *binaries, *account, lock);
  status = pg::MakeCluster(*binaries, *layout, *account);
  if (!status.ok()) return status.error();
  if (stop.stop_requested()) return StartCancelled();
  std::promise<Status> first_start;
  std::future<Status> started = first_start.get_future();
  Impl* watched = impl.get();
  impl->on_stop.emplace(std::move(stop), [watched] { watched->Request(1); });
  impl->watcher = std::thread([watched, promise = std::move(first_start)]() mutable {
    watched->Watch(std::move(promise));
  });
  status = started.get();
  std::unique_ptr<EmbeddedPostgres> server(new EmbeddedPostgres(std::move(impl)));
  if (status.ok()) status = Provision(*layout, *binaries, *account, watched->stop_fd.get());
  if (!status.ok()) return status.error();
  return server;
}

EmbeddedPostgres::EmbeddedPostgres(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

EmbeddedPostgres::~EmbeddedPostgres() { Stop(); }

Result<std::string> EmbeddedPostgres::OwnerUrlBelow(const std::string& data_dir) {
  const Result<ServerLayout> layout = pg::LayoutFor(data_dir);
  if (!layout.ok()) return layout.error();
  return UrlOf(*layout, "muster_owner", "muster");
}

const std::string& EmbeddedPostgres::owner_url() const { return impl_->owner_url; }
const std::string& EmbeddedPostgres::daemon_url() const { return impl_->daemon_url; }
const std::string& EmbeddedPostgres::home() const { return impl_->layout.home; }

// A second call finds no thread to join.
void EmbeddedPostgres::Stop(std::chrono::milliseconds within) {
  if (!impl_->watcher.joinable()) return;
  impl_->stop_within_ms = static_cast<int>(within.count());
  impl_->Request(1);
  impl_->watcher.join();
}

int EmbeddedPostgres::pid() const { return impl_->pid; }

std::int64_t EmbeddedPostgres::restarts() const { return impl_->restarts; }

}  // namespace muster
