// The quotas of a ClusterQueue object and how much of them is used, for tables. Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/text/json.h"

namespace muster::cli {

/// The quota of one flavor for one resource, as quantity texts; "0" where the status has no amount.
struct QueueQuota {
  std::string flavor, resource, nominal, used, borrowed;
};

/// In the order of the spec.
std::vector<QueueQuota> QuotasOf(const json::value& queue);

/// One figure of all quotas, such as "standard:cpu=16,memory=64Gi;spot:cpu=4". Quotas whose figure
/// is "0" are left out unless `zeros`.
std::string QuotaTexts(const json::value& queue, std::string QueueQuota::*member, bool zeros);

}  // namespace muster::cli
