// The flavor search on random worlds: the verdict without sentences and the whole answer agree, and
// what fits really does.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schedd/core/flavor/flavor_plan.h"
#include "tests/property/core/random_world.h"

namespace muster::core::testing {
namespace {

struct Search {
  ConfigView config;
  AdmissionSettings settings;
  Usage usage;
  std::vector<JobPtr> jobs;
};

FungibilityPolicy RandomPolicy(Dice* dice) {
  return dice->Chance(50) ? FungibilityPolicy::kMayStopSearch : FungibilityPolicy::kTryNextFlavor;
}

// Puts gpu into a group of its own, with the flavors in reverse order.
void SplitGroups(ClusterQueue* queue) {
  ResourceGroup cpu = queue->resource_groups[0];
  ResourceGroup gpu = cpu;
  const auto keep = [](ResourceGroup* group, const std::string& resource) {
    group->covered_resources = {resource};
    for (auto& flavor : group->flavors) {
      std::erase_if(flavor.resources, [&](const auto& quota) { return quota.first != resource; });
    }
  };
  keep(&cpu, "cpu");
  keep(&gpu, "gpu");
  std::reverse(gpu.flavors.begin(), gpu.flavors.end());
  queue->resource_groups = {cpu, gpu};
}

void RandomizeQueue(Dice* dice, ClusterQueue* queue) {
  queue->when_can_borrow = RandomPolicy(dice);
  queue->when_can_preempt = RandomPolicy(dice);
  if (dice->Chance(40)) queue->preference = FungibilityPreference::kPreemptionOverBorrowing;
  if (dice->Chance(50)) queue->preemption.within_cluster_queue = PreemptionPolicy::kAny;
  if (dice->Chance(50)) queue->preemption.reclaim_within_cohort = PreemptionPolicy::kAny;
  if (dice->Chance(30)) queue->preemption.borrow_within_cohort = PreemptionPolicy::kLowerPriority;
  if (dice->Chance(30)) SplitGroups(queue);
}

// Pod sets of one topology group here and there: they are decided together.
JobPtr Grouped(Dice* dice, const JobPtr& job) {
  auto pod_sets = std::make_shared<PodSets>(*job->pod_sets);
  for (PodSet& pod_set : *pod_sets) {
    if (!dice->Chance(40)) continue;
    TopologyRequest request;
    request.pod_set_group = "g";
    pod_set.topology = std::make_shared<const TopologyRequest>(request);
  }
  auto grouped = std::make_shared<JobRecord>(*job);
  grouped->pod_sets = pod_sets;
  return grouped;
}

Search RandomSearch(std::uint64_t seed) {
  Dice dice(seed);
  Shape shape;
  shape.queues = static_cast<int>(dice.Roll(1, 6));
  shape.cohorts = static_cast<int>(dice.Roll(0, 5));
  shape.jobs = 12;
  Search search;
  search.config = RandomConfig(&dice, shape);
  for (auto& [name, queue] : search.config.cluster_queues) RandomizeQueue(&dice, &queue);
  search.settings.flavor_fungibility = dice.Chance(85);
  search.settings.ignore_undeclared = dice.Chance(20);
  if (dice.Chance(30)) {
    search.settings.fair_sharing = {{FairStrategy::kLessThanOrEqualToFinalShare}};
  }
  for (const JobPtr& job : RandomJobs(&dice, shape, search.config)) {
    search.jobs.push_back(Grouped(&dice, job));
  }
  search.usage = Usage(QuotaTree::Build(search.config));
  const auto pairs = static_cast<std::int64_t>(search.usage.tree().flavor_resource_count());
  for (const auto& [name, queue] : search.config.cluster_queues) {
    for (FlavorResourceIndex pair = 0; pair < pairs; ++pair) {
      if (!dice.Chance(60)) continue;
      search.usage.Add(search.usage.tree().ClusterQueueIndex(name), pair, dice.Roll(0, 12));
    }
  }
  return search;
}

// Any answer, but always the same to the same question.
class AnyOracle final : public PreemptionOracle {
 public:
  explicit AnyOracle(std::uint64_t seed) : seed_(seed) {}
  PreemptionOutlook Simulate(const Preemptor&, FlavorResourceIndex pair,
                             std::int64_t amount) override {
    Dice dice(seed_ + static_cast<std::uint64_t>(pair * 1000 + amount));
    return {static_cast<PreemptionOutlook::Possibility>(dice.Roll(0, 2)),
            static_cast<std::int32_t>(dice.Roll(0, 2))};
  }

