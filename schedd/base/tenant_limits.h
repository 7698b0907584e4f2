// TenantLimits: what one tenant may take of the daemon (rules U74, U75): the section `limits:` of
// the configuration file, with defaults from limits.h. A plain value. 0 stands for "no limit".
#pragma once

#include <cstddef>

#include "schedd/base/limits.h"

namespace muster {

struct TenantLimits {
  std::size_t pending_jobs_per_user = limits::kPendingJobsPerUser;
  std::size_t pending_jobs_per_namespace = limits::kPendingJobsPerNamespace;
  double requests_per_second_per_user = limits::kRequestsPerS;
  double burst = limits::kRequestBurst;
  std::size_t streams_per_user = limits::kStreamsPerUser;
  /// 0: one part in limits::kPeerShare of all connections.
  std::size_t connections_per_peer = 0;
};

}  // namespace muster
