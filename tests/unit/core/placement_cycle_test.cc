// Decide, CheckPlan, the waiting queues and explain for jobs that placements govern.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/core/cycle/cycle_cache.h"
#include "schedd/core/explain/explain.h"
#include "schedd/core/member/member_fit.h"
#include "schedd/core/queue/workload_class.h"
#include "schedd/core/topology/member_machines.h"
#include "tests/unit/core/world.h"

namespace muster::core::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

ResourceSelector OfKind(const std::string& kind, const std::string& name) {
  ResourceSelector selector;
  selector.group = kind == "Job" ? "batch" : "";
  selector.version = "v1";
  selector.kind = kind;
  selector.name = name;
  return selector;
}

PlacementPolicy Fixed(const std::vector<std::string>& clusters) {
  PlacementPolicy policy;
  policy.type = PlacementType::kPickFixed;
  policy.cluster_names = clusters;
  return policy;
}

PlacementPolicy Preferring(const LabelMap& labels, std::int32_t weight = 10) {
  PlacementPolicy policy;
  policy.type = PlacementType::kPickN;
  policy.preferred = {{weight, {labels, {}}, std::nullopt}};
  return policy;
}

PlacementPolicy Requiring(const LabelMap& labels) {
  PlacementPolicy policy;
  policy.required = {{{labels, {}}, {}}};
  return policy;
}

Placement Governing(std::string ns, std::string name, ResourceSelector what,
                    PlacementPolicy policy) {
  Placement placement;
  placement.ns = std::move(ns);
  placement.name = std::move(name);
  placement.selectors = {std::move(what)};
  placement.policy = std::move(policy);
  return placement;
}

class PlacementCycleTest : public ::testing::Test {
 protected:
  PlacementCycleTest() { queue_ = &world_.Queue("q", "", {{"default", "cpu", 1000}}); }

  // A placement of the jobs of namespace default that have this name; "": of every one.
  void Govern(const std::string& job, const PlacementPolicy& policy) {
    Put(Governing("default", job.empty() ? "all" : "of-" + job, OfKind("Job", job), policy));
  }
  void Put(const Placement& placement) {
    auto table = std::make_shared<PlacementTable>(*world_.config().placements);
    table->Put(std::make_shared<const Placement>(placement));
    world_.config().placements = table;
  }
  void Erase(const std::string& ns, const std::string& name) {
    auto table = std::make_shared<PlacementTable>(*world_.config().placements);
    table->Erase(ns, name);
    world_.config().placements = table;
  }
  MemberCluster& Member(const std::string& name, std::int64_t cpu, const LabelMap& labels = {}) {
    MemberCluster& member = world_.Member(name, {{"cpu", cpu}});
    member.labels = labels;
    return member;
  }
  ClusterView& View(std::size_t member) { return world_.clusters()[member]; }
  JobPtr Cpus(std::int64_t cpus, std::int32_t priority = 0) {
    return world_.Submit("q", 1, {{"cpu", cpus}}, priority);
  }
  JobPtr HoldOn(const std::string& cluster, std::int64_t cpus, std::int32_t priority = 0) {
    world_.Hold("q", "cpu", cpus, priority);
    auto placed = std::make_shared<JobRecord>(*world_.held().back());
    placed->cluster = cluster;
    world_.held().back() = placed;
    for (ClusterView& view : world_.clusters()) {
      if (view.member.name != cluster) continue;
      SetAmount(&view.free, "cpu", AmountOf(view.free, "cpu") - cpus);
    }
    return placed;
  }
  Plan Run(const CycleInput& input = Input()) {
    Snapshot snapshot = world_.Take();
    snapshot.placed = placed_;
    Plan plan = Decide(snapshot, input);
    EXPECT_THAT(CheckPlan(snapshot, plan), IsEmpty());
    return plan;
  }
  // "1 east", in the order admitted.
  static std::vector<std::string> Placed(const Plan& plan) {
    std::vector<std::string> placed;
    for (const auto& admit : plan.admits)
      placed.push_back(std::to_string(admit.job->id.value) + " " + admit.cluster);
    return placed;
  }

  World world_;
  ClusterQueue* queue_ = nullptr;
  std::shared_ptr<const PlacedCounts> placed_;
};

TEST_F(PlacementCycleTest, GovernedJob_GoesWhereItsPolicyPrefers_AndSaysSo) {
  Member("east", 100);
  Member("west", 20, {{"zone", "w"}});
  Govern("job-1", Preferring({{"zone", "w"}}, 70));
  Cpus(1);
  Cpus(1);
  const Plan plan = Run();
  EXPECT_THAT(Placed(plan), ElementsAre("1 west", "2 east")) << "equal jobs, one of them governed";
  EXPECT_EQ(plan.admits.at(0).placed,
            "Successfully scheduled resources for placement in \"west\" (affinity score: 70, "
            "topology spread score: 0): picked by scheduling policy");
  EXPECT_EQ(plan.admits.at(1).placed, "");
}

