// Licences: resources `license/NAME` in the quotas of ClusterQueues.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clients/lib/api_client.h"

namespace muster::slurm {

struct LicenseInfo {
  std::string name;
  std::int64_t total = 0, used = 0;
};

/// By name, those of the largest pool: a cohort's ClusterQueues together, or one ClusterQueue. None
/// if the caller may not read them.
client::Outcome<std::vector<LicenseInfo>> FetchLicenses(client::ApiClient& api);

/// The records of `scontrol show licenses`.
std::string ShowLicenses(const std::vector<LicenseInfo>& licenses, bool one_line);

}  // namespace muster::slurm
