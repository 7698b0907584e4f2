// Which accounts local members have is told to the backend here; it checks them (host_accounts.h).
#include "schedd/daemon/local_members.h"

#include <unistd.h>

#include <cstdlib>

#include "backends/launcher/launcher_backend.h"
#include "backends/local/local_backend.h"
#include "schedd/daemon/data_directory.h"

namespace muster {
namespace {

// Names of members, for a sentence.
std::string Listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

std::vector<std::string> NamesOf(const std::vector<DeclaredCluster>& clusters) {
  std::vector<std::string> names;
  for (const DeclaredCluster& cluster : clusters) names.push_back(cluster.name);
  return names;
}

}  // namespace

Result<std::unique_ptr<Backend>> MakeLocalMembers(const DaemonConfig& config, const Clock& clock,
                                                  TimerService& timers, Random& random) {
  if (!config.launcher.empty())
    return MakeLauncherBackend({config.launcher, NamesOf(config.local_clusters)});
  LocalOptions options;
  options.state_dir = config.data_dir + "/members";
  options.supervisor_path = InstalledSupervisor();
  for (const DeclaredCluster& cluster : config.local_clusters) {
    options.clusters.push_back({cluster.name, cluster.allocatable, cluster.labels,
                                cluster.job_account, cluster.root_jobs});
  }
  options.reserved_users = UsersOfDatabase(config.data_dir);
  options.clock = &clock;
  options.timers = &timers;
  options.random = &random;
  if (const char* path = std::getenv("PATH")) options.search_path = path;
  if (const char* home = std::getenv("HOME")) options.home = home;
  return MakeLocalBackend(std::move(options));
}

// The launcher is root, whatever this daemon is, and asks for the word.
bool RunsJobsOfRoot(const DaemonConfig& config, const DeclaredCluster& cluster) {
  if (!config.launcher.empty()) return cluster.root_jobs.value_or(false);
  return geteuid() == 0 && cluster.root_jobs.value_or(true);
}

std::optional<api::ServerWarning> WarningOfRootJobs(const DaemonConfig& config) {
  std::vector<std::string> members;
  for (const DeclaredCluster& cluster : config.local_clusters) {
    if (RunsJobsOfRoot(config, cluster)) members.push_back(cluster.name);
  }
  if (members.empty()) return std::nullopt;
  return api::ServerWarning{
      "JobsRunAsRoot",
      "jobs that root submits by a local socket run as root on the local member clusters " +
          Listed(members) + "; root-jobs=never of --local-cluster ends that"};
}

std::optional<api::ServerWarning> WarningOfRootDaemon(const DaemonConfig& config) {
  if (geteuid() != 0 || !config.launcher.empty() || config.local_clusters.empty())
    return std::nullopt;
  return api::ServerWarning{
      "DaemonRunsAsRoot",
      "musterd runs as root for the local member clusters " +
          Listed(NamesOf(config.local_clusters)) +
          "; muster-launcher can do for them what needs root, and musterd then runs as an account "
          "of its own (key launcher)"};
}

}  // namespace muster
