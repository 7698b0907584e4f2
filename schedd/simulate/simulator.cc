#include "schedd/simulate/simulator.h"

#include "schedd/base/check.h"
#include "schedd/simulate/playback.h"

namespace muster::simulate {

std::string_view DecisionName(DecisionKind kind) {
  switch (kind) {
    case DecisionKind::kAdmitted:
      return "Admitted";
    case DecisionKind::kReserved:
      return "Reserved";
    case DecisionKind::kEvicted:
      return "Evicted";
    case DecisionKind::kRequeued:
      return "Requeued";
    case DecisionKind::kFinished:
      return "Finished";
    case DecisionKind::kTimedOut:
      return "TimedOut";
    case DecisionKind::kDeactivated:
      return "Deactivated";
  }
  return "";
}

RunOutcome Run(const Scenario& scenario, const RunOptions& options, const DecisionSink& sink) {
  MUSTER_CHECK(scenario.config != nullptr && scenario.settings != nullptr);
  return Playback(scenario, options, sink).Play();
}

}  // namespace muster::simulate