TEST_F(PlacementCycleTest, Preference_YieldsToRoom_RequirementsDoNot) {
  Member("east", 100);
  Member("west", 2, {{"zone", "w"}});
  Govern("job-1", Preferring({{"zone", "w"}}));
  Govern("job-2", Requiring({{"zone", "w"}}));
  Cpus(3);
  Cpus(3);
  const Plan plan = Run();
  EXPECT_THAT(Placed(plan), ElementsAre("1 east"));
  ASSERT_EQ(plan.not_admitted.size(), 1u);
  EXPECT_EQ(plan.not_admitted[0].reason, Reason::kNoMemberCluster);
  EXPECT_THAT(plan.not_admitted[0].message, HasSubstr("member cluster east: "));
  EXPECT_THAT(plan.not_admitted[0].message,
              HasSubstr("member cluster west: needs 3m cpu, 2m of 2m free"));
}

TEST_F(PlacementCycleTest, OneThatItsPlacementHolds_DoesNotParkEqualOnes) {
  Member("east", 100);
  Member("west", 0);
  Govern("job-1", Fixed({"west"}));
  Cpus(1);
  Cpus(1);
  const Plan plan = Run();
  EXPECT_THAT(Placed(plan), ElementsAre("2 east"));
  world_.pending().Settle(plan, world_.now());
  EXPECT_FALSE(world_.pending().HasActive());
}

TEST_F(PlacementCycleTest, TaintsAreForThePolicyToTolerate_UnlessTheMemberIsNamed) {
  Member("east", 100).taints = {{"lab", "x", "NoSchedule"}};
  SchedulingConstraints tolerant;
  tolerant.tolerations = {{"lab", "Exists", "", "", {}}};
  const auto submit = [&](const SchedulingConstraints& constraints) {
    return world_.Add(world_.Job("q", 0, {With(Pods("main", 1, {{"cpu", 1}}), constraints)}));
  };
  submit(tolerant);  // 1: by nobody governed
  submit(tolerant);  // 2: its pods tolerate it, its policy does not
  submit({});        // 3: the policy does
  submit({});        // 4: named
  submit({});        // 5: pinned by itself
  Govern("job-2", Preferring({}));
  PlacementPolicy tolerates = Preferring({});
  tolerates.tolerations = tolerant.tolerations;
  Govern("job-3", tolerates);
  Govern("job-4", Fixed({"east"}));
  auto pinned = std::make_shared<JobRecord>(*world_.pending().Find({5}));
  JobPlacement own;
  own.cluster = "east";
  pinned->placement = std::make_shared<const JobPlacement>(own);
  world_.pending().Add(pinned, world_.now());
  const Plan plan = Run();
  EXPECT_THAT(Placed(plan), ElementsAre("1 east", "3 east", "4 east", "5 east"));
  ASSERT_EQ(plan.not_admitted.size(), 1u);
  EXPECT_THAT(plan.not_admitted[0].message, HasSubstr("lab"));
}

TEST_F(PlacementCycleTest, MemberWithoutTheKind_IsPassedOver) {
  Member("east", 100).kinds =
      std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"Job"});
  Member("west", 1);
  const auto submit = [&](ShapeKind shape, std::int64_t cpus) {
    auto job = world_.Job("q", 0, {Pods("main", 1, {{"cpu", cpus}})});
    job->shape = shape;
    return world_.Add(job);
  };
  submit(ShapeKind::kRayJob, 1);
  submit(ShapeKind::kRayJob, 2);
  submit(ShapeKind::kJob, 2);
  submit(ShapeKind::kBatchScript, 2);
  const Plan plan = Run();
  EXPECT_THAT(Placed(plan), ElementsAre("1 west", "3 east", "4 east"));
  ASSERT_EQ(plan.not_admitted.size(), 1u);
  EXPECT_THAT(plan.not_admitted[0].message,
              HasSubstr("member cluster east: does not serve RayJob"));
}

TEST_F(PlacementCycleTest, ClusterGroups_AreTriedInOrder_AndOpenByWaiting) {
  Member("cloud", 100);
  Member("reserved", 5);
  PlacementPolicy policy;
  policy.groups = {{"own", {"reserved"}, std::nullopt, 300},
                   {"rented", {"cloud"}, std::nullopt, 0}};
  Govern("", policy);
  const auto submitted = [&](std::int64_t seconds_ago) {
    auto job = world_.Job("q", 0, {Pods("main", 1, {{"cpu", 3}})});
    job->submit_time = {world_.now().us - seconds_ago * kMicrosPerSecond};
    return world_.Add(job);
  };
  submitted(400);
  submitted(350);
  submitted(10);
  const Plan plan = Run();
  EXPECT_THAT(Placed(plan), ElementsAre("1 reserved", "2 cloud"));
  ASSERT_EQ(plan.not_admitted.size(), 1u);
  EXPECT_EQ(plan.not_admitted[0].reason, Reason::kWaitingForCapacity);
  EXPECT_THAT(plan.not_admitted[0].message, HasSubstr("group rented is tried after 300 s"));
}

