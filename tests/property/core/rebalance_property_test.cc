// Rebalancing of random jobs on random fleets: a move goes where the job may run and is worth what
// was asked for, and nothing moves it back or on while nothing else changes.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>

#include "schedd/base/quantity.h"
#include "schedd/core/member/rebalance.h"
#include "tests/property/core/random_world.h"

namespace muster::core::testing {
namespace {

constexpr const char* kZones[] = {"a", "b", "c"};
constexpr const char* kSorted[] = {"resources.kubernetes-fleet.io/available-cpu",
                                   "resources.kubernetes-fleet.io/total-cpu", "cost"};

std::string Zone(Dice* dice) { return kZones[static_cast<std::size_t>(dice->Roll(0, 2))]; }

PlacementPolicy RandomPolicy(Dice* dice) {
  PlacementPolicy policy;
  policy.type = PlacementType::kPickN;
  policy.score_over_feasible = dice->Chance(30);
  policy.kubefleet_tie_break = dice->Chance(30);
  for (std::int64_t i = dice->Roll(1, 4); i > 0; --i) {
    PreferredClusterTerm& term = policy.preferred.emplace_back();
    term.weight = static_cast<std::int32_t>(dice->Roll(-100, 100));
    if (dice->Chance(40)) term.labels.match_labels["zone"] = Zone(dice);
    if (dice->Chance(70)) {
      term.sorter =
          PropertySorter{kSorted[static_cast<std::size_t>(dice->Roll(0, 2))], dice->Chance(60)};
    }
  }
  if (dice->Chance(30)) policy.required = {{{{{"zone", Zone(dice)}}, {}}, {}}};
  if (dice->Chance(30)) {
    ClusterSpread spread;
    spread.topology_key = "zone";
    spread.max_skew = static_cast<std::int32_t>(dice->Roll(1, 3));
    spread.schedule_anyway = dice->Chance(60);
    policy.spread = {spread};
  }
  if (dice->Chance(40)) {
    LabelSelector first;
    first.match_labels["zone"] = Zone(dice);
    policy.groups = {{"first", {}, first, dice->Roll(0, 1) * 60}, {"rest", {}, LabelSelector{}, 0}};
  }
  return policy;
}

// One running job in a fleet, with a placement of all jobs of its namespace.
struct Scene {
  explicit Scene(Dice* dice) {
    for (std::int64_t i = dice->Roll(2, 8); i > 0; --i) {
      ClusterView& view = fleet.emplace_back();
      view.member.name = "m" + std::to_string(i);
      view.member.labels["zone"] = Zone(dice);
      view.member.any_flavor = true;
      view.member.allocatable = {{"cpu", dice->Roll(1, 16) * 1000}};
      view.free = {{"cpu", dice->Roll(0, AmountOf(view.member.allocatable, "cpu"))}};
      view.member.cordoned = dice->Chance(10);
      view.member.healthy = !dice->Chance(10);
      if (dice->Chance(60)) view.member.properties.amounts["cost"] = dice->Roll(0, 99);
      if (dice->Chance(50))
        placed[{"ns", "train"}][view.member.name] = static_cast<std::int32_t>(dice->Roll(0, 4));
    }
    auto placement = std::make_shared<Placement>();
    placement->ns = "ns";
    placement->name = "train";
    placement->selectors = {{"batch", "v1", "Job", "", std::nullopt, {}}};
    placement->policy = RandomPolicy(dice);
    policy = placement->policy;
    auto table = std::make_shared<PlacementTable>();
    table->Put(placement);
    config.placements = table;
    config.namespaces["ns"] = {"ns", {}};
    job.id = {1};
    job.uid = {1, dice->Next()};
    job.ns = "ns";
    job.state = JobState::kRunning;
    PodSet pods;
    pods.name = "main";
    pods.count = 1;
    pods.requests = {{"cpu", dice->Roll(1, 4) * 1000}};
    cpu = AmountOf(pods.requests, "cpu");
    job.pod_sets = std::make_shared<const PodSets>(PodSets{pods});
    auto admission = std::make_shared<Admission>();
    admission->cluster_queue = "q";
    PodSetAssignment assigned;
    assigned.name = "main";
    assigned.count = 1;
    assigned.usage = pods.requests;
    admission->pod_sets.push_back(assigned);
    job.admission = admission;
    JobPlacement own;
    own.checkpointable = true;
    job.placement = std::make_shared<const JobPlacement>(own);
    job.cluster =
        fleet[static_cast<std::size_t>(dice->Roll(0, static_cast<std::int64_t>(fleet.size()) - 1))]
            .member.name;
    ++placed[{"ns", "train"}][job.cluster];
  }

  ClusterView& View(const std::string& name) {
    for (ClusterView& view : fleet) {
      if (view.member.name == name) return view;
    }
    std::abort();
  }
  std::optional<BetterMember> Find(std::int64_t gain) const {
    const AdmissionSettings settings;
    return Rebalancer(config, settings, fleet, &placed, {}).Find(job, gain);
  }
  void MoveTo(const std::string& target) {
    auto& counts = placed[{"ns", "train"}];
    --counts[job.cluster];
    ++counts[target];
    ResourceList& left = View(job.cluster).free;
    SetAmount(&left, "cpu", AmountOf(left, "cpu") + cpu);
    ResourceList& taken = View(target).free;
    SetAmount(&taken, "cpu", AmountOf(taken, "cpu") - cpu);
    job.cluster = target;
  }

  std::vector<ClusterView> fleet;
  PlacedCounts placed;
  ConfigView config;
  PlacementPolicy policy;
  JobRecord job;
  std::int64_t cpu = 0;
};

RC_GTEST_PROP(RebalanceProperty, AMoveIsWorthItsGain_GoesWhereThereIsRoom_AndIsTheLast,
              (std::uint64_t seed)) {
  Dice dice(seed);
  Scene scene(&dice);
  const std::int64_t gain = dice.Roll(1, 40);
  const auto better = scene.Find(gain);
  RC_CLASSIFY(better.has_value(), "moves");
  if (!better) return;
  RC_ASSERT(MayBeMoved(scene.config, scene.job));
  RC_ASSERT(better->cluster != scene.job.cluster);
  RC_ASSERT((better->earlier_group ? !scene.policy.groups.empty() : better->points >= gain));
  const ClusterView& target = scene.View(better->cluster);
  RC_ASSERT(AmountOf(target.free, "cpu") >= scene.cpu);
  RC_ASSERT((target.member.healthy && !target.member.cordoned));
  for (const ClusterSelectorTerm& term : scene.policy.required)
    RC_ASSERT(Matches(term.labels, target.member.labels));
  scene.MoveTo(better->cluster);
  RC_ASSERT(!scene.Find(1).has_value());
}

RC_GTEST_PROP(RebalanceProperty, WhatIsWorthMoreThanAsked_IsFoundWithLessAskedToo,
              (std::uint64_t seed)) {
  Dice dice(seed);
  const Scene scene(&dice);
  const auto strict = scene.Find(30), lenient = scene.Find(1);
  if (strict) RC_ASSERT((lenient.has_value() && lenient->cluster == strict->cluster));
  if (lenient && !lenient->earlier_group && lenient->points < 30) RC_ASSERT(!strict.has_value());
}

}  // namespace
}  // namespace muster::core::testing
