// The reserve of rule A24, step e of processing an entry: without it, smaller workloads that come
// later in the round would take the room for which this one waits, in every cycle anew.
//
// With nominal quota left, the queue has a claim on min(request, nominal - usage); a queue that
// borrows has one up to its borrowing limit, or on all of the request without a limit.
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