TEST_F(PlacementCycleTest, Spread_CountsWhatRunsAndWhatThisCyclePlaces) {
  for (const char* name : {"a", "b", "c"}) Member(name, 100, {{"zone", name}});
  PlacementPolicy policy = Preferring({{"zone", "a"}});
  policy.spread = {{1, "zone", false}};
  Govern("", policy);
  placed_ = std::make_shared<const PlacedCounts>(
      PlacedCounts{{{"default", "all"}, {{"a", 2}, {"b", 1}}}});
  for (int i = 0; i < 4; ++i) Cpus(1);
  const Plan plan = Run();
  std::map<std::string, int> on;
  for (const auto& admit : plan.admits) ++on[admit.cluster];
  EXPECT_EQ(on, (std::map<std::string, int>{{"b", 1}, {"c", 2}, {"a", 1}}));
  EXPECT_EQ(plan.admits.at(0).cluster, "c") << "the one that is behind comes first";
}

TEST_F(PlacementCycleTest, KubefleetTieBreak_TakesTheLargerName) {
  for (const char* name : {"a", "b", "c"}) Member(name, 100);
  PlacementPolicy policy = Preferring({});
  policy.kubefleet_tie_break = true;
  Govern("", policy);
  for (int i = 0; i < 4; ++i) Cpus(20);
  for (const auto& admit : Run().admits) EXPECT_EQ(admit.cluster, "c");
}

TEST_F(PlacementCycleTest, AvailableRoom_IsWhatThisCycleLeft) {
  Member("east", 10);
  Member("west", 9);
  PlacementPolicy policy;
  policy.type = PlacementType::kPickN;
  policy.preferred = {
      {100, {}, PropertySorter{"resources.kubernetes-fleet.io/available-cpu", true}}};
  Govern("", policy);
  for (int i = 0; i < 4; ++i) Cpus(2);
  EXPECT_THAT(Placed(Run()), ElementsAre("1 east", "2 west", "3 east", "4 west"));
}

TEST_F(PlacementCycleTest, NameThatLeadsNowhere_ClosesTheGate_ForThatQueueAlone) {
  Member("east", 100);
  world_.AddLocalQueue("default", "other", "q").placement = "gone";
  auto lost = world_.Job("q", 5, {Pods("main", 1, {{"cpu", 1}})});
  lost->local_queue = "other";
  world_.Add(lost);
  Cpus(1);
  const Plan plan = Run();
  EXPECT_THAT(Placed(plan), ElementsAre("2 east"));
  ASSERT_EQ(plan.not_admitted.size(), 1u);
  EXPECT_EQ(plan.not_admitted[0].reason, Reason::kMisconfigured);
  EXPECT_THAT(plan.not_admitted[0].message, HasSubstr("names gone"));
}

TEST_F(PlacementCycleTest, NumberOfClustersNought_PicksNone) {
  Member("east", 100);
  Member("west", 100);
  PlacementPolicy policy;
  policy.type = PlacementType::kPickN;
  policy.number_of_clusters = 0;
  Govern("", policy);
  Cpus(1);
  const Plan plan = Run();
  ASSERT_EQ(plan.not_admitted.size(), 1u);
  EXPECT_EQ(plan.not_admitted[0].reason, Reason::kNoMemberCluster);
  EXPECT_EQ(plan.not_admitted[0].message,
            "ResourcePlacement default/all picks no cluster: its numberOfClusters is 0");
}

TEST_F(PlacementCycleTest, VictimsAreTakenWhereThePolicyNeedsTheRoom_OrNotAtAll) {
  queue_->preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  queue_->resource_groups = {Group({{"default", "cpu", 8}})};
  Member("east", 4);
  Member("west", 4);
  HoldOn("east", 4);
  HoldOn("west", 4, 20);
  Govern("job-3", Fixed({"west"}));
  Cpus(4, 10);
  Plan plan = Run();
  EXPECT_THAT(plan.evictions, IsEmpty()) << "quota alone would take the one on east";
  ASSERT_EQ(plan.not_admitted.size(), 1u);
  EXPECT_THAT(plan.not_admitted[0].message,
              HasSubstr("even without the jobs that it would preempt"));
  auto lower = std::make_shared<JobRecord>(*world_.held()[1]);
  lower->priority = 5;
  world_.held()[1] = lower;
  world_.pending().FlushAll(world_.now());
  plan = Run();
  ASSERT_EQ(plan.evictions.size(), 1u) << "one is enough";
  EXPECT_EQ(plan.evictions[0].victim->cluster, "west") << "though the one on east comes first";
  Govern("job-3", Fixed({"east"}));
  world_.pending().FlushAll(world_.now());
  plan = Run();
  ASSERT_EQ(plan.evictions.size(), 1u);
  EXPECT_EQ(plan.evictions[0].victim->cluster, "east");
}

TEST_F(PlacementCycleTest, VictimsOnOneMember_RatherThanOnTwoWhereNeitherIsEnough) {
  queue_->preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  queue_->resource_groups = {Group({{"default", "cpu", 8}})};
  Member("east", 4);
  Member("west", 4);
  HoldOn("east", 2, 0);
  HoldOn("west", 2, 1);
  HoldOn("east", 2, 2);
  HoldOn("west", 2, 3);
  Cpus(4, 10);
  const Plan plan = Run();
  std::vector<std::int64_t> evicted;
  for (const auto& eviction : plan.evictions) evicted.push_back(eviction.victim->id.value);
  EXPECT_THAT(evicted, ElementsAre(1, 3)) << "the two lowest leave two members half empty";
}

