#include "schedd/core/plan/preemption_reserve.h"

#include <algorithm>

#include "schedd/base/quantity.h"

namespace muster::core {

Charges ResourcesToReserve(const Usage& usage, NodeIndex queue, const Assignment& assignment) {
  Charges reserved = assignment.usage;
  if (assignment.Mode() != FlavorMode::kPreempt) return reserved;
  for (Charge& charge : reserved) {
    const Quota& quota = usage.tree().node(queue).quotas[static_cast<std::size_t>(charge.pair)];
    const std::int64_t nominal_left = SaturatingSub(quota.nominal, usage.At(queue, charge.pair));
    if (assignment.borrowing_level == 0) {
      charge.amount = std::max<std::int64_t>(0, std::min(charge.amount, nominal_left));
    } else if (quota.borrowing_limit) {
      charge.amount = std::min(charge.amount, SaturatingAdd(nominal_left, *quota.borrowing_limit));
    }
  }
  return reserved;
}

}  // namespace muster::core
