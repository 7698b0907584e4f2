// How many running jobs disruption budgets let go, and which jobs NoExecute taints evict.
#include "schedd/core/member/disruption.h"

#include <gtest/gtest.h>

#include "tests/unit/core/world.h"

namespace muster::core::testing {
namespace {

DisruptionBudget MaxUnavailable(std::int32_t value, bool percent = false) {
  return {"ml", "p", DisruptionLimit{value, percent}, std::nullopt};
}
DisruptionBudget MinAvailable(std::int32_t value, bool percent = false) {
  return {"ml", "p", std::nullopt, DisruptionLimit{value, percent}};
}

TEST(DisruptionBudgets, AllowWhatIsLeftOfThem) {
  struct Case {
    const char* says;
    DisruptionBudget budget;
    DisruptionCount count;
    std::int64_t allowed;
  };
  const Case cases[] = {
      {"one of three may stop", MaxUnavailable(1), {3, 3}, 1},
      {"one has stopped already", MaxUnavailable(1), {3, 2}, 0},
      {"more have stopped than may", MaxUnavailable(1), {3, 1}, 0},
      {"none may", MaxUnavailable(0), {3, 3}, 0},
      {"a half of three is rounded up", MaxUnavailable(50, true), {3, 3}, 2},
      {"all may", MaxUnavailable(100, true), {3, 3}, 3},
      {"two of three must run", MinAvailable(2), {3, 3}, 1},
      {"two of three must, and two do", MinAvailable(2), {3, 2}, 0},
      {"more must than there are", MinAvailable(5), {3, 3}, 0},
      {"a half of three that must is rounded up", MinAvailable(50, true), {3, 3}, 1},
      {"nobody is there", MinAvailable(0), {0, 0}, 0},
      {"a half of the four that are desired", MaxUnavailable(50, true), {3, 3, 4}, 2},
      {"and of these three must stay", MinAvailable(75, true), {3, 3, 4}, 0},
  };
  for (const Case& one : cases)
    EXPECT_EQ(DisruptionsAllowed(one.budget, one.count), one.allowed) << one.says;
}

TEST(DisruptionBudgets, ThoseOfPickAllKnowNoWantedNumber) {
  EXPECT_NE(BudgetProblem(MaxUnavailable(1), PlacementType::kPickAll), "");
  EXPECT_NE(BudgetProblem(MinAvailable(50, true), PlacementType::kPickAll), "");
  EXPECT_EQ(BudgetProblem(MinAvailable(1), PlacementType::kPickAll), "");
  EXPECT_EQ(BudgetProblem(MaxUnavailable(1), PlacementType::kPickN), "");
  EXPECT_EQ(BudgetProblem(MinAvailable(50, true), PlacementType::kPickN), "");
}

TEST(WorkEvictions, MeanWhatWasPickedUntilThen) {
  ConfigView config;
  const auto put = [&](const char* name, std::int64_t at) {
    config.placement_evictions[{"ml", name}] = {"ml", name, "p", "east", true, {at}};
  };
  put("open", 0);
  EXPECT_TRUE(ExecutedEvictions(config).empty());
  put("last", 20);
  put("old", 10);
  const Evictions evictions = ExecutedEvictions(config);
  Work work;
  work.ns = "ml";
  work.placement = "p";
  work.cluster = "east";
  work.state = WorkState::kBound;
  work.scheduled_at = {20};
  EXPECT_TRUE(IsEvicted(work, evictions));
  work.scheduled_at = {21};
  EXPECT_FALSE(IsEvicted(work, evictions));
  work.scheduled_at = {5};
  work.cluster = "west";
  EXPECT_FALSE(IsEvicted(work, evictions));
  work.cluster = "east";
  work.state = WorkState::kLeaving;
  EXPECT_FALSE(IsEvicted(work, evictions)) << "it leaves already";
}

TEST(WorkEvictions, AvailableIsWhereAllIsAppliedAndWorks) {
  using enum ManifestResult;
  using enum ManifestAvailability;
  const auto available = [](WorkState state, ManifestResult result, ManifestAvailability one) {
    Work work;
    work.state = state;
    work.manifests.resize(2);
    for (ManifestStatus& manifest : work.manifests) {
      manifest.result = kApplied;
      manifest.availability = kAvailable;
    }
    work.manifests[1].result = result;
    work.manifests[1].availability = one;
    return IsAvailable(work);
  };
  EXPECT_TRUE(available(WorkState::kBound, kApplied, kAvailable));
  EXPECT_TRUE(available(WorkState::kBound, kApplied, kNotTrackable));
  EXPECT_FALSE(available(WorkState::kBound, kApplied, kNotYet));
  EXPECT_FALSE(available(WorkState::kBound, kPending, kAvailable));
  EXPECT_FALSE(available(WorkState::kBound, kNoDiffFound, kUnknown));
  EXPECT_FALSE(available(WorkState::kLeaving, kApplied, kAvailable));
}

class LeavingJobs : public ::testing::Test {
 protected:
  LeavingJobs() {
    world_.Queue("cq", "", {});
    world_.AddLocalQueue("ml", "lq", "cq");
    job_ = world_.Job("cq", 0, {Pods("main", 1, {{"cpu", 1000}})});
    job_->name = "train";
    job_->ns = "ml";
    job_->local_queue = "lq";
    job_->state = JobState::kRunning;
    job_->attempt = 1;
    job_->admit_time = {100 * kMicrosPerSecond};
    member_.name = "east";
  }
  // A placement of all Jobs in ml.
  void Govern(PlacementType type, std::vector<Toleration> tolerations = {}) {
    auto placement = std::make_shared<Placement>();
    placement->ns = "ml";
    placement->name = "p";
    placement->selectors = {{"batch", "v1", "Job", "", std::nullopt}};
    placement->policy.type = type;
    placement->policy.tolerations = std::move(tolerations);
    auto table = std::make_shared<PlacementTable>();
    table->Put(placement);
    world_.config().placements = table;
  }
  void Budget(const DisruptionBudget& budget) {
    world_.config().disruption_budgets[{"ml", "p"}] = budget;
  }
  void Taint(const char* effect, std::int64_t at_s = 50) {
    member_.taints = {muster::Taint{"work", "", effect}};
    member_.tainted_at = {WallTime{at_s * kMicrosPerSecond}};
  }
  // In seconds; -1: never, 0: at once.
  std::int64_t GoesAt() {
    const auto away = DrivenAway(world_.config(), *job_, member_);
    return !away ? -1 : away->at.us / kMicrosPerSecond;
  }