TEST_F(PlacementCycleTest, Preemption_CountsTheMachinesThatItsVictimsLeave) {
  queue_->preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  queue_->resource_groups = {Group({{"default", "cpu", 8}})};
  const auto machines = [&](std::int64_t one, std::int64_t other) {
    MachineGroups groups(2);
    groups[0] = {{}, {}, {{"cpu", one}}, 1};
    groups[1] = {{}, {}, {{"cpu", other}}, 1};
    View(0).member.machines = std::make_shared<const MachineGroups>(groups);
  };
  Member("east", 8);
  machines(0, 4);
  HoldOn("east", 4);
  Cpus(8, 10);
  EXPECT_THAT(Run().evictions, IsEmpty()) << "its pod would stand on two machines";
  machines(0, 0);
  View(0).member.machines =
      std::make_shared<const MachineGroups>(MachineGroups{{{}, {}, {{"cpu", 4}}, 1}});
  world_.pending().FlushAll(world_.now());
  EXPECT_EQ(Run().evictions.size(), 1u);
}

std::vector<std::int64_t> EvictedBy(const Plan& plan) {
  std::vector<std::int64_t> ids;
  for (const auto& eviction : plan.evictions) ids.push_back(eviction.victim->id.value);
  return ids;
}

// Quota for all jobs; the members are full.
TEST_F(PlacementCycleTest, RoomAlone_IsWorthAVictim_OnTheMemberThatThePlacementPrefers) {
  queue_->preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  Member("east", 4);
  Member("west", 4, {{"zone", "w"}});
  HoldOn("east", 4);
  HoldOn("west", 2);
  HoldOn("west", 2);
  Govern("job-4", Preferring({{"zone", "w"}}, 70));
  Cpus(4, 10);
  const Plan plan = Run();
  EXPECT_THAT(EvictedBy(plan), UnorderedElementsAre(2, 3)) << "though one on east would do";
  ASSERT_EQ(plan.not_admitted.size(), 1u);
  EXPECT_EQ(plan.not_admitted[0].reason, Reason::kWaitingForPreemptedWorkloads);
  EXPECT_THAT(plan.not_admitted[0].message, HasSubstr(". Pending the preemption of 2 workload(s)"));
}

TEST_F(PlacementCycleTest, RoomAlone_TakesTheFewestVictims_WhereNoPlacementPrefersAMember) {
  queue_->preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  Member("east", 4);
  Member("north", 4);
  Member("west", 4);
  HoldOn("east", 2);
  HoldOn("east", 2);
  HoldOn("north", 4, 5);
  HoldOn("west", 4, 4);
  Cpus(3, 10);
  EXPECT_THAT(EvictedBy(Run()), ElementsAre(4)) << "one, and the least important one";
}

TEST_F(PlacementCycleTest, RoomAlone_IsMadeOnlyWhereNoLaterFlavorHasIt_UnlessTheQueueSaysSo) {
  world_.Flavor("red", {{"color", "red"}}).Flavor("blue", {{"color", "blue"}});
  queue_->resource_groups = {Group({{"red", "cpu", 100}, {"blue", "cpu", 100}})};
  queue_->preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  Member("east", 4, {{"color", "red"}});
  Member("west", 4, {{"color", "blue"}});
  HoldOn("east", 4);
  Cpus(4, 10);
  Plan plan = Run();
  EXPECT_THAT(Placed(plan), ElementsAre("2 west")) << "whenCanPreempt: TryNextFlavor";
  EXPECT_THAT(plan.evictions, IsEmpty());
  queue_->when_can_preempt = FungibilityPolicy::kMayStopSearch;
  world_.pending().FlushAll(world_.now());
  plan = Run();
  EXPECT_THAT(EvictedBy(plan), ElementsAre(1)) << "whenCanPreempt: MayStopSearch";
  queue_->when_can_preempt = FungibilityPolicy::kTryNextFlavor;
  SetAmount(&View(1).free, "cpu", 0);  // for pods of others
  world_.pending().FlushAll(world_.now());
  plan = Run();
  EXPECT_THAT(plan.admits, IsEmpty());
  EXPECT_THAT(EvictedBy(plan), ElementsAre(1)) << "the first flavor, once the last was tried";
}

TEST_F(PlacementCycleTest, RoomAlone_TakesNobodyWhomTheQueueProtects) {
  Member("east", 4);
  HoldOn("east", 4, 5);
  struct Case {
    const char* name;
    PreemptionPolicy within;
    std::int32_t priority;
    std::size_t evictions;
  };
  const Case cases[] = {
      {"never", PreemptionPolicy::kNever, 10, 0},
      {"not the more important", PreemptionPolicy::kLowerPriority, 4, 0},
      {"not its equal", PreemptionPolicy::kLowerPriority, 5, 0},
      {"the less important", PreemptionPolicy::kLowerPriority, 6, 1},
      {"any", PreemptionPolicy::kAny, 0, 1},
  };
  for (const Case& one : cases) {
    queue_->preemption.within_cluster_queue = one.within;
    const JobPtr job = Cpus(4, one.priority);
    const Plan plan = Run();
    EXPECT_EQ(plan.evictions.size(), one.evictions) << one.name;
    world_.pending().Remove(job->id);
  }
}

