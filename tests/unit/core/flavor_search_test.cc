// The flavor search beyond a first fit: preemption grades, fungibility, resumption, pins, slices,
// reservations, pod sets decided together, and the verdict without sentences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/core/flavor/flavor_assigner.h"
#include "schedd/core/queue/workload_class.h"
#include "tests/support/attempts_text.h"
#include "tests/unit/core/flavor_world.h"

namespace muster::core::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using Possibility = PreemptionOutlook::Possibility;

PodSets OneCpu(std::int64_t amount) { return {Pods("main", 1, {{"cpu", amount}})}; }

std::int32_t TriedOf(const Assignment& assignment, const std::string& resource) {
  return assignment.pod_sets.at(0).flavors.at(resource).tried_flavor_idx;
}

struct ScoreCase {
  const char* name;
  FlavorScore a, b;
  bool borrowing_first, preemption_first;  // is a better than b?
};

class BetterScore : public ::testing::TestWithParam<ScoreCase> {};

TEST_P(BetterScore, FollowsThePreference) {
  const auto& [name, a, b, borrowing_first, preemption_first] = GetParam();
  EXPECT_EQ(Better(a, b, FungibilityPreference::kBorrowingOverPreemption), borrowing_first);
  EXPECT_EQ(Better(a, b, FungibilityPreference::kPreemptionOverBorrowing), preemption_first);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, BetterScore,
    ::testing::Values(
        ScoreCase{"NoFit_IsNeverBetter", {Grade::kNoFit, 0}, {Grade::kNoCandidates, 9}, 0, 0},
        ScoreCase{"NoFit_IsNotBetterThanNoFit", {Grade::kNoFit, 0}, {Grade::kNoFit, 1}, 0, 0},
        ScoreCase{
            "AnyGrade_IsBetterThanNoFit", {Grade::kNoCandidates, 9}, {Grade::kNoFit, 0}, 1, 1},
        ScoreCase{"NoCandidates_IsWorseThanPreempting",
                  {Grade::kNoCandidates, 0},
                  {Grade::kPreempt, 3},
                  0,
                  0},
        ScoreCase{"AmongNoCandidates_LessBorrowing",
                  {Grade::kNoCandidates, 1},
                  {Grade::kNoCandidates, 2},
                  1,
                  1},
        ScoreCase{"ReclaimingWhileBorrowing_AgainstPreemptingAtHome",
                  {Grade::kReclaim, 1},
                  {Grade::kPreempt, 0},
                  1,
                  0},
        ScoreCase{
            "FittingFarAway_AgainstPreemptingAtHome", {Grade::kFit, 2}, {Grade::kPreempt, 0}, 1, 0},
        ScoreCase{"SameLevel_TheBetterGrade", {Grade::kFit, 1}, {Grade::kReclaim, 1}, 1, 1},
        ScoreCase{"SameGrade_TheNearerLevel", {Grade::kFit, 0}, {Grade::kFit, 1}, 1, 1},
        ScoreCase{"Equal_IsNotBetter", {Grade::kFit, 1}, {Grade::kFit, 1}, 0, 0}),
    [](const auto& of) { return of.param.name; });

struct StopCase {
  const char* name;
  FlavorScore score;
  FungibilityPolicy borrow, preempt;
  bool stops;
};

class StopRule : public ::testing::TestWithParam<StopCase> {};

TEST_P(StopRule, FollowsFungibility) {
  ClusterQueue queue;
  queue.when_can_borrow = GetParam().borrow;
  queue.when_can_preempt = GetParam().preempt;
  EXPECT_EQ(MayStop(GetParam().score, queue), GetParam().stops);
}

constexpr auto kStop = FungibilityPolicy::kMayStopSearch;
constexpr auto kNext = FungibilityPolicy::kTryNextFlavor;

