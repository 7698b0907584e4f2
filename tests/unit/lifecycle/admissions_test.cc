// The records that follow from what a cycle decided of a workload.
#include "schedd/lifecycle/admissions.h"

#include "tests/unit/lifecycle/records.h"

namespace muster::changes::testing {
namespace {

struct ReservationCase {
  const char* name;
  std::vector<AdmissionCheckRule> checks;  // of its ClusterQueue
  bool answered_ready;
  bool topology_delayed;
  JobState state;  // after GoOn
};

class ReservationTest : public ::testing::TestWithParam<ReservationCase> {};

TEST_P(ReservationTest, GoesOnOnceNothingIsOpen) {
  const ReservationCase& one = GetParam();
  const JobRecord job = Job();
  const core::PlannedAdmission admit = AdmitOf(job, one.topology_delayed);
  const AdmissionSettings settings;
  Draft draft = Reserved(job, admit, Queue(one.checks), settings, kNow);
  EXPECT_EQ(draft->state, JobState::kReserved);
  EXPECT_EQ(draft->cluster, "east");
  EXPECT_EQ(draft->admission, admit.admission);
  EXPECT_TRUE(IsTrue(*draft, "QuotaReserved"));
  if (one.answered_ready) Answer(draft.get(), CheckState::kReady);
  EXPECT_EQ(GoOn(draft.get(), settings, After(5)), one.state == JobState::kAdmitted);
  EXPECT_EQ(draft->state, one.state);
  EXPECT_EQ(draft->attempt, one.state == JobState::kAdmitted ? 1 : 0);
  EXPECT_EQ(IsTrue(*draft, "Admitted"), one.state == JobState::kAdmitted);
}

INSTANTIATE_TEST_SUITE_P(
    Reservations, ReservationTest,
    ::testing::Values(
        ReservationCase{"WithoutChecksItGoesOnAtOnce", {}, false, false, JobState::kAdmitted},
        ReservationCase{"ACheckIsWaitedFor", {{"c", {}}}, false, false, JobState::kReserved},
        ReservationCase{"AReadyCheckLetsItGoOn", {{"c", {}}}, true, false, JobState::kAdmitted},
        ReservationCase{
            "ACheckOfAnotherFlavorIsNotAsked", {{"c", {"gpu"}}}, false, false, JobState::kAdmitted},
        ReservationCase{
            "APlacementThatWasPutOffIsWaitedFor", {}, false, true, JobState::kReserved}),
    [](const auto& test_info) { return std::string(test_info.param.name); });

TEST(Admissions, WhatAVariantGotIsTheJobs) {
  const JobRecord job = Job();
  JobRecord variant = job;
  variant.id = JobId{-7};
  ChangeState(&variant, [](AdmissionState* state) {
    state->allowed_flavors = std::vector<std::string>{"spot"};
  });
  const Draft draft = Reserved(job, AdmitOf(variant), Queue(), AdmissionSettings{}, kNow);
  EXPECT_EQ(draft->id, job.id);
  EXPECT_EQ(StateOf(*draft).allowed_flavors, std::vector<std::string>{"spot"});
}

TEST(Admissions, ASecondPassCompletesThePlacementAndForgetsFailedNodes) {
  JobRecord job = AdmittedJob();
  ChangeState(&job, [](AdmissionState* state) { state->unhealthy_nodes = {"n1"}; });
  const core::PlannedAdmission admit = AdmitOf(job);
  const Draft draft = Completed(job, admit);
  EXPECT_EQ(draft->admission, admit.admission);
  EXPECT_TRUE(StateOf(*draft).unhealthy_nodes.empty());
  EXPECT_FALSE(GoOn(draft.get(), AdmissionSettings{}, After(5))) << "it runs already";
  EXPECT_EQ(draft->attempt, 1);
}

TEST(Admissions, AnEvictedReservationDoesNotGoOn) {
  JobRecord job = ReservedJob();
  MarkEvicted(&job, {"Preempted", "", "for another"}, kNow);
  EXPECT_FALSE(GoOn(&job, AdmissionSettings{}, After(5)));
}

TEST(Admissions, WhoWaitsSaysWhyAndIsLeftAloneIfItSaysSoAlready) {
  core::UnadmittedWorkload waiting;
  waiting.reason = Reason::kWaitingForCapacity;
  waiting.message = "no room";
  waiting.preemption_gated = true;
  const AdmissionSettings settings;
  const Draft draft = Waiting(Job(), waiting, settings, kNow);
  ASSERT_NE(draft, nullptr);
  EXPECT_EQ(draft->reason, Reason::kWaitingForCapacity);
  EXPECT_EQ(draft->message, "no room");
  EXPECT_TRUE(IsTrue(*draft, "BlockedOnPreemptionGates"));
  EXPECT_EQ(Waiting(*draft, waiting, settings, After(5)), nullptr);
  EXPECT_EQ(Waiting(AdmittedJob(), waiting, settings, After(5)), nullptr) << "it does not wait";
}

}  // namespace
}  // namespace muster::changes::testing