TEST_F(PlacementCycleTest, RoomAlone_TakesNobodyWhoseEndIsOfNoUse) {
  queue_->preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  Member("east", 4);
  Member("west", 4);
  HoldOn("east", 2);
  HoldOn("west", 2);
  HoldOn("west", 2, 20);
  SetAmount(&View(0).free, "cpu", 0);  // the other half is for pods of others
  Cpus(4, 10);
  const Plan plan = Run();
  EXPECT_THAT(plan.evictions, IsEmpty());
  ASSERT_EQ(plan.not_admitted.size(), 1u);
  EXPECT_EQ(plan.not_admitted[0].reason, Reason::kWaitingForCapacity);
}

TEST_F(PlacementCycleTest, RoomAlone_IsWaitedForWhileItIsBeingMade) {
  queue_->preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  Member("east", 4);
  HoldOn("east", 2);
  HoldOn("east", 2);
  Cpus(2, 10);
  Cpus(2, 10);
  const Plan first = Run();
  EXPECT_THAT(EvictedBy(first), SizeIs(1)) << "a class is decided once in a plan";
  world_.pending().Settle(first, world_.now());
  auto leaving = std::make_shared<JobRecord>(*world_.held()[0]);
  SetCondition(leaving.get(), "Evicted", true, "Preempted", "", world_.now());
  world_.held()[0] = leaving;
  world_.pending().FlushAll(world_.now());
  const Plan second = Run();
  EXPECT_THAT(second.evictions, IsEmpty());
  ASSERT_FALSE(second.not_admitted.empty());
  EXPECT_THAT(second.not_admitted[0].message, HasSubstr(", and room is being made"));
}

TEST_F(PlacementCycleTest, RoomAlone_IsReclaimedFromQueuesThatBorrow_NotFromTheOthers) {
  queue_->cohort = "all";
  queue_->resource_groups = {Group({{"default", "cpu", 8}})};
  queue_->preemption.reclaim_within_cohort = PreemptionPolicy::kAny;
  world_.Queue("other", "all", {{"default", "cpu", 2}});
  Member("east", 4);
  Member("west", 2);
  const auto hold = [&](const std::string& cluster, std::int64_t cpus) {
    world_.Hold("other", "cpu", cpus);
    auto placed = std::make_shared<JobRecord>(*world_.held().back());
    placed->cluster = cluster;
    world_.held().back() = placed;
    for (ClusterView& view : world_.clusters())
      if (view.member.name == cluster) SetAmount(&view.free, "cpu", 0);
  };
  hold("west", 2);
  Cpus(2);
  hold("east", 4);
  const Plan plan = Run();
  ASSERT_EQ(plan.evictions.size(), 1u);
  EXPECT_EQ(plan.evictions[0].preemption_reason, Reason::kInCohortReclamation);
  AdmissionSettings settings;
  settings.fair_sharing.emplace();
  world_.Set(settings);
  world_.pending().FlushAll(world_.now());
  EXPECT_THAT(Run().evictions, IsEmpty()) << "a borrower may win its share of quota back";
}

TEST_F(PlacementCycleTest, RoomAlone_IsMadeOnMembersWhoseMachinesAreTold) {
  queue_->preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  const auto machines = [&](std::int64_t each) {
    return std::make_shared<const MachineGroups>(MachineGroups{{{}, {}, {{"cpu", each}}, 2}});
  };
  Member("east", 8);
  View(0).member.machines = machines(0);
  HoldOn("east", 4);
  HoldOn("east", 4, 5);
  Cpus(4, 10);
  EXPECT_THAT(EvictedBy(Run()), ElementsAre(1));
  world_.pending().Remove({3});
  world_.Submit("q", 2, {{"cpu", 4}}, 10);
  EXPECT_THAT(EvictedBy(Run()), UnorderedElementsAre(1, 2)) << "both pods need a machine";
}

// A job that borrows on another member is no useful victim: evicting it frees nothing on this
// member.
TEST_F(PlacementCycleTest, RoomAlone_IsReclaimedOnTheMemberThatMayDo_WhoeverComesFirstElsewhere) {
  queue_->cohort = "all";
  queue_->resource_groups = {Group({{"default", "cpu", 12}})};
  queue_->preemption.reclaim_within_cohort = PreemptionPolicy::kAny;
  world_.Queue("other", "all", {{"default", "cpu", 4}});
  Member("east", 4);
  Member("west", 4);
  const auto hold = [&](const std::string& cluster, std::int32_t priority) {
    world_.Hold("other", "cpu", 4, priority);
    auto placed = std::make_shared<JobRecord>(*world_.held().back());
    placed->cluster = cluster;
    world_.held().back() = placed;
    for (ClusterView& view : world_.clusters())
      if (view.member.name == cluster) SetAmount(&view.free, "cpu", 0);
  };
  hold("west", 0);
  hold("east", 1);
  Govern("job-3", Fixed({"east"}));
  Cpus(4);
  EXPECT_THAT(EvictedBy(Run()), ElementsAre(2));
}