INSTANTIATE_TEST_SUITE_P(
    Rules, StopRule,
    ::testing::Values(
        StopCase{"AFitAtHome_Always", {Grade::kFit, 0}, kNext, kNext, true},
        StopCase{"ABorrowingFit_IfBorrowingMayStop", {Grade::kFit, 1}, kStop, kNext, true},
        StopCase{"ABorrowingFit_NotIfTheNextIsToBeTried", {Grade::kFit, 1}, kNext, kStop, false},
        StopCase{"Preempting_IfItMayStop", {Grade::kPreempt, 0}, kNext, kStop, true},
        StopCase{"Preempting_NotIfTheNextIsToBeTried", {Grade::kReclaim, 0}, kStop, kNext, false},
        StopCase{"PreemptingAndBorrowing_NeedsBoth", {Grade::kPreempt, 1}, kNext, kStop, false},
        StopCase{"NobodyToEvict_Never", {Grade::kNoCandidates, 0}, kStop, kStop, false},
        StopCase{"NoFit_Never", {Grade::kNoFit, 0}, kStop, kStop, false}),
    [](const auto& of) { return of.param.name; });

class FlavorSearchTest : public ::testing::Test {
 protected:
  FlavorWorld world_;
};

TEST_F(FlavorSearchTest, Oracle_IsAskedForTheWholeAmount_OfEachPairThatLacksRoom) {
  world_.Queue("q", "", {{"f", "cpu", 10}, {"f", "gpu", 10}}).preemption.within_cluster_queue =
      PreemptionPolicy::kAny;
  world_.Take("q", "f", "gpu", 8);
  world_.Oracle().answers["f/gpu"] = {Possibility::kPreempt, 0};
  const auto assignment = world_.Assign(
      {Pods("a", 2, {{"cpu", 1}, {"gpu", 1}}), Pods("b", 1, {{"cpu", 1}, {"gpu", 1}})});
  EXPECT_THAT(world_.Oracle().asked, ElementsAre(Pair("f/gpu", 3)))
      << "pod set a fits; b stands on what a takes";
  EXPECT_EQ(assignment.Mode(), FlavorMode::kPreempt);
  const auto& b = assignment.pod_sets.at(1);
  EXPECT_EQ(b.flavors.at("gpu").mode, FlavorMode::kPreempt);
  EXPECT_EQ(b.flavors.at("cpu").mode, FlavorMode::kFit);
  EXPECT_THAT(b.reasons,
              ElementsAre("insufficient unused quota for gpu in flavor f, 1 more needed"));
  EXPECT_EQ(b.attempts.at(0).preemption, Possibility::kPreempt);
  EXPECT_THAT(assignment.Contested(world_.usage->tree()),
              ElementsAre(world_.usage->tree().PairIndex("f", "gpu")));
}

struct ConsideredCase {
  const char* name;
  std::int64_t own = 0;  // nominal quota of the queue
  PreemptionPolicy reclaim = PreemptionPolicy::kNever;
  PreemptionPolicy while_borrowing = PreemptionPolicy::kNever;
  bool fair = false;
  std::int64_t of_parent = 0;  // quota of the cohort that the queue is in
  bool asked = false;
};

class ConsideredFlavors : public ::testing::TestWithParam<ConsideredCase> {};

// The queue asks for 5; queues of another branch hold all.
TEST_P(ConsideredFlavors, DecidesWhetherTheOracleIsAsked) {
  const ConsideredCase& given = GetParam();
  FlavorWorld world;
  auto& queue = world.Queue("q", "near", {{"f", "cpu", given.own}});
  queue.preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  queue.preemption.reclaim_within_cohort = given.reclaim;
  queue.preemption.borrow_within_cohort = given.while_borrowing;
  if (given.fair) world.settings.fair_sharing = {{FairStrategy::kLessThanInitialShare}};
  world.CohortOf("near", "far", {{"f", "cpu", given.of_parent}});
  world.Queue("other", "far", {{"f", "cpu", 20}});
  world.Take("other", "f", "cpu", 20 + given.own + given.of_parent);
  world.Oracle();
  const auto assignment = world.Assign(OneCpu(5));
  EXPECT_EQ(!world.Oracle().asked.empty(), given.asked);
  EXPECT_EQ(assignment.Mode(), given.asked ? FlavorMode::kPreempt : FlavorMode::kNoFit);
  EXPECT_EQ(assignment.no_fit_reason, given.asked ? Reason::kNone : Reason::kWaitingForQuota);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, ConsideredFlavors,
    ::testing::Values(ConsideredCase{.name = "OwnNominalQuota_Suffices", .own = 5, .asked = true},
                      ConsideredCase{.name = "BorrowingFromTheRoot_IsNotWorthAsking"},
                      ConsideredCase{.name = "ReclaimAlone_DoesNotHelpABorrower",
                                     .reclaim = PreemptionPolicy::kAny},
                      ConsideredCase{.name = "ASubtreeBelowTheRoot_Suffices",
                                     .own = 1,
                                     .of_parent = 4,
                                     .asked = true},
                      ConsideredCase{.name = "PreemptingWhileBorrowing_IsAllowedByPolicy",
                                     .reclaim = PreemptionPolicy::kAny,
                                     .while_borrowing = PreemptionPolicy::kLowerPriority,
                                     .asked = true},
                      ConsideredCase{.name = "UnderFairSharing_ReclaimIsEnough",
                                     .reclaim = PreemptionPolicy::kLowerPriority,
                                     .fair = true,
                                     .asked = true}),
    [](const auto& of) { return of.param.name; });

