// musterd: parse, start, wait for a signal, stop.
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>

#include <cstdio>
#include <cstdlib>

#include "schedd/daemon/config.h"
#include "schedd/daemon/wiring.h"
#include "schedd/telemetry/log.h"

namespace {

// Signals are taken by sigwait on the main thread; every other thread inherits the blocked mask.
sigset_t BlockSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);  // a client that goes away is an error return, not our end
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

}  // namespace

int main(int argc, char** argv) {
  mallopt(M_ARENA_MAX, 2);  // few threads allocate; more arenas only keep freed memory
  auto parsed = muster::ParseCommandLine(
      argc, argv, [](const char* name) -> const char* { return std::getenv(name); });
  if (!parsed.ok()) {
    std::fprintf(stderr, "musterd: %s\n", parsed.error().detail.c_str());
    return 2;
  }
  if (parsed->print_and_exit) {
    std::fputs(parsed->print_and_exit->c_str(), stdout);
    return 0;
  }
  RaiseDescriptorLimit();
  const sigset_t signals = BlockSignals();
  muster::InitLog(LevelOf(parsed->config.log_level), parsed->config.log_file);
  muster::Daemon daemon(parsed->config);
  const auto started = daemon.Start();
  if (!started.ok()) {
    std::fprintf(stderr, "musterd: %s\n", started.error().detail.c_str());
    muster::Log(muster::LogLevel::kError, "daemon", "start_failed",
                {{"err", std::string_view(started.error().detail)}});
    muster::FlushLog();
    return 1;
  }
  sd_notify(0, "READY=1");
  int received = 0;
  do {
    sigwait(&signals, &received);
  } while (received == SIGHUP);  // a closed terminal is no reason to stop
  sd_notify(0, "STOPPING=1");
  daemon.Stop();
  muster::FlushLog();
  return 0;
}