// An equal job that has waited longer may use groups that this job may not use yet.
TEST_F(PlacementCycleTest, RoomAlone_IsMadeOnlyInTheClusterGroupsThatAreOpen) {
  queue_->preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  Member("cloud", 6);
  Member("reserved", 3);
  HoldOn("cloud", 3);
  HoldOn("reserved", 3, 20);
  PlacementPolicy policy;
  policy.groups = {{"own", {"reserved"}, std::nullopt, 300},
                   {"rented", {"cloud"}, std::nullopt, 0}};
  Govern("", policy);
  const auto submitted = [&](std::int64_t seconds_ago) {
    auto job = world_.Job("q", 10, {Pods("main", 1, {{"cpu", 3}})});
    job->submit_time = {world_.now().us - seconds_ago * kMicrosPerSecond};
    return world_.Add(job);
  };
  submitted(400);
  submitted(10);
  const Plan plan = Run();
  EXPECT_THAT(Placed(plan), ElementsAre("3 cloud"));
  EXPECT_THAT(plan.evictions, IsEmpty()) << "cloud is for those who have waited";
}

// The end of another job may take for ever. A job that evicted none does not block others while it
// waits.
TEST_F(PlacementCycleTest, RoomThatOthersLeave_HoldsUpNobodyElse) {
  queue_->preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  Member("east", 4);
  Member("west", 2);
  HoldOn("east", 4, 20);
  auto leaving = std::make_shared<JobRecord>(*world_.held()[0]);
  SetCondition(leaving.get(), "Evicted", true, "Deactivated", "", world_.now());
  world_.held()[0] = leaving;
  Cpus(4, 10);
  Cpus(2, 5);
  const Plan plan = Run();
  EXPECT_THAT(plan.evictions, IsEmpty());
  EXPECT_THAT(Placed(plan), ElementsAre("3 west"));
}

// Victims leave one by one. A job that took the room of the first would be the next victim.
TEST_F(PlacementCycleTest, RoomAlone_IsKeptUntilItsLastVictimHasLeft) {
  queue_->cohort = "all";
  queue_->preemption.reclaim_within_cohort = PreemptionPolicy::kAny;
  world_.Queue("other", "all", {{"default", "cpu", 0}});
  Member("east", 4);
  for (int i = 0; i < 2; ++i) {
    world_.Hold("other", "cpu", 2);
    auto placed = std::make_shared<JobRecord>(*world_.held().back());
    placed->cluster = "east";
    world_.held().back() = placed;
  }
  SetAmount(&View(0).free, "cpu", 0);
  Cpus(4);
  const Plan first = Run();
  EXPECT_THAT(EvictedBy(first), UnorderedElementsAre(1, 2));
  world_.pending().Settle(first, world_.now());
  auto leaving = std::make_shared<JobRecord>(*world_.held()[1]);
  SetCondition(leaving.get(), "Evicted", true, "Preempted", "", world_.now());
  world_.held() = {leaving};
  SetAmount(&View(0).free, "cpu", 2);
  world_.Submit("other", 1, {{"cpu", 2}}, 20);
  world_.pending().FlushAll(world_.now());
  EXPECT_THAT(Run().admits, IsEmpty());
}

TEST_F(PlacementCycleTest, CheckPlan_SeesAMemberThatThePlacementForbids) {
  Member("east", 100);
  Member("west", 100);
  Govern("job-1", Fixed({"west"}));
  Cpus(1);
  const Snapshot snapshot = world_.Take();
  Plan plan = Decide(snapshot, Input());
  ASSERT_EQ(plan.admits.size(), 1u);
  EXPECT_THAT(CheckPlan(snapshot, plan), IsEmpty());
  plan.admits[0].cluster = "east";
  EXPECT_THAT(CheckPlan(snapshot, plan),
              Contains(HasSubstr("job 1 is put on east against its placement: ")));
}

TEST_F(PlacementCycleTest, CheckPlan_ChargesInOrder_BeforeItAsksForWhatIsAvailable) {
  Member("east", 10);
  PlacementPolicy policy;
  policy.required.resize(1);
  policy.required[0].properties = {{"resources.kubernetes-fleet.io/available-cpu",
                                    PropertyOperator::kGe,
                                    PropertyAmount{4'000'000},
                                    {"4m"}}};
  Govern("", policy);
  Cpus(3);
  Cpus(3);
  Cpus(3);
  const Snapshot snapshot = world_.Take();
  Plan plan = Decide(snapshot, Input());
  EXPECT_THAT(Placed(plan), ElementsAre("1 east", "2 east", "3 east"));
  EXPECT_THAT(CheckPlan(snapshot, plan), IsEmpty());
  plan.admits[1].job = plan.admits[0].job;
  EXPECT_THAT(CheckPlan(snapshot, plan), Contains(HasSubstr("admitted twice")));
}