TEST_F(FlavorSearchTest, ReclaimInALaterFlavor_BeatsPreemptionInTheFirst) {
  world_.Queue("q", "team", {{"one", "cpu", 10}, {"two", "cpu", 10}}).preemption = {
      PreemptionPolicy::kAny, PreemptionPolicy::kAny, PreemptionPolicy::kNever, {}};
  world_.Take("q", "one", "cpu", 10);
  world_.Take("q", "two", "cpu", 10);
  world_.Oracle().answers = {{"one/cpu", {Possibility::kPreempt, 0}},
                             {"two/cpu", {Possibility::kReclaim, 0}}};
  EXPECT_EQ(FlavorOf(world_.Assign(OneCpu(5)), 0, "cpu"), "two");
  world_.config.cluster_queues["q"].when_can_preempt = kStop;
  const auto stopped = world_.Assign(OneCpu(5));
  EXPECT_EQ(FlavorOf(stopped, 0, "cpu"), "one");
  EXPECT_EQ(TriedOf(stopped, "cpu"), 0) << "goes on with the second flavor next time";
}

TEST_F(FlavorSearchTest, ScanPosition_IsWhereTheSearchGoesOn) {
  world_.Queue("q", "", {{"one", "cpu", 10}, {"two", "cpu", 10}, {"three", "cpu", 10}});
  const JobRecord job = world_.Job(OneCpu(5));
  AssignRequest request;
  ScanPosition position;
  request.resume = &position;
  const auto from = [&](ScanPosition tried) {
    position = std::move(tried);
    return FlavorOf(world_.Assign(job, request), 0, "cpu");
  };
  EXPECT_EQ(from({}), "one");
  EXPECT_EQ(from({{{"cpu", 0}}}), "two");
  EXPECT_EQ(from({{{"cpu", 1}}}), "three");
  EXPECT_EQ(from({{{"cpu", -1}}}), "one") << "it had seen all of them";
  EXPECT_EQ(from({{{"gpu", 1}}}), "one") << "nothing is remembered of this resource";
  EXPECT_EQ(from({{{"cpu", 7}}}), "one") << "the group has become shorter";
  world_.settings.flavor_fungibility = false;
  EXPECT_EQ(from({{{"cpu", 0}}}), "one") << "without the gate nothing is remembered";
}

TEST_F(FlavorSearchTest, TriedIndex_IsThatOfTheLastFlavorLookedAt_NotOfTheOneChosen) {
  auto& queue =
      world_.Queue("q", "team", {{"one", "cpu", 1}, {"two", "cpu", 0}, {"three", "cpu", 0}});
  world_.Queue("other", "team", {{"one", "cpu", 10}});
  auto assignment = world_.Assign(OneCpu(5));
  EXPECT_EQ(FlavorOf(assignment, 0, "cpu"), "one");
  EXPECT_THAT(assignment.last_tried, ElementsAre(ElementsAre(Pair("cpu", 0))));
  queue.when_can_borrow = kNext;
  assignment = world_.Assign(OneCpu(5));
  EXPECT_EQ(FlavorOf(assignment, 0, "cpu"), "one");
  EXPECT_THAT(assignment.last_tried, ElementsAre(ElementsAre(Pair("cpu", -1))));
  EXPECT_THAT(world_.Assign(OneCpu(50)).last_tried, ElementsAre(IsEmpty()))
      << "nothing to go on with";
}

