#include "api/service/explain_gate.h"

#include "schedd/core/preempt/eviction_pace.h"
#include "schedd/lifecycle/batch_gates.h"
#include "schedd/lifecycle/dependency_text.h"

namespace muster::api {
namespace {

// What would open a gate that is closed for this reason.
std::string HelpFor(Reason reason, const JobRecord& job) {
  switch (reason) {
    case Reason::kDependency:
      return "what it depends on: " + DependencyText(BatchStateOf(job));
    case Reason::kDependencyNeverSatisfied:
      return "another dependency, or none (scontrol update): " + DependencyText(BatchStateOf(job));
    case Reason::kBeginTime:
      return "the time at which it may begin: " + FormatRfc3339(*core::HeldBackUntil(job));
    case Reason::kArrayTaskLimit:
      return "the end of a task of the array, or a higher limit (scontrol update "
             "arraytaskthrottle=N)";
    case Reason::kPartitionDown:
    case Reason::kPartitionInactive:
      return "another partition, or this one being up";
    default:
      return "another partition, or a job within the limits of this one";
  }
}

}  // namespace

std::optional<core::ExplainGate> ExplainGateOf(const JobRecord& job) {
  changes::GateReason gate = changes::BatchGate(job);
  // The wait after a requeue is a back-off, which the core explains.
  if (gate.reason == Reason::kNone && core::WaitsForBegin(job)) gate = changes::BeginReason(job);
  // The array itself is no job of the queue: the limit is what the engine has written there.
  if (gate.reason == Reason::kNone && job.reason == Reason::kArrayTaskLimit)
    gate = {job.reason, job.message};
  if (gate.reason == Reason::kNone) return std::nullopt;
  return core::ExplainGate{gate.reason, gate.message, HelpFor(gate.reason, job)};
}

}  // namespace muster::api