TEST_F(PlacementCycleTest, Apply_CountsWhatSpreadLooksAt) {
  Member("a", 100, {{"zone", "a"}});
  PlacementPolicy policy = Preferring({});
  policy.spread = {{1, "zone", true}};
  Govern("", policy);
  Cpus(1);
  const Snapshot snapshot = world_.Take();
  const Snapshot after = Apply(snapshot, Decide(snapshot, Input()));
  ASSERT_NE(after.placed, nullptr);
  EXPECT_EQ(*after.placed, (PlacedCounts{{{"default", "all"}, {{"a", 1}}}}));
}

TEST_F(PlacementCycleTest, WaitingJobs_AreSortedAnew_WhenPlacementsChange) {
  Member("east", 0);
  for (int i = 0; i < 3; ++i) Cpus(1);
  Plan plan = Run();
  world_.pending().Settle(plan, world_.now());
  const auto active = [&] {
    std::vector<std::int64_t> ids;
    for (std::int64_t id = 1; id <= 3; ++id) {
      if (world_.pending().IsActive({id})) ids.push_back(id);
    }
    return ids;
  };
  EXPECT_THAT(active(), IsEmpty());
  Govern("job-2", Fixed({"east"}));
  EXPECT_THAT(active(), ElementsAre(2)) << "what is known of its equals is not known of it";
  world_.pending().FlushAll(world_.now());
  world_.pending().Settle(Run(), world_.now());
  EXPECT_THAT(active(), IsEmpty());
  Put(Governing("", "space", OfKind("Namespace", "default"), Fixed({"east"})));
  EXPECT_THAT(active(), ElementsAre(1, 3)) << "its own one still governs the second";
  world_.pending().Settle(Run(), world_.now());
  Erase("default", "of-job-2");
  EXPECT_THAT(active(), IsEmpty()) << "it joins the others, who are parked";
  world_.config().local_queues[{"default", "lq-q"}].placement = "space";
  EXPECT_THAT(active(), IsEmpty());
  Erase("", "space");
  EXPECT_THAT(active(), ElementsAre(1, 2, 3)) << "the annotation leads nowhere now";
}

TEST_F(PlacementCycleTest, ClassKeys_TellJobsApartByWhatDecidesBetweenMembers) {
  const ConfigView none;
  const auto key = [&](const JobRecord& job) {
    std::string text;
    AppendSchedulingKey(world_.config(), job, {}, &text);
    return text;
  };
  const auto job = world_.Job("q", 0, {Pods("main", 1, {{"cpu", 1}})});
  std::set<std::string> keys = {key(*job)};
  const auto differs = [&](const char* what, auto change) {
    JobRecord other = *job;
    change(&other);
    EXPECT_TRUE(keys.insert(key(other)).second) << what;
  };
  const auto own = [](JobRecord* record, auto change) {
    JobPlacement placement;
    change(&placement);
    record->placement = std::make_shared<const JobPlacement>(placement);
  };
  differs("kind", [](JobRecord* one) { one->shape = ShapeKind::kRayJob; });
  differs("pin", [&](JobRecord* one) { own(one, [](JobPlacement* p) { p->cluster = "a"; }); });
  differs("name", [&](JobRecord* one) { own(one, [](JobPlacement* p) { p->placement = "a"; }); });
  differs("data", [&](JobRecord* one) { own(one, [](JobPlacement* p) { p->datasets = {"a"}; }); });
  differs("avoided", [](JobRecord* one) {
    ChangeState(one, [](AdmissionState* state) { state->avoided = {{"a", WallTime{1}}}; });
  });
  JobRecord labelled = *job;
  own(&labelled, [](JobPlacement* p) { p->labels = {{"a", "b"}}; });
  EXPECT_EQ(key(labelled), key(*job)) << "labels alone decide nothing";
  Govern(job->name, Fixed({"east"}));
  EXPECT_TRUE(keys.insert(key(*job)).second) << "governed";
}

TEST_F(PlacementCycleTest, SameSnapshot_SamePlan_WithAndWithoutCache) {
  for (const char* name : {"a", "b", "c"}) Member(name, 40, {{"zone", name}});
  PlacementPolicy policy = Preferring({{"zone", "b"}});
  policy.groups = {{"one", {"a", "b"}, std::nullopt, 60}, {"two", {"c"}, std::nullopt, 0}};
  Govern("", policy);
  Govern("job-2", Fixed({"c"}));
  for (int i = 0; i < 20; ++i) Cpus(5);
  CycleCache cache;
  CycleInput input = Input();
  const auto plain = Placed(Run(input));
  input.cache = &cache;
  EXPECT_EQ(Placed(Run(input)), plain);
  EXPECT_EQ(Placed(Run(input)), plain) << "with what was worked out before";
}