TEST_F(FlavorSearchTest, WithoutFungibility_TheFirstFitEndsTheSearch_WhateverItBorrows) {
  auto& queue = world_.Queue("q", "team", {{"one", "cpu", 0}, {"two", "cpu", 10}});
  queue.when_can_borrow = kNext;
  world_.Queue("other", "team", {{"one", "cpu", 10}});
  EXPECT_EQ(FlavorOf(world_.Assign(OneCpu(5)), 0, "cpu"), "two");
  EXPECT_EQ(world_.Quick(world_.Job(OneCpu(5))), "fits two");
  world_.settings.flavor_fungibility = false;
  EXPECT_EQ(FlavorOf(world_.Assign(OneCpu(5)), 0, "cpu"), "one");
  EXPECT_EQ(world_.Quick(world_.Job(OneCpu(5))), "fits one");
}

TEST_F(FlavorSearchTest, Pins_AllowOnlyTheFlavorsOfTheFirstNomination) {
  world_.Queue("q", "", {{"one", "cpu", 10}, {"two", "cpu", 10}});
  const JobRecord job = world_.Job(OneCpu(5));
  const FlavorPins pins = {{"main", {{"cpu", "two"}}}};
  AssignRequest request;
  request.pins = &pins;
  const auto assignment = world_.Assign(job, request);
  EXPECT_EQ(FlavorOf(assignment, 0, "cpu"), "two");
  EXPECT_EQ(assignment.pod_sets[0].attempts.size(), 1u) << "the other was not looked at";
  EXPECT_EQ(PinsOf(assignment), pins);
  world_.Take("q", "two", "cpu", 8);
  EXPECT_EQ(world_.Assign(job, request).Message(),
            "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor "
            "two, 3m more needed, skipping flavor one as it is not found in the nomination mapping "
            "for resource cpu");
}

TEST_F(FlavorSearchTest, AllowedFlavors_BindAVariant_IfTheGateIsOn) {
  world_.Queue("q", "", {{"one", "cpu", 10}, {"two", "cpu", 10}});
  JobRecord job = world_.Job(OneCpu(5));
  AdmissionState state;
  state.allowed_flavors = {"two"};
  job.admission_state = std::make_shared<const AdmissionState>(state);
  EXPECT_EQ(FlavorOf(world_.Assign(job), 0, "cpu"), "one");
  world_.settings.concurrent_admission = true;
  EXPECT_EQ(FlavorOf(world_.Assign(job), 0, "cpu"), "two");
  EXPECT_EQ(world_.Quick(job), "fits two");
  state.allowed_flavors = {"none-such"};
  job.admission_state = std::make_shared<const AdmissionState>(state);
  const auto refused = world_.Assign(job);
  EXPECT_EQ(refused.Message(),
            "couldn't assign flavors to pod set main: skipping flavor one due to "
            "WorkloadAllowedResourceFlavorAnnotation annotation, skipping flavor two due to "
            "WorkloadAllowedResourceFlavorAnnotation annotation");
  EXPECT_EQ(refused.no_fit_reason, Reason::kNoMatchingFlavor);
}

TEST_F(FlavorSearchTest, ReplacedSlice_IsPaidForAlready_AndBindsToItsFlavor) {
  world_.Queue("q", "", {{"one", "cpu", 20}, {"two", "cpu", 10}});
  world_.Take("q", "two", "cpu", 8);
  Admission before;
  before.pod_sets = {
      {.name = "main", .count = 4, .flavors = {{"cpu", "two"}}, .usage = {{"cpu", 8}}}};
  AssignRequest request;
  request.replaced = &before;
  const JobRecord larger = world_.Job({Pods("main", 5, {{"cpu", 2}})});
  const auto assignment = world_.Assign(larger, request);
  EXPECT_EQ(FlavorOf(assignment, 0, "cpu"), "two");
  EXPECT_THAT(assignment.usage,
              ElementsAre(Charge{world_.usage->tree().PairIndex("two", "cpu"), 2}));
  EXPECT_EQ(assignment.ToAdmission("q")->pod_sets[0].usage, (ResourceList{{"cpu", 10}}));
  EXPECT_THAT(
      TotalRequests(world_.usage->tree(), DemandOf(larger, world_.settings), assignment, &before),
      ElementsAre(Charge{world_.usage->tree().PairIndex("two", "cpu"), 2}));
  EXPECT_EQ(world_.Assign(world_.Job({Pods("main", 7, {{"cpu", 2}})}), request).Message(),
            "couldn't assign flavors to pod set main: could not assign one flavor since the "
            "original workload is assigned: two, insufficient unused quota for cpu in flavor two, "
            "4m more needed");
  world_.settings.elastic_jobs = false;
  EXPECT_EQ(FlavorOf(world_.Assign(larger, request), 0, "cpu"), "one");
}

