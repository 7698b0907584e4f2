// FlavorPlan: runs the compiled flavor search (rule A27), in two depths.
//
// Choose walks the steps without a trace. It decides the two common cases, "fits now" and "cannot
// fit", by integer arithmetic. If only an oracle or a placement on machines could tell, it says
// kNeedsSearch and the cycle calls Assign.
//
// Assign walks with a trace and an oracle and writes a report of it. In a long queue most workloads
// of a class fail in the same way, so the last report is kept with its trace and returned again
// while the trace stays the same. It is not shared where the report depends on more than the trace:
// topology, counts of partial admission, slices, verdicts for explain, second passes.
#include "schedd/core/flavor/flavor_plan.h"

#include <algorithm>

#include "schedd/base/quantity.h"
#include "schedd/core/flavor/flavor_compile.h"
#include "schedd/core/flavor/flavor_report.h"
#include "schedd/core/flavor/flavor_topology.h"
#include "schedd/core/flavor/flavor_walk.h"

namespace muster::core {

// Whether the queue may evict at all, and whether while it borrows (rule A29), follows from its
// policies alone.
FlavorPlan::FlavorPlan(const ConfigView& config, const AdmissionSettings& settings,
                       const QuotaTree& tree, const ClusterQueue& queue, const JobRecord& job,
                       TopologyPlacer* topology)
    : config_(config),
      settings_(settings),
      spec_(queue),
      topology_(topology),
      queue_(tree.ClusterQueueIndex(queue.name)),
      demand_(DemandOf(job, settings)) {
  const QueueTopology machines(config, settings, queue, topology);
  needs_topology_ = std::any_of(demand_.begin(), demand_.end(), [&](const PodSetDemand& demand) {
    return machines.Concerns(*demand.pod_set);
  });
  const QueuePreemption& preemption = queue.preemption;
  const bool reclaims = preemption.reclaim_within_cohort != PreemptionPolicy::kNever;
  const bool in_cohort = queue_ >= 0 && tree.node(queue_).parent >= 0;
  may_evict_ =
      preemption.within_cluster_queue != PreemptionPolicy::kNever || (reclaims && in_cohort);
  evicts_while_borrowing_ = preemption.borrow_within_cohort != PreemptionPolicy::kNever ||
                            (settings.fair_sharing && reclaims);
  batches_ = CompileBatches(config, settings, tree, queue, job, demand_, machines);
}

QuickVerdict FlavorPlan::Choose(const Usage& usage, const ScanPosition* resume) {
  if (queue_ < 0) return {};
  AssignRequest request;
  request.resume = resume;
  FlavorWalk walk(*this, usage, request, nullptr, nullptr);
  QuickVerdict verdict;
  verdict.kind = walk.Run(&options_, &assumed_, &verdict.level);
  const bool served =
      verdict.kind == QuickVerdict::Kind::kFits || verdict.kind == QuickVerdict::Kind::kNoVictims;
  if (served && needs_topology_) {
    verdict.kind = QuickVerdict::Kind::kNeedsSearch;
  } else if (served) {
    verdict.choice = LastChoice();
    return verdict;
  }
  verdict.level = 0;
  return verdict;
}

// A class knows few choices (one per combination of flavors), so a list suffices.
const FlavorChoice* FlavorPlan::LastChoice() {
  for (const auto& choice : choices_) {
    if (choice->options == options_) return choice.get();
  }
  auto admission = std::make_shared<Admission>();
  admission->cluster_queue = spec_.name;
  for (const auto& demand : demand_) {
    PodSetAssignment& pod_set = admission->pod_sets.emplace_back();
    pod_set.name = demand.pod_set->name;
    pod_set.count = demand.count;
  }
  auto at = options_.begin();
  for (const FlavorBatch& batch : batches_) {
    for (const FlavorStep& step : batch.steps) {
      const std::int16_t option = *at++;
      for (const FlavorNeed& need : step.needs) {
        if (option < 0 || !need.decides) continue;
        for (const auto& part : need.parts) {
          PodSetAssignment& pod_set = admission->pod_sets[part.pod_set];
          pod_set.flavors[need.resource] = step.options[static_cast<std::size_t>(option)].flavor;
          SetAmount(&pod_set.usage, need.resource,
                    SaturatingMul(part.per_pod, demand_[part.pod_set].count));
        }
      }
    }
  }
  auto choice = std::make_unique<FlavorChoice>();
  choice->options = options_;
  choice->admission = std::move(admission);
  choice->charges = assumed_;
  std::sort(choice->charges.begin(), choice->charges.end(),
            [](const Charge& a, const Charge& b) { return a.pair < b.pair; });
  choices_.push_back(std::move(choice));
  return choices_.back().get();
}

AssignmentPtr FlavorPlan::Assign(const Usage& usage, const JobRecord& job,
                                 const AssignRequest& request) {
  trace_.clear();
  FlavorWalk walk(*this, usage, request, &job, &trace_);
  std::int32_t level = 0;
  walk.Run(&options_, &assumed_, &level);
  // True if the report follows from the trace alone.
  const bool shared = !needs_topology_ && request.counts.empty() && request.replaced == nullptr &&
                      request.verdicts == nullptr && job.admission == nullptr;
  if (shared && last_said_ != nullptr && trace_ == last_trace_) return last_said_;
  FlavorReport report(*this, usage, request, walk);
  auto assignment = std::make_shared<Assignment>(report.Write(trace_, assumed_));
  if (needs_topology_ && assignment->Mode() != FlavorMode::kNoFit) {
    QueueTopology(config_, settings_, spec_, topology_)
        .Place(job, demand_, request, assignment.get());
  }
  FlavorReport::ResolveNoFit(spec_, assignment.get());
  if (shared) {
    assignment->message = assignment->Message();
    std::swap(last_trace_, trace_);
    last_said_ = assignment;
  }
  return assignment;
}

}  // namespace muster::core