  World world_;
  std::shared_ptr<JobRecord> job_;
  MemberCluster member_;
  const Toleration for_ever_{"work", "Exists", "", "NoExecute", std::nullopt};
  const Toleration a_minute_{"work", "Exists", "", "NoExecute", 60};
};

TEST_F(LeavingJobs, ATaintNoExecuteDrivesAwayWhoDoesNotTolerateIt) {
  EXPECT_EQ(GoesAt(), -1) << "no taint";
  Taint("NoSchedule");
  EXPECT_EQ(GoesAt(), -1) << "it repels only";
  EXPECT_FALSE(DrivesAway(member_));
  Taint("NoExecute");
  EXPECT_TRUE(DrivesAway(member_));
  EXPECT_EQ(GoesAt(), 0) << "no placement, and its pods tolerate nothing";
  Govern(PlacementType::kPickN);
  EXPECT_EQ(GoesAt(), 0);
  EXPECT_EQ(DrivenAway(world_.config(), *job_, member_)->message,
            "member cluster east has taint work:NoExecute, which the job does not tolerate");
  Govern(PlacementType::kPickN, {for_ever_});
  EXPECT_EQ(GoesAt(), -1);
  Govern(PlacementType::kPickFixed);
  EXPECT_EQ(GoesAt(), -1) << "it was sent there by name";
}

TEST_F(LeavingJobs, TolerationSecondsCountFromTheLaterOfTaintAndAdmission) {
  Govern(PlacementType::kPickN, {a_minute_});
  Taint("NoExecute", 150);
  EXPECT_EQ(GoesAt(), 210);
  Taint("NoExecute", 50);
  EXPECT_EQ(GoesAt(), 160) << "it was admitted at 100";
  Govern(PlacementType::kPickN, {for_ever_, a_minute_});
  EXPECT_EQ(GoesAt(), -1) << "the first toleration that matches counts";
}

TEST_F(LeavingJobs, AJobWithoutPlacementGoesByItsPods) {
  auto constraints = std::make_shared<SchedulingConstraints>();
  constraints->tolerations = {a_minute_};
  auto pods = std::make_shared<std::vector<PodSet>>(*job_->pod_sets);
  pods->resize(2);
  for (PodSet& one : *pods) one.constraints = constraints;
  job_->pod_sets = pods;
  Taint("NoExecute");
  EXPECT_EQ(GoesAt(), 160);
  auto other = std::make_shared<std::vector<PodSet>>(*pods);
  other->back().constraints = nullptr;
  job_->pod_sets = other;
  EXPECT_EQ(GoesAt(), 0) << "all of its pods must tolerate it";
}

TEST_F(LeavingJobs, AJobPinnedToTheMemberStays) {
  JobPlacement says;
  says.cluster = "east";
  job_->placement = std::make_shared<const JobPlacement>(says);
  Taint("NoExecute");
  EXPECT_EQ(GoesAt(), -1);
}

TEST_F(LeavingJobs, ABudgetCountsEachJobThatLeavesAtOnce) {
  Govern(PlacementType::kPickN);
  const PlacementTable::Key key{"ml", "p"};
  Disruptions none(world_.config());
  EXPECT_FALSE(none.needs_count());
  EXPECT_TRUE(none.Take(key, 100)) << "no budget";
  Budget(MinAvailable(1));
  Disruptions budgets(world_.config());
  EXPECT_TRUE(budgets.needs_count());
  for (int i = 0; i < 3; ++i) budgets.Count(*job_, true);
  EXPECT_FALSE(budgets.Take(key, 3)) << "all or none";
  EXPECT_TRUE(budgets.Take(key, 1));
  budgets.Gone(key);
  EXPECT_FALSE(budgets.Take(key, 1));
  EXPECT_TRUE(budgets.Take(key, 0)) << "who does not run asks nobody";
  EXPECT_EQ(budgets.WhyBlocked(key),
            "ResourcePlacementDisruptionBudget ml/p keeps it: 1 of 3 jobs run, and 0 of them may "
            "stop");
}

TEST_F(LeavingJobs, ABudgetThatCannotBeKeptLetsNobodyGo) {
  Govern(PlacementType::kPickAll);
  Budget(MaxUnavailable(100));
  Disruptions budgets(world_.config());
  budgets.Count(*job_, true);
  EXPECT_FALSE(budgets.Take({"ml", "p"}, 1));
  EXPECT_NE(budgets.WhyBlocked({"ml", "p"}).find("PickAll"), std::string::npos);
}

TEST_F(LeavingJobs, WhoRanAndWaitsToRunAgainIsWantedStill) {
  EXPECT_TRUE(CountsForBudget(*job_));
  job_->state = JobState::kPending;
  EXPECT_TRUE(CountsForBudget(*job_));
  job_->attempt = 0;
  EXPECT_FALSE(CountsForBudget(*job_)) << "it never ran";
  job_->attempt = 1;
  job_->state = JobState::kHeld;
  EXPECT_FALSE(CountsForBudget(*job_)) << "its user does not want it now";
  job_->state = JobState::kSucceeded;
  EXPECT_FALSE(CountsForBudget(*job_));
}

}  // namespace
}  // namespace muster::core::testing
