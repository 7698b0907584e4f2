// The member clusters that are made of this host's processes, from the configuration.
#pragma once

#include <memory>
#include <optional>

#include "api/rest/rest_server.h"
#include "backends/backend.h"
#include "schedd/base/clock.h"
#include "schedd/base/random.h"
#include "schedd/daemon/config.h"

namespace muster {

/// The backend of all --local-cluster members: muster-launcher's if the configuration names its
/// socket, else one in this process. The references must outlive it. Errors: as MakeLocalBackend's.
Result<std::unique_ptr<Backend>> MakeLocalMembers(const DaemonConfig& config, const Clock& clock,
                                                  TimerService& timers, Random& random);

/// Whether a local member runs root's jobs as root (rules U62 and U65).
bool RunsJobsOfRoot(const DaemonConfig& config, const DeclaredCluster& cluster);

/// JobsRunAsRoot: a local member runs root's jobs as root. Nullopt if none does.
std::optional<api::ServerWarning> WarningOfRootJobs(const DaemonConfig& config);

/// DaemonRunsAsRoot: the daemon runs as root for its local members, which muster-launcher could
/// serve. Nullopt if it does not.
std::optional<api::ServerWarning> WarningOfRootDaemon(const DaemonConfig& config);

}  // namespace muster
