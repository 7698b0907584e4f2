// The quotas of a ClusterQueue object with their use, for tables. Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/text/json.h"

namespace muster::cli {

/// One flavor's amount of one resource, as quantity texts; "0" where the status tells none.
struct QueueQuota {
  std::string flavor, resource, nominal, used, borrowed;
};

/// In the order of the spec.
std::vector<QueueQuota> QuotasOf(const json::value& queue);

/// "standard:cpu=16,memory=64Gi;spot:cpu=4" of one member; quotas of which it is "0" are left out
/// unless `zeros`.
std::string QuotaTexts(const json::value& queue, std::string QueueQuota::*member, bool zeros);

}  // namespace muster::cli