TEST_F(FlavorSearchTest, Reservation_KeepsItsFlavorsAndCounts) {
  world_.Queue("q", "", {{"one", "cpu", 10}, {"two", "cpu", 10}});
  JobRecord job = world_.Job({Pods("main", 5, {{"cpu", 2}})});
  Admission admission;
  admission.pod_sets = {
      {.name = "main", .count = 3, .flavors = {{"cpu", "two"}}, .usage = {{"cpu", 6}}}};
  job.admission = std::make_shared<const Admission>(admission);
  const auto assignment = world_.Assign(job);
  EXPECT_EQ(assignment.Mode(), FlavorMode::kFit);
  EXPECT_EQ(*assignment.ToAdmission(""), admission);
  EXPECT_THAT(assignment.usage,
              ElementsAre(Charge{world_.usage->tree().PairIndex("two", "cpu"), 6}));
  EXPECT_THAT(assignment.pod_sets[0].attempts, IsEmpty());
}

TEST_F(FlavorSearchTest, PodsGivenBack_AreNotAskedFor) {
  world_.Queue("q", "", {{"f", "cpu", 6}, {"f", "pods", 9}});
  JobRecord job = world_.Job({Pods("main", 5, {{"cpu", 2}})});
  AdmissionState state;
  state.reclaimable = {{"main", 2}};
  job.admission_state = std::make_shared<const AdmissionState>(state);
  const auto assignment = world_.Assign(job);
  ASSERT_EQ(assignment.Mode(), FlavorMode::kFit) << assignment.Message();
  EXPECT_EQ(assignment.pod_sets[0].count, 3);
  EXPECT_EQ(assignment.pod_sets[0].requests, (ResourceList{{"cpu", 6}, {"pods", 3}}));
  world_.settings.reclaimable_pods = false;
  EXPECT_EQ(world_.Assign(job).Mode(), FlavorMode::kNoFit);
}

TEST_F(FlavorSearchTest, FewerPods_AreChargedByTheirNumber) {
  world_.Queue("q", "", {{"f", "cpu", 6}, {"f", "pods", 9}});
  const JobRecord job = world_.Job({Pods("main", 5, {{"cpu", 2}})});
  EXPECT_EQ(world_.Assign(job).Mode(), FlavorMode::kNoFit);
  AssignRequest request;
  const std::int32_t counts[] = {3};
  request.counts = counts;
  const auto assignment = world_.Assign(job, request);
  ASSERT_EQ(assignment.Mode(), FlavorMode::kFit) << assignment.Message();
  EXPECT_EQ(assignment.ToAdmission("q")->pod_sets[0].count, 3);
  EXPECT_EQ(assignment.ToAdmission("q")->pod_sets[0].usage,
            (ResourceList{{"cpu", 6}, {"pods", 3}}));
  EXPECT_THAT(TotalRequests(world_.usage->tree(), DemandOf(job, world_.settings), assignment, {}),
              ElementsAre(Charge{world_.usage->tree().PairIndex("f", "cpu"), 6},
                          Charge{world_.usage->tree().PairIndex("f", "pods"), 3}));
}

TEST_F(FlavorSearchTest, PodSetsOfOneTopologyGroup_GetOneFlavorForTheirSum) {
  world_.Queue("q", "", {{"small", "cpu", 5}, {"large", "cpu", 9}});
  TopologyRequest group;
  group.pod_set_group = "ring";
  const PodSets pods = {OnTopology(Pods("leader", 1, {{"cpu", 1}}), group),
                        Pods("other", 1, {{"cpu", 3}}),
                        OnTopology(Pods("workers", 2, {{"cpu", 2}}), group)};
  auto assignment = world_.Assign(pods);
  EXPECT_EQ(FlavorOf(assignment, 0, "cpu"), "small");
  EXPECT_EQ(FlavorOf(assignment, 2, "cpu"), "small");
  EXPECT_EQ(FlavorOf(assignment, 1, "cpu"), "large") << "the group before it took all of small";
  EXPECT_EQ(assignment.pod_sets[1].name, "other") << "in the order of the workload";
  world_.Take("q", "small", "cpu", 1);
  assignment = world_.Assign(pods);
  EXPECT_EQ(FlavorOf(assignment, 0, "cpu"), "large") << "alone it would have fit into small";
  EXPECT_EQ(FlavorOf(assignment, 2, "cpu"), "large");
}

