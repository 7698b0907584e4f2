// muster-launcher: the part of a local installation that must be root. It hosts the local backend
// and serves it to the musterd of one account (backends/launcher). SIGTERM and SIGINT stop it; pods
// run on.
#include <signal.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "backends/launcher/launcher_server.h"
#include "backends/local/host_accounts.h"
#include "backends/local/local_backend.h"
#include "schedd/base/steady_clock.h"
#include "schedd/daemon/real_clock.h"
#include "schedd/launcher/launcher_config.h"
#include "schedd/launcher/trusted_path.h"
#include "schedd/telemetry/log.h"

namespace {

using muster::Code;
using muster::Error;
using muster::Status;

// Every place that root's work depends on, before any of them is used.
Status CheckPlaces(const muster::LauncherConfig& config) {
  if (!config.file.empty()) {
    const std::filesystem::path file = std::filesystem::absolute(config.file);
    if (Status sound = muster::CheckTrusted(file.string()); !sound.ok()) return sound;
  }
  const std::string sockets = std::filesystem::path(config.socket).parent_path().string();
  if (Status sound = muster::MakeTrustedDirectory(sockets); !sound.ok()) return sound;
  return muster::MakeTrustedDirectory(config.state_dir);
}

Status Run(const muster::LauncherConfig& config, const sigset_t& signals) {
  if (::geteuid() != 0)
    return Error{Code::kFailedPrecondition,
                 "must run as root; a musterd that serves one user's jobs needs no launcher"};
  const auto named = muster::local::UserNamed(config.daemon_user);
  if (!named.ok()) return named.error();
  const std::optional<std::int64_t> daemon = *named;
  if (!daemon || *daemon == 0)
    return muster::InvalidField("--daemon-user",
                                config.daemon_user + " is no account of this host other than root");
  if (Status sound = CheckPlaces(config); !sound.ok()) return sound;
  const muster::RealClock host_clock;
  const muster::SteadyClock clock(host_clock);
  muster::RealTimers timers(clock);
  muster::RealRandom random;
  muster::LocalOptions options;
  muster::LauncherServerOptions served;
  options.state_dir = config.state_dir;
  options.supervisor_path = muster::InstalledSupervisor();
  for (const muster::DeclaredCluster& cluster : config.clusters) {
    // Root's jobs are asked for, because the daemon alone says which job is root's.
    const bool root_jobs = cluster.root_jobs.value_or(false);
    options.clusters.push_back(
        {cluster.name, cluster.allocatable, cluster.labels, cluster.job_account, root_jobs});
    if (root_jobs) served.root_clusters.insert(cluster.name);
  }
  options.reserved_users = {*daemon};
  options.clock = &clock;
  options.timers = &timers;
  options.random = &random;
  if (const char* path = std::getenv("PATH")) options.search_path = path;
  auto backend = muster::MakeLocalBackend(std::move(options));
  if (!backend.ok()) return backend.error();
  served.socket = config.socket;
  served.daemon = static_cast<uid_t>(*daemon);
  served.clock = &clock;
  muster::LauncherServer server(**backend, std::move(served));
  if (Status started = server.Start(); !started.ok()) return started;
  muster::Log(muster::LogLevel::kInfo, "launcher", "ready",
              {{"socket", config.socket}, {"daemon_uid", *daemon}});
  sd_notify(0, "READY=1");
  int received = 0;
  while (received != SIGTERM && received != SIGINT) sigwait(&signals, &received);
  sd_notify(0, "STOPPING=1");
  server.Stop();
  return muster::Done{};
}

}  // namespace

int main(int argc, char** argv) {
  const auto parsed = muster::ParseLauncherLine(argc, argv);
  if (!parsed.ok()) {
    std::fprintf(stderr, "muster-launcher: %s\n", parsed.error().detail.c_str());
    return 2;
  }
  if (parsed->print_and_exit) {
    std::fputs(parsed->print_and_exit->c_str(), stdout);
    return 0;
  }
  // Taken by sigwait; every other thread inherits the mask.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int one : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, one);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  Status ended = muster::InitLog(muster::LogLevel::kInfo, "");
  if (ended.ok()) ended = Run(parsed->config, signals);
  if (!ended.ok()) std::fprintf(stderr, "muster-launcher: %s\n", ended.error().detail.c_str());
  muster::FlushLog();
  return ended.ok() ? 0 : 1;
}
