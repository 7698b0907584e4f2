#include "schedd/core/flavor_assigner.h"

#include "schedd/core/flavor_plan.h"

namespace muster::core {

Assignment AssignFlavors(const ConfigView& config, const Usage& usage, const ClusterQueue& queue,
                         const PodSets& pod_sets, bool want_verdicts) {
  Assignment assignment;
  FlavorPlan plan(config, usage.tree(), queue, pod_sets);
  if (plan.queue() < 0) {
    assignment.reason = Reason::kMisconfigured;
    assignment.message = "ClusterQueue " + queue.name + " doesn't exist";
    return assignment;
  }
  const FlavorChoice* choice = plan.Choose(usage, &assignment.borrowing_level);
  if (choice != nullptr) {
    assignment.fits = true;
    assignment.admission = choice->admission;
    if (want_verdicts) assignment.verdicts = plan.Diagnose(usage, true).verdicts;
    return assignment;
  }
  assignment.borrowing_level = 0;
  Misfit misfit = plan.Diagnose(usage, want_verdicts);
  assignment.reason = misfit.reason;
  assignment.message = std::move(misfit.message);
  assignment.verdicts = std::move(misfit.verdicts);
  return assignment;
}

}  // namespace muster::core