TEST_F(FlavorSearchTest, UndeclaredResources_AreIgnoredIfSettingsSaySo) {
  world_.Queue("q", "", {{"f", "cpu", 5}});
  const JobRecord job = world_.Job({Pods("main", 1, {{"cpu", 1}, {"gpu", 4}})});
  EXPECT_EQ(world_.Assign(job).no_fit_reason, Reason::kNoMatchingFlavor);
  EXPECT_EQ(world_.Quick(job), "no fit");
  world_.settings.ignore_undeclared = true;
  const auto assignment = world_.Assign(job);
  EXPECT_EQ(FlavorOf(assignment, 0, "cpu"), "f");
  EXPECT_FALSE(assignment.pod_sets[0].flavors.contains("gpu"));
  EXPECT_EQ(assignment.ToAdmission("q")->pod_sets[0].usage, (ResourceList{{"cpu", 1}}));
  EXPECT_EQ(world_.Quick(job), "fits f");
  world_.settings.quota_check_strategy = false;
  EXPECT_EQ(world_.Assign(job).Mode(), FlavorMode::kNoFit);
}

TEST_F(FlavorSearchTest, AllResourcesAreJudged_EvenAfterOneCannotFit) {
  world_.Queue("q", "", {{"f", "cpu", 5}, {"f", "gpu", 5}, {"f", "memory", 5}});
  EXPECT_EQ(world_.Assign({Pods("main", 1, {{"cpu", 6}, {"gpu", 7}, {"memory", 1}})}).Message(),
            "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor f, "
            "previously considered podsets requests (0) + current podset request (6m) > maximum "
            "capacity (5m), insufficient quota for gpu in flavor f, previously considered podsets "
            "requests (0) + current podset request (7) > maximum capacity (5)");
}

TEST_F(FlavorSearchTest, AttemptsText_TellsWhatWasConsidered) {
  world_.Queue("q", "team", {{"one", "cpu", 1000}, {"two", "cpu", 0}, {"three", "cpu", 2000}})
      .preemption.within_cluster_queue = PreemptionPolicy::kAny;
  world_.Queue("other", "team", {{"two", "cpu", 9000}});
  world_.Take("q", "one", "cpu", 1000);
  world_.Take("q", "three", "cpu", 1000);
  world_.Oracle().answers = {{"three/cpu", {Possibility::kPreempt, 0}}};
  world_.config.cluster_queues["q"].when_can_borrow = kNext;
  EXPECT_EQ(AttemptsText(world_.Assign(OneCpu(2000))),
            "main: one(NoFit;insufficient quota for cpu in flavor one, previously considered "
            "podsets requests (0) + current podset request (2) > maximum capacity (1)), "
            "three(preemptionMode=Preempt;insufficient unused quota for cpu in flavor three, 1 "
            "more needed), two(Fit;borrow=1)");
  EXPECT_EQ(AttemptsText(world_.Assign(OneCpu(1000))),
            "main: one(preemptionMode=NoCandidates;insufficient unused quota for cpu in flavor "
            "one, 1 more needed), two(Fit;borrow=1)")
      << "what fits at home is not worth a word";
}

TEST_F(FlavorSearchTest, NoFitReason_IsTheWorstOfTheGroups_AndTheMildestOfTheirFlavors) {
  auto& queue = world_.Queue("q", "", {{"one", "cpu", 5}, {"tainted", "cpu", 9}});
  world_.Flavor("tainted", {}, {{"k", "v", "NoSchedule"}});
  queue.resource_groups.push_back(Group({{"disk", "storage", 5}}));
  world_.Flavor("disk", {}, {{"k", "v", "NoSchedule"}});
  EXPECT_EQ(world_.Assign(OneCpu(7)).no_fit_reason, Reason::kExceedsMaxQuota);
  EXPECT_EQ(world_.Assign({Pods("main", 1, {{"cpu", 1}, {"storage", 1}})}).no_fit_reason,
            Reason::kNoMatchingFlavor);
}

