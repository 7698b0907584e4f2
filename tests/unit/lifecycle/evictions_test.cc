// The first step of every eviction, and that it leads back.
#include "schedd/lifecycle/evictions.h"

#include <functional>

#include "tests/unit/lifecycle/records.h"

namespace muster::changes::testing {
namespace {

using Make = std::function<Draft(const JobRecord&)>;

struct EvictionCase {
  const char* name;
  Make evict;
  Reason reason;
  const char* condition;  // reason of Evicted
  bool active;            // afterwards
};

core::Eviction Preemption() {
  core::Eviction eviction;
  JobRecord preemptor = Job();
  preemptor.id = JobId{8};
  eviction.preemptor = std::make_shared<const JobRecord>(preemptor);
  eviction.reason = Reason::kPreempted;
  eviction.preemption_reason = Reason::kInClusterQueue;
  return eviction;
}

JobRecord WithCheck(const JobRecord& job, CheckState state) {
  JobRecord checked = job;
  ChangeState(&checked, [&](AdmissionState* own) {
    AdmissionCheckStatus check;
    check.name = "c";
    check.state = state;
    check.message = "said so";
    check.last_transition = kNow;
    own->checks.push_back(check);
  });
  return checked;
}

class EvictionStepTest : public ::testing::TestWithParam<EvictionCase> {};

TEST_P(EvictionStepTest, MarksARecordThatGoesOnHoldingItsQuota) {
  const JobRecord job = AdmittedJob();
  const Draft draft = GetParam().evict(job);
  ASSERT_NE(draft, nullptr);
  const Condition* evicted = FindCondition(*draft, "Evicted");
  ASSERT_NE(evicted, nullptr);
  EXPECT_TRUE(evicted->status);
  EXPECT_EQ(evicted->reason, GetParam().condition);
  EXPECT_EQ(draft->reason, GetParam().reason);
  EXPECT_EQ(draft->message, evicted->message);
  EXPECT_EQ(draft->state, JobState::kAdmitted);
  EXPECT_EQ(draft->admission, job.admission);
  EXPECT_EQ(StateOf(*draft).active, GetParam().active);
  EXPECT_TRUE(IsRequeuing(*draft));
  EXPECT_FALSE(MayBeEvicted(*draft)) << "it is on its way out";
  const Draft back = BackToPending(*draft, After(5), AdmissionSettings{}, After(5));
  EXPECT_EQ(back->state, JobState::kPending);
  EXPECT_EQ(back->admission, nullptr);
}

TEST_P(EvictionStepTest, EndsAJobThatMayNotBeRequeuedOnlyIfItRuns) {
  JobRecord job = AdmittedJob();
  auto batch = std::make_shared<BatchDetails>();
  batch->requeue = false;
  job.batch = batch;
  EXPECT_TRUE(IsCancelling(*GetParam().evict(job)));
  EXPECT_TRUE(GetParam().evict(job)->message.ends_with(", and the job may not be requeued"));
  job.state = JobState::kReserved;
  EXPECT_FALSE(IsCancelling(*GetParam().evict(job)));
}

INSTANTIATE_TEST_SUITE_P(
    Causes, EvictionStepTest,
    ::testing::Values(EvictionCase{"APreemption",
                                   [](const JobRecord& job) {
  return Evicted(job, Preemption(), "uid", "job-uid", kNow);
                                   },
                                   Reason::kPreempted, "Preempted", true},
                      EvictionCase{"ANote",
                                   [](const JobRecord& job) {
  return Evicted(job, Reason::kLost, {"Lost", "", "is gone"}, kNow);
                                   },
                                   Reason::kLost, "Lost", true},
    EvictionCase{"ADeactivation", [](const JobRecord& job) { return Deactivated(job, "", kNow); },
                 Reason::kDeactivated, "Deactivated", false},
    EvictionCase{"ARetryOfACheck",
                 [](const JobRecord& job) {
  return EvictedByChecks(WithCheck(job, CheckState::kRetry), kNow);
                 },
                 Reason::kAdmissionCheck, "AdmissionCheck", true},
    EvictionCase{"ARejectionByACheck",
                 [](const JobRecord& job) {
  return EvictedByChecks(WithCheck(job, CheckState::kRejected), kNow);
                 },
                 Reason::kDeactivated, "DeactivatedDueToAdmissionCheck", false},
    EvictionCase{"PodsThatAreNotReadyInTime",
                 [](const JobRecord& job) {
  return EvictedUnready(job, WaitForPodsReady{}, {kNow, "WaitForStart"}, 0, false, kNow);
                 },
                 Reason::kPodsReadyTimeout, "PodsReadyTimeout", true}),
    [](const auto& test_info) { return std::string(test_info.param.name); });

TEST(Evictions, APreemptionSaysOfWhichKind) {
  const Draft draft = Evicted(AdmittedJob(), Preemption(), "uid", "job-uid", kNow);
  EXPECT_EQ(FindCondition(*draft, "Preempted")->reason, ReasonName(Reason::kInClusterQueue));
}

TEST(Evictions, ReadyChecksAskForNone) {
  EXPECT_EQ(EvictedByChecks(WithCheck(ReservedJob(), CheckState::kReady), kNow), nullptr);
}

TEST(Evictions, AMemberThatItDidNotStartOnIsAvoidedIfThereAreOthers) {
  for (const bool elsewhere : {true, false}) {
    const Draft draft = EvictedUnready(AdmittedJob(), WaitForPodsReady{}, {kNow, "WaitForStart"}, 0,
                                       elsewhere, kNow);
    EXPECT_EQ(StateOf(*draft).avoided.size(), elsewhere ? 1u : 0u);
  }
}

TEST(Evictions, TheLastTryOfAStartDeactivates) {
  WaitForPodsReady rules;
  rules.backoff_limit = 0;
  const Draft draft = EvictedUnready(AdmittedJob(), rules, {kNow, "WaitForStart"}, 0, false, kNow);
  EXPECT_EQ(draft->reason, Reason::kDeactivated);
  EXPECT_FALSE(StateOf(*draft).active);
}

TEST(Evictions, AWaitingJobIsDeactivatedAtOnceAndComesBackWhenItIsAsked) {
  const Draft draft = Deactivated(Job(), "", kNow);
  EXPECT_EQ(draft->reason, Reason::kDeactivated);
  EXPECT_EQ(draft->state, JobState::kPending);
  EXPECT_FALSE(MayQueue(*draft));
  ChangeState(draft.get(), [](AdmissionState* state) { state->active = true; });
  const Draft again = Requeued(*draft, "Reactivated", "asked for", After(5));
  EXPECT_TRUE(MayQueue(*again));
  EXPECT_EQ(again->reason, Reason::kPendingEvaluation);
}

}  // namespace
}  // namespace muster::changes::testing
