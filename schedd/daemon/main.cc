// musterd: reads the configuration, starts the daemon, waits for a signal, stops; or carries out
// one of the commands of admin.h. SIGTERM and
// SIGINT stop it; SIGHUP is ignored. A stop signal during the start gives the start up. systemd
// gives a process ten seconds to stop, so both ways out have a limit after which the process leaves
// with _exit: nothing durable depends on an orderly end.
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <thread>

#include "schedd/credentials/private_memory.h"
#include "schedd/daemon/admin.h"
#include "schedd/daemon/command_line_secrets.h"
#include "schedd/daemon/config.h"
#include "schedd/daemon/wiring.h"
#include "schedd/store/pg/diagnosis.h"
#include "schedd/store/pg/url.h"
#include "schedd/telemetry/log.h"

// jemalloc reads this variable when it starts. A background thread returns the memory that a
// recovery needed to the system, although the threads that freed it are idle by then.
extern "C" const char* malloc_conf;
const char* malloc_conf = "background_thread:true,dirty_decay_ms:2000,muzzy_decay_ms:2000";

namespace {

// How long giving up a start may take, of the ten seconds after SIGTERM.
constexpr std::chrono::milliseconds kCancelWithin{9000};
// How long a stop may take, likewise.
constexpr std::chrono::milliseconds kStopWithin{9500};

// Signals are taken by sigwait on the main thread; every other thread inherits the blocked mask.
sigset_t BlockSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGHUP);
  // The starter thread sends it to the main thread when the start has ended.
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  // Writing to a client that has gone is an error return, not a signal.
  signal(SIGPIPE, SIG_IGN);
  return set;
}

// Each connection takes two descriptors; the soft limit of a shell is often 1,024.
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

muster::LogLevel LevelOf(const std::string& name) {
  if (name == "debug") return muster::LogLevel::kDebug;
  if (name == "warning") return muster::LogLevel::kWarning;
  if (name == "error") return muster::LogLevel::kError;
  return muster::LogLevel::kInfo;
}

bool IsStop(int signal) { return signal == SIGTERM || signal == SIGINT; }

int NextSignal(const sigset_t& signals) {
  int received = 0;
  sigwait(&signals, &received);
  return received;
}

// Why no start is possible; of a database that cannot be reached also what libpq says.
std::string WithReason(const muster::Error& error, const muster::DaemonConfig& config) {
  std::string text = error.detail;
  if (error.code != muster::Code::kUnavailable) return text;
  for (const std::string& url : {config.postgres_url, config.postgres_owner_url}) {
    const std::string why = url.empty() ? "" : muster::pg::WhyNotReached(url);
    if (!why.empty()) text += ": " + why;
  }
  return text;
}

enum class StartOutcome { kReady, kFailed, kStopped };

// A start can take long (a database that recovers, another daemon that migrates, a million jobs to
// read). So it has a thread of its own, and the main thread waits for signals meanwhile. The
// starter keeps a promise when it has ended and wakes the main thread with SIGUSR1.
StartOutcome StartUnlessStopped(muster::Daemon& daemon, const muster::DaemonConfig& config,
                                const sigset_t& signals) {
  std::promise<muster::Status> outcome;
  std::future<muster::Status> ended = outcome.get_future();
  const pthread_t main_thread = pthread_self();
  std::thread starter([&] {
    outcome.set_value(daemon.Start());
    pthread_kill(main_thread, SIGUSR1);
  });
  bool stopped = false;
  while (!stopped && ended.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    stopped = IsStop(NextSignal(signals));
  }
  if (stopped) {
    daemon.CancelStart();
    if (ended.wait_for(kCancelWithin) != std::future_status::ready) {
      // Nothing was acknowledged, and the private PostgreSQL ends with this process: leaving is
      // safe.
      muster::Log(muster::LogLevel::kError, "daemon", "start_stuck", {});
      muster::FlushLog();
      _exit(1);
    }
  }
  starter.join();
  const muster::Status status = ended.get();
  if (stopped) {
    muster::Log(muster::LogLevel::kInfo, "daemon", "start_given_up", {});
    return StartOutcome::kStopped;
  }
  if (status.ok()) return StartOutcome::kReady;
  const std::string why = WithReason(status.error(), config);
  std::fprintf(stderr, "musterd: %s\n", why.c_str());
  muster::Log(muster::LogLevel::kError, "daemon", "start_failed", {{"err", std::string_view(why)}});
  muster::FlushLog();
  return StartOutcome::kFailed;
}

// Every wait inside Stop ends well before the limit. If one does not, leaving is safe: what was
// acknowledged is durable, and pods outlive the daemon anyway.
void StopInTime(muster::Daemon& daemon) {
  std::promise<void> outcome;
  const std::future<void> ended = outcome.get_future();
  std::thread stopper([&] {
    daemon.Stop();
    outcome.set_value();
  });
  if (ended.wait_for(kStopWithin) != std::future_status::ready) {
    muster::Log(muster::LogLevel::kError, "daemon", "stop_stuck", {});
    muster::FlushLog();
    _exit(1);
  }
  stopper.join();
}

}  // namespace

int main(int argc, char** argv) {
  muster::KeepMemoryPrivate();
  // Few threads allocate; more arenas would only keep freed memory.
  mallopt(M_ARENA_MAX, 2);
  const auto environment = [](const char* name) -> const char* { return std::getenv(name); };
  if (const auto status = muster::RunAdminCommand(argc, argv, environment)) return *status;
  auto parsed = muster::ParseCommandLine(argc, argv, environment);
  if (!parsed.ok()) {
    std::fprintf(stderr, "musterd: %s\n", parsed.error().detail.c_str());
    return 2;
  }
  if (parsed->print_and_exit) {
    std::fputs(parsed->print_and_exit->c_str(), stdout);
    return 0;
  }
  parsed->config.password_on_command_line =
      muster::HideDatabasePasswords(argc, argv, muster::pg::MayHavePassword);
  RaiseDescriptorLimit();
  const sigset_t signals = BlockSignals();
  const muster::Status logs =
      muster::InitLog(LevelOf(parsed->config.log_level), parsed->config.log_file);
  if (!logs.ok()) {
    std::fprintf(stderr, "musterd: %s\n", logs.error().detail.c_str());
    return 1;
  }
  muster::Daemon daemon(parsed->config);
  const StartOutcome started = StartUnlessStopped(daemon, parsed->config, signals);
  if (started == StartOutcome::kFailed) return 1;
  if (started == StartOutcome::kReady) {
    sd_notify(0, "READY=1");
    // SIGHUP (a closed terminal) is no reason to stop.
    while (!IsStop(NextSignal(signals))) {
    }
  }
  sd_notify(0, "STOPPING=1");
  StopInTime(daemon);
  muster::FlushLog();
  return daemon.failed() ? 1 : 0;
}