TEST_F(PlacementCycleTest, MachinesAreLookedFor_WhereThePolicySays_EvenIfTheirNamesAreAlike) {
  world_.config().topologies["hosts"] = {"hosts", {"kubernetes.io/hostname"}};
  world_.config().flavors["default"].topology = "hosts";
  for (const char* name : {"east", "west"}) {
    Node node;
    node.name = "h1";
    node.labels = {{"kubernetes.io/hostname", "h1"}};
    node.allocatable = {{"cpu", 4}, {"pods", 110}};
    Member(name, 8).nodes = {node};
  }
  View(0).member.kinds =
      std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"Job"});
  const auto submit = [&](ShapeKind shape) {
    PodSet pods = Pods("main", 1, {{"cpu", 2}});
    TopologyRequest request;
    request.required = "kubernetes.io/hostname";
    pods.topology = std::make_shared<const TopologyRequest>(request);
    auto job = world_.Job("q", 0, {pods});
    job->shape = shape;
    world_.Add(job);
  };
  for (int i = 0; i < 3; ++i) submit(ShapeKind::kJob);
  submit(ShapeKind::kRayJob);
  submit(ShapeKind::kJob);
  for (const char* name : {"job-1", "job-3"}) Govern(name, Fixed({"west"}));
  Snapshot snapshot = world_.Take();
  std::vector<MemberCluster> members;
  for (const ClusterView& view : snapshot.clusters) members.push_back(view.member);
  snapshot.topology =
      TopologyUsage(ForestOf(*snapshot.config, std::move(members), *snapshot.settings));
  const Plan plan = Decide(snapshot, Input());
  EXPECT_THAT(CheckPlan(snapshot, plan), IsEmpty());
  EXPECT_THAT(Placed(plan), ElementsAre("1 west", "2 east", "3 west", "5 east"));
  ASSERT_EQ(plan.not_admitted.size(), 1u);
  EXPECT_EQ(plan.not_admitted[0].job->id.value, 4) << "east has machines and does not serve it";
}

TEST_F(PlacementCycleTest, MachinesOnForbiddenMembersAreNoPlace_AndTheRefusalSaysWhy) {
  world_.config().topologies["hosts"] = {"hosts", {"kubernetes.io/hostname"}};
  world_.config().flavors["default"].topology = "hosts";
  Member("east", 8);
  Govern("", Fixed({"west"}));
  Cpus(1);
  Snapshot snapshot = world_.Take();
  snapshot.topology =
      TopologyUsage(ForestOf(*snapshot.config, {snapshot.clusters[0].member}, *snapshot.settings));
  const Plan plan = Decide(snapshot, Input());
  EXPECT_THAT(plan.admits, IsEmpty());
  ASSERT_EQ(plan.not_admitted.size(), 1u);
  EXPECT_THAT(plan.not_admitted[0].message,
              HasSubstr("no member cluster is open for new pods of this job: member cluster east: "
                        "ResourcePlacement default/all names only west"));
}

TEST_F(PlacementCycleTest, Explain_TellsWhoseEndMakesRoomOnMachines) {
  Member("east", 12).machines =
      std::make_shared<const MachineGroups>(MachineGroups{{{}, {}, {{"cpu", 2}}, 2}});
  HoldOn("east", 4);
  HoldOn("east", 1);
  ExplainInput input;
  input.job = Cpus(6);
  input.waiting = {input.job};
  input.snapshot = world_.Take();
  const Explanation why = Explain(input);
  EXPECT_EQ(why.clusters.at(0).filter, "MachineShape");
  EXPECT_THAT(why.would_help, Contains(HasSubstr("job 1 (default/job-1) ending")));
  EXPECT_THAT(why.would_help, Not(Contains(HasSubstr("job 2 (default/job-2) ending"))));
}

TEST_F(PlacementCycleTest, Explain_NamesThePlacement_AndEachFilter) {
  Member("east", 100);
  Member("west", 100, {{"zone", "w"}});
  Member("full", 0, {{"zone", "w"}});
  PlacementPolicy policy = Preferring({{"zone", "w"}}, 30);
  policy.required = {{{{{"zone", "w"}}, {}}, {}}};
  Govern("", policy);
  ExplainInput input;
  input.job = Cpus(1);
  input.waiting = {input.job};
  input.snapshot = world_.Take();
  const Explanation why = Explain(input);
  EXPECT_THAT(why.facts, Contains("it goes by ResourcePlacement default/all"));
  ASSERT_EQ(why.clusters.size(), 3u);
  EXPECT_EQ(why.clusters[0].filter, "ClusterAffinity");
  EXPECT_FALSE(why.clusters[0].eligible);
  EXPECT_EQ(why.clusters[1].filter, "");
  EXPECT_EQ(why.clusters[1].affinity_score, 30);
  ASSERT_EQ(why.clusters[1].terms.size(), 1u);
  EXPECT_EQ(why.clusters[1].terms[0].weight, 30);
  EXPECT_EQ(why.clusters[2].filter, "Capacity");
}

TEST_F(PlacementCycleTest, Explain_TellsOfARunningJobWhyItIsThere) {
  Member("east", 100);
  Govern("", Fixed({"east"}));
  auto job = std::make_shared<JobRecord>(*HoldOn("east", 1));
  job->conditions = std::make_shared<const std::vector<Condition>>([&] {
    auto all = job->conditions ? *job->conditions : std::vector<Condition>();
    Condition placed;
    placed.type = "Placed";
    placed.status = true;
    placed.message = "Successfully scheduled";
    all.push_back(placed);
    return all;
  }());
  ExplainInput input;
  input.job = job;
  input.snapshot = world_.Take();
  EXPECT_THAT(Explain(input).facts, Contains("Successfully scheduled"));
}

}  // namespace
}  // namespace muster::core::testing