TEST_F(FlavorSearchTest, QuickVerdict_SaysWhatNeedsNoOracle) {
  auto& queue = world_.Queue("q", "team", {{"one", "cpu", 5}, {"two", "cpu", 5}});
  world_.Queue("other", "team", {{"one", "cpu", 1}, {"two", "cpu", 1}});
  world_.Take("q", "one", "cpu", 5);
  const auto quick = [&](std::int64_t amount) { return world_.Quick(world_.Job(OneCpu(amount))); };
  EXPECT_EQ(quick(5), "fits two");
  EXPECT_EQ(quick(50), "no fit");
  world_.Take("q", "two", "cpu", 5);
  EXPECT_EQ(quick(5), "no victims") << "its queue may evict nobody";
  queue.preemption.within_cluster_queue = PreemptionPolicy::kAny;
  EXPECT_EQ(quick(5), "needs search");
  EXPECT_EQ(quick(50), "no fit");
  EXPECT_EQ(quick(6), "no fit") << "6 would have to be borrowed, and the cohort has none free";
}

TEST_F(FlavorSearchTest, QuickVerdict_PassesAFlavorThatNeedsVictims_OnlyWhereAFitIsBetter) {
  auto& queue = world_.Queue("q", "team", {{"one", "cpu", 5}, {"two", "cpu", 1}});
  world_.Queue("other", "team", {{"two", "cpu", 9}});
  queue.preemption.within_cluster_queue = PreemptionPolicy::kAny;
  world_.Take("q", "one", "cpu", 5);
  const JobRecord job = world_.Job(OneCpu(5));
  EXPECT_EQ(world_.Quick(job), "fits two");
  queue.preference = FungibilityPreference::kPreemptionOverBorrowing;
  queue.when_can_borrow = kNext;
  EXPECT_EQ(world_.Quick(job), "needs search") << "evicting at home may be preferred";
  queue.preference = FungibilityPreference::kBorrowingOverPreemption;
  queue.when_can_preempt = kStop;
  EXPECT_EQ(world_.Quick(job), "needs search") << "the search may end at the first flavor";
}

TEST_F(FlavorSearchTest, Classes_TellWorkloadsApart_ThatAnyRuleTellsApart) {
  const auto key = [&](const PodSet& pods, const AdmissionState& state = {}) {
    JobRecord job = world_.Job({pods});
    job.admission_state = std::make_shared<const AdmissionState>(state);
    std::string text;
    AppendSchedulingKey(ConfigView{}, job, world_.settings, &text);
    return text;
  };
  const PodSet plain = Pods("main", 4, {{"cpu", 1}});
  std::vector<std::string> keys = {key(plain)};
  PodSet changed = plain;
  changed.min_count = 2;
  keys.push_back(key(changed));
  changed = plain;
  changed.node_requests = std::make_shared<const ResourceList>(ResourceList{{"cpu", 2}});
  keys.push_back(key(changed));
  TopologyRequest request;
  for (const char* level : {"rack", "block"}) {
    request = {};
    request.required = level;
    keys.push_back(key(OnTopology(plain, request)));
    request = {};
    request.preferred = level;
    keys.push_back(key(OnTopology(plain, request)));
    request = {};
    request.slice_required = level;
    request.slice_size = 2;
    keys.push_back(key(OnTopology(plain, request)));
  }
  request = {};
  request.unconstrained = true;
  keys.push_back(key(OnTopology(plain, request)));
  request.pod_set_group = "ring";
  keys.push_back(key(OnTopology(plain, request)));
  SchedulingConstraints constraints;
  constraints.preferred_terms = {{5, {{{"zone", "In", {"a"}}}}}};
  keys.push_back(key(With(plain, constraints)));
  AdmissionState state;
  state.reclaimable = {{"main", 1}};
  keys.push_back(key(plain, state));
  state = {};
  state.allowed_flavors = {"one"};
  keys.push_back(key(plain, state));
  const std::set<std::string> distinct(keys.begin(), keys.end());
  EXPECT_EQ(distinct.size(), keys.size());
  EXPECT_EQ(key(plain), key(Pods("main", 4, {{"cpu", 1}})));
}

}  // namespace
}  // namespace muster::core::testing
