// The jobs that would have to be preempted, and why that is not allowed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/core/explain/explain.h"
#include "tests/unit/core/world.h"

namespace muster::core::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kGpu = "nvidia.com/gpu";
using Policy = PreemptionPolicy;

// Queues `own` (8) and `other` (8) share 16; `own` holds 8 at priority 10, `other` the amount of
// the case.
struct Case {
  const char* name;
  QueuePreemption policy;
  std::int32_t priority;    // of the job, which wants 4
  std::int64_t other_uses;  // at priority 5
  std::int64_t own_uses;
  std::vector<const char*> verdicts;  // own queue first
  std::vector<const char*> would_allow;
};

QueuePreemption Allow(Policy within, Policy reclaim, Policy borrow = Policy::kNever,
                      std::optional<std::int32_t> threshold = {}) {
  return {within, reclaim, borrow, threshold};
}

class ExplainVictims : public ::testing::TestWithParam<Case> {};

TEST_P(ExplainVictims, SaysWhyNot_AndWhatWouldBeOtherwise) {
  const Case& one = GetParam();
  World world;
  world.Queue("own", "all", {{"gpu", kGpu, 8}}).preemption = one.policy;
  world.Queue("other", "all", {{"gpu", kGpu, 8}});
  if (one.own_uses > 0) world.Hold("own", kGpu, one.own_uses, 10);
  if (one.other_uses > 0) world.Hold("other", kGpu, one.other_uses, 5);
  ExplainInput input;
  input.snapshot = world.Take();
  input.job = world.Job("own", one.priority, {Pods("main", 1, {{kGpu, 4}})});
  input.waiting = {input.job};
  const Explanation why = Explain(input);
  EXPECT_EQ(why.reason, "WaitingForQuota");
  EXPECT_TRUE(why.preemption.asked);
  EXPECT_THAT(why.preemption.victims, IsEmpty());
  std::vector<std::string> verdicts;
  for (const QueueHolders& held : why.preemption.held_by) verdicts.push_back(held.verdict);
  EXPECT_EQ(verdicts, std::vector<std::string>(one.verdicts.begin(), one.verdicts.end()));
  EXPECT_EQ(why.preemption.would_allow,
            std::vector<std::string>(one.would_allow.begin(), one.would_allow.end()));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, ExplainVictims,
    ::testing::Values(
        Case{
            "NeverProtectsAll",
            Allow(Policy::kNever, Policy::kNever),
            20,
            12,
            4,
            {"withinClusterQueue: Never protects them", "reclaimWithinCohort: Never protects them"},
            {"with withinClusterQueue: LowerPriority (now Never) it would preempt job 1 "
             "(default/job-1)",
             "with reclaimWithinCohort: LowerPriority (now Never) it would preempt job 2 "
             "(default/job-2)"}},
        Case{"EqualAndHigherPriorityStays",
             Allow(Policy::kLowerPriority, Policy::kNever),
             10,
             8,
             8,
             {"withinClusterQueue: LowerPriority takes only priorities below 10: none of the 1 has "
              "one",
              "reclaimWithinCohort: Never protects them"},
             {"with a priority above 10 (now 10) it would preempt job 1 (default/job-1)"}},
        Case{"WhoDoesNotBorrowHasNothingToGive",
             Allow(Policy::kNever, Policy::kAny),
             20,
             8,
             8,
             {"withinClusterQueue: Never protects them",
              "ClusterQueue other uses no more than its own quota of it: there is nothing to "
              "reclaim"},
             {"with withinClusterQueue: LowerPriority (now Never) it would preempt job 1 "
              "(default/job-1)"}},
        Case{"WhoWouldBorrowItselfMayNotReclaim",
             Allow(Policy::kNever, Policy::kAny),
             20,
             9,
             7,
             {"withinClusterQueue: Never protects them",
              "with the job ClusterQueue own would use more nvidia.com/gpu than its own quota, and "
              "borrowWithinCohort: Never takes nothing back for that"},
             {"with withinClusterQueue: LowerPriority (now Never) it would preempt job 1 "
              "(default/job-1)",
              "with borrowWithinCohort: LowerPriority (now Never) it would preempt job 2 "
              "(default/job-2)"}},
        Case{"TheThresholdProtects",
             Allow(Policy::kNever, Policy::kAny, Policy::kLowerPriority, 3),
             20,
             9,
             7,
             {"withinClusterQueue: Never protects them",
              "1 of 1 may be preempted by priority; while the job borrows only those up to 3 "
              "(borrowWithinCohort), and that does not make enough room"},
             {"with withinClusterQueue: LowerPriority (now Never) it would preempt job 1 "
              "(default/job-1)"}},
        Case{"PriorityProtectsInTheCohort",
             Allow(Policy::kNever, Policy::kLowerPriority),
             1,
             12,
             4,
             {"withinClusterQueue: Never protects them",
              "reclaimWithinCohort: LowerPriority takes only priorities below 1: none of the 1 has "
              "one"},
             {"with a priority above 10 (now 1) it would preempt job 2 (default/job-2)",
              "with reclaimWithinCohort: Any (now LowerPriority) it would preempt job 2 "
              "(default/job-2)"}}),
    [](const auto& one) { return one.param.name; });

TEST(ExplainPreemption, WhoIsPreempted_IsNamed) {
  World world;
  world.Queue("q", "", {{"gpu", kGpu, 8}}).preemption.within_cluster_queue = Policy::kLowerPriority;
  world.Hold("q", kGpu, 8);
  ExplainInput input;
  input.snapshot = world.Take();
  input.job = world.Job("q", 1, {Pods("main", 1, {{kGpu, 4}})});
  input.waiting = {input.job};
  const Explanation why = Explain(input);
  EXPECT_EQ(why.reason, "WaitingForPreemptedWorkloads");
  EXPECT_EQ(why.summary, "it preempts job 1 (default/job-1) and starts when their pods are gone");
  EXPECT_THAT(why.would_help, ElementsAre("the pods of job 1 (default/job-1) being gone"));
}

TEST(ExplainPreemption, FairSharing_ComparesTheShares) {
  World world;
  AdmissionSettings settings;
  settings.fair_sharing.emplace();
  world.Set(settings);
  world.Queue("own", "all", {{"gpu", kGpu, 8}}).preemption.reclaim_within_cohort = Policy::kAny;
  world.Queue("other", "all", {{"gpu", kGpu, 8}});
  world.Queue("idle", "all", {{"gpu", kGpu, 8}});
  world.Hold("own", kGpu, 12);
  world.Hold("other", kGpu, 12);
  ExplainInput input;
  input.snapshot = world.Take();
  input.job = world.Job("own", 0, {Pods("main", 1, {{kGpu, 4}})});
  input.waiting = {input.job};
  const Explanation why = Explain(input);
  ASSERT_EQ(why.preemption.held_by.size(), 2u);
  EXPECT_EQ(why.preemption.held_by[1].verdict,
            "fair sharing: with the job ClusterQueue own would have a share of 333.3333333333333, "
            "ClusterQueue other has 166.66666666666666; only from a higher share something is "
            "taken, and no more than leaves it as high");
}

}  // namespace
}  // namespace muster::core::testing