 private:
  const std::uint64_t seed_;
};

// Whether a search for victims could ever find one for this queue.
bool MayEvict(const QuotaTree& tree, const ClusterQueue& queue) {
  const bool in_cohort = tree.node(tree.ClusterQueueIndex(queue.name)).parent >= 0;
  return queue.preemption.within_cluster_queue != PreemptionPolicy::kNever ||
         (in_cohort && queue.preemption.reclaim_within_cohort != PreemptionPolicy::kNever);
}

ScanPosition RandomPosition(Dice* dice, const JobRecord& job) {
  ScanPosition position;
  for (std::size_t i = 0; i < job.pod_sets->size(); ++i) {
    auto& tried = position.emplace_back();
    for (const char* resource : {"cpu", "gpu"}) {
      if (dice->Chance(40)) tried[resource] = static_cast<std::int32_t>(dice->Roll(-1, 2));
    }
  }
  return position;
}

bool SameCharges(const FlavorChoice& choice, const QuickVerdict& verdict,
                 const Assignment& assignment, const std::string& queue) {
  return *assignment.ToAdmission(queue) == *choice.admission &&
         assignment.usage == choice.charges && assignment.borrowing_level == verdict.level;
}

RC_GTEST_PROP(FlavorProperty, QuickVerdictAndWholeAnswer_Agree, (std::uint64_t seed)) {
  const Search search = RandomSearch(seed);
  Dice dice(seed + 1);
  AnyOracle oracle(seed);
  for (const JobPtr& job : search.jobs) {
    const ClusterQueue& queue = search.config.cluster_queues.at(job->cluster_queue);
    FlavorPlan plan(search.config, search.settings, search.usage.tree(), queue, *job, nullptr);
    const ScanPosition position = RandomPosition(&dice, *job);
    AssignRequest request;
    request.resume = dice.Chance(50) ? &position : nullptr;
    const QuickVerdict verdict = plan.Choose(search.usage, request.resume);
    const bool may_evict = MayEvict(search.usage.tree(), queue);
    if (may_evict) request.oracle = &oracle;
    const AssignmentPtr said = plan.Assign(search.usage, *job, request);
    RC_ASSERT(plan.Assign(search.usage, *job, request) == said);
    const Assignment& assignment = *said;
    switch (verdict.kind) {
      case QuickVerdict::Kind::kFits:
        RC_ASSERT(assignment.Mode() == FlavorMode::kFit);
        RC_ASSERT(assignment.Message().empty());
        RC_ASSERT(SameCharges(*verdict.choice, verdict, assignment, queue.name));
        break;
      case QuickVerdict::Kind::kNoVictims:
        RC_ASSERT(!may_evict);
        RC_ASSERT(assignment.Mode() == FlavorMode::kPreempt);
        RC_ASSERT(SameCharges(*verdict.choice, verdict, assignment, queue.name));
        break;
      case QuickVerdict::Kind::kNoFit:
        RC_ASSERT(assignment.Mode() == FlavorMode::kNoFit);
        RC_ASSERT(assignment.no_fit_reason != Reason::kNone);
        RC_ASSERT(!assignment.Message().empty());
        break;
      case QuickVerdict::Kind::kNeedsSearch:
        RC_ASSERT(may_evict);
        break;
    }
  }
}

RC_GTEST_PROP(FlavorProperty, WhatFits_CanBeCharged_AndWhatDoesNot_HasASentence,
              (std::uint64_t seed)) {
  const Search search = RandomSearch(seed);
  AnyOracle oracle(seed);
  for (const JobPtr& job : search.jobs) {
    const ClusterQueue& queue = search.config.cluster_queues.at(job->cluster_queue);
    AssignRequest request;
    request.oracle = &oracle;
    const Assignment assignment =
        AssignFlavors(search.config, search.settings, search.usage, queue, *job, nullptr, request);
    const NodeIndex node = search.usage.tree().ClusterQueueIndex(queue.name);
    bool fits = true;
    for (const Charge& charge : assignment.usage) {
      fits = fits && search.usage.Fits(node, charge.pair, charge.amount);
    }
    RC_ASSERT((assignment.Mode() == FlavorMode::kFit) == assignment.Message().empty());
    if (assignment.Mode() == FlavorMode::kFit) {
      RC_ASSERT(fits);
      RC_ASSERT(assignment.pod_sets.size() == job->pod_sets->size());
      RC_ASSERT(assignment.Contested(search.usage.tree()).empty());
    }
    if (assignment.Mode() == FlavorMode::kPreempt) {
      RC_ASSERT(!fits);
      RC_ASSERT(!assignment.Contested(search.usage.tree()).empty());
    }
  }
}

RC_GTEST_PROP(FlavorProperty, GoingOnBehindEachFlavor_SeesEveryFlavorThatFits,
              (std::uint64_t seed)) {
  const Search search = RandomSearch(seed);
  for (const JobPtr& job : search.jobs) {
    const ClusterQueue& queue = search.config.cluster_queues.at(job->cluster_queue);
    if (!search.settings.flavor_fungibility || queue.resource_groups.size() > 1) continue;
    auto alone = std::make_shared<JobRecord>(*job);
    alone->pod_sets = std::make_shared<const PodSets>(PodSets{(*job->pod_sets)[0]});
    std::set<std::string> seen;
    ScanPosition position;
    for (std::size_t round = 0; round <= queue.resource_groups[0].flavors.size(); ++round) {
      AssignRequest request;
      request.resume = &position;
      const Assignment assignment = AssignFlavors(search.config, search.settings, search.usage,
                                                  queue, *alone, nullptr, request);
      for (const auto& attempt : assignment.pod_sets.at(0).attempts) seen.insert(attempt.flavor);
      position = assignment.last_tried;
      if (position[0].empty() || position[0].begin()->second == -1) break;
    }
    const auto& requests = (*alone->pod_sets)[0].requests;
    RC_ASSERT(requests.empty() || seen.size() == queue.resource_groups[0].flavors.size());
  }
}

}  // namespace
}  // namespace muster::core::testing
