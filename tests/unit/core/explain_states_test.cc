// Explanations of jobs that do not wait for quota: held, backing off, reserved, running, ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/core/explain/explain.h"
#include "schedd/model/eviction_lifecycle.h"
#include "tests/unit/core/world.h"

namespace muster::core::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kGpu = "nvidia.com/gpu";

class ExplainStates : public ::testing::Test {
 protected:
  ExplainStates() { world.Queue("q", "", {{"default", kGpu, 8}}); }
  Explanation Why(const JobPtr& job) {
    ExplainInput input;
    input.snapshot = world.Take();
    input.job = job;
    if (job->state == JobState::kPending) input.waiting = {job};
    return Explain(input);
  }
  WallTime After(std::int64_t seconds) const {
    return {world.now().us + seconds * kMicrosPerSecond};
  }
  std::shared_ptr<JobRecord> Job() {
    auto job = world.Job("q", 0, {Pods("main", 1, {{kGpu, 2}})});
    job->submit_time = After(-720);
    return job;
  }
  World world;
};

TEST_F(ExplainStates, HeldJob_MustBeReleased) {
  const auto job = Job();
  job->state = JobState::kHeld;
  const auto why = Why(job);
  EXPECT_EQ(why.reason, "HeldByUser");
  EXPECT_THAT(why.would_help, ElementsAre("releasing it: muster release 1"));
}

TEST_F(ExplainStates, DeactivatedJob_SaysSo) {
  const auto job = Job();
  ChangeState(job.get(), [](AdmissionState* state) {
    state->active = false;
    state->deactivation_cause = "MaximumExecutionTimeExceeded";
  });
  EXPECT_EQ(Why(job).summary,
            "The workload is deactivated due to exceeding the maximum execution time");
  EXPECT_EQ(Why(job).reason, "Deactivated");
  EXPECT_EQ(Why(job).place.position, 0u);
}

TEST_F(ExplainStates, JobThatBacksOff_SaysUntilWhen_AndWhatForItWasEvicted) {
  const auto job = Job();
  MarkEvicted(job.get(), {"PodsReadyTimeout", "", "Exceeded the PodsReady timeout 5m0s"},
              After(-30));
  ChangeState(job.get(), [&](AdmissionState* state) {
    state->requeue_at = After(90);
    state->requeue_count = 2;
  });
  const auto why = Why(job);
  EXPECT_EQ(why.reason, "Backoff");
  EXPECT_EQ(why.summary,
            "backs off after try 2 and is not tried again before 2023-11-14T22:14:50Z (in 1m30s)");
  EXPECT_THAT(why.facts,
              ElementsAre("submitted 2023-11-14T22:01:20Z (12m ago)",
                          "evicted 2023-11-14T22:12:50Z (30s ago) (PodsReadyTimeout): Exceeded the "
                          "PodsReady timeout 5m0s"));
}

TEST_F(ExplainStates, RequeuedJob_SaysUntilWhenItWaitsAndWhoSetThat) {
  const auto job = Job();
  MarkEvicted(job.get(), {"Requeued", "", "Requeued by alice"}, After(-30));
  SetCondition(job.get(), "Requeued", false, "Requeued", "Requeued by alice", After(-30));
  ChangeState(job.get(), [&](AdmissionState* state) { state->requeue_at = After(90); });
  EXPECT_EQ(Why(job).reason, "Backoff");
  EXPECT_EQ(
      Why(job).summary,
      "was requeued (Requeued by alice; annotation muster.io/requeue-wait of its queue) and is "
      "not tried again before 2023-11-14T22:14:50Z (in 1m30s)");
}

TEST_F(ExplainStates, JobThatIsEvictedInARow_SaysUntilWhenItWaits) {
  const auto job = Job();
  MarkEvicted(job.get(), {"Preempted", "", "Preempted to accommodate a workload"}, After(-1));
  SetCondition(job.get(), "Requeued", false, "Preempted", "Preempted", After(-1));
  ChangeState(job.get(), [&](AdmissionState* state) { state->requeue_at = After(4); });
  EXPECT_EQ(Why(job).summary,
            "was evicted again soon after it could run (Preempted) and is not tried again before "
            "2023-11-14T22:13:24Z (in 4s)");
}

TEST_F(ExplainStates, GatedJob_NamesItsGate) {
  const auto job = Job();
  ChangeState(job.get(), [](AdmissionState* state) { state->admission_gated_by = "acme.io/gate"; });
  EXPECT_EQ(Why(job).reason, "AdmissionGated");
  EXPECT_THAT(Why(job).would_help,
              ElementsAre("the removal of the gate acme.io/gate by the controller that set it"));
}

TEST_F(ExplainStates, ReservedJob_SaysWhichCheckItWaitsFor_SinceWhen) {
  const auto held = world.Hold("q", kGpu, 2);
  auto job = std::make_shared<JobRecord>(*held);
  job->state = JobState::kReserved;
  ChangeState(job.get(), [&](AdmissionState* state) {
    AdmissionCheckStatus budget;
    budget.name = "budget";
    budget.message = "asked the finance system";
    budget.last_transition = After(-60);
    AdmissionCheckStatus done;
    done.name = "done";
    done.state = CheckState::kReady;
    done.last_transition = After(-60);
    state->checks = {budget, done};
  });
  world.held()[0] = job;
  const auto why = Why(job);
  EXPECT_EQ(why.summary,
            "holds quota and waits for admission checks: budget (Pending); reserved main: 2 "
            "nvidia.com/gpu of flavor default");
  EXPECT_THAT(why.facts, Contains("admission check budget is Pending since 2023-11-14T22:12:20Z "
                                  "(1m ago): asked the finance system"));
  EXPECT_THAT(why.would_help,
              ElementsAre("admission check budget becoming Ready: asked the finance system"));
}

TEST_F(ExplainStates, RunningJob_SaysWhereItIs_AndWhyNotElsewhere) {
  world.config().cluster_queues.clear();
  world.Flavor("tainted", {}, {{"spot", "true", "NoSchedule"}});
  world.Queue("q", "", {{"tainted", kGpu, 8}, {"small", kGpu, 1}, {"default", kGpu, 8}});
  world.Member("east", {{kGpu, 8}});
  world.Member("west", {{kGpu, 1}});
  const auto held = world.Hold("q", kGpu, 2);
  auto job = std::make_shared<JobRecord>(*held);
  auto admission = std::make_shared<Admission>(*job->admission);
  admission->pod_sets[0].flavors[kGpu] = "default";
  job->admission = admission;
  job->cluster = "east";
  job->attempt = 1;
  job->reason = Reason::kRunning;
  job->admit_time = job->start_time = After(-60);
  job->time_limit_s = 3600;
  world.held()[0] = job;
  const auto why = Why(job);
  EXPECT_EQ(why.summary,
            "runs on member cluster east; ClusterQueue q reserved main: 2 nvidia.com/gpu of flavor "
            "default");
  EXPECT_THAT(why.facts,
              Contains("ends at the latest 2023-11-14T23:12:20Z (in 59m) (time limit 1h)"));
  EXPECT_THAT(why.facts, Contains("ClusterQueue q uses 2 of its own 8 nvidia.com/gpu of flavor "
                                  "default: nothing is borrowed"));
  ASSERT_EQ(why.flavors.size(), 3u);
  EXPECT_EQ(why.flavors[0].verdict.reason, Reason::kNoMatchingFlavor);
  EXPECT_EQ(why.flavors[1].verdict.reason, Reason::kExceedsMaxQuota);
  EXPECT_TRUE(why.flavors[2].chosen);
  ASSERT_EQ(why.clusters.size(), 2u);
  EXPECT_THAT(why.clusters[0].message, HasSubstr("the job is here"));
  EXPECT_FALSE(why.clusters[1].eligible);
}

TEST_F(ExplainStates, RunningJobOfABorrower_SaysThatItMayBeTakenBack) {
  world.config().cluster_queues["q"].cohort = "all";
  world.Queue("other", "all", {{"default", kGpu, 8}});
  const auto job = world.Hold("q", kGpu, 12);
  EXPECT_THAT(Why(job).facts,
              Contains("ClusterQueue q uses 12 of its own 8 nvidia.com/gpu of flavor default: it "
                       "borrows 4 from cohort all, whose other queues may take them back"));
}

TEST_F(ExplainStates, VictimOnItsWayOut_SaysForWhat) {
  const auto held = world.Hold("q", kGpu, 2);
  auto job = std::make_shared<JobRecord>(*held);
  MarkEvicted(job.get(), {"Preempted", "", "Preempted to accommodate a workload"}, After(-5));
  MarkPreempted(job.get(), Reason::kInClusterQueue, "Preempted to accommodate a workload",
                After(-5));
  job->reason = Reason::kPreempted;
  world.held()[0] = job;
  const auto why = Why(job);
  EXPECT_EQ(why.summary,
            "is being stopped and returns to its queue when its pods are gone: Preempted to "
            "accommodate a workload");
  EXPECT_THAT(why.facts,
              Contains("evicted 2023-11-14T22:13:15Z (5s ago) (Preempted, InClusterQueue)"));
}

TEST_F(ExplainStates, EndedJob_SaysHow) {
  const auto job = Job();
  job->state = JobState::kFailed;
  job->reason = Reason::kFailed;
  job->message = "container exited with 3";
  job->start_time = After(-300);
  job->end_time = After(-180);
  job->exit_code = 3;
  const auto why = Why(job);
  EXPECT_EQ(why.summary, "container exited with 3");
  EXPECT_EQ(why.reason, "Failed");
  EXPECT_THAT(why.facts, Contains("ran for 2m"));
  EXPECT_THAT(why.facts, Contains("exit code 3"));
  EXPECT_THAT(why.would_help, IsEmpty());
}

TEST(SpanText, HasTheTwoLargestUnits) {
  EXPECT_EQ(SpanText(0), "0s");
  EXPECT_EQ(SpanText(59), "59s");
  EXPECT_EQ(SpanText(60), "1m");
  EXPECT_EQ(SpanText(90), "1m30s");
  EXPECT_EQ(SpanText(3600 + 20 * 60 + 5), "1h20m");
  EXPECT_EQ(SpanText(2 * 86400 + 4 * 3600), "2d4h");
}

TEST(MentionsOf, NamesTheFirst_AndCountsTheRest) {
  World world;
  std::vector<JobPtr> jobs;
  for (int i = 0; i < 7; ++i) jobs.push_back(world.Job("q", 0, {}));
  EXPECT_EQ(MentionsOf({jobs[0]}, 1), "job 1 (default/job-1)");
  EXPECT_EQ(MentionsOf({jobs[0], jobs[1]}, 2), "job 1 (default/job-1) and job 2 (default/job-2)");
  EXPECT_THAT(MentionsOf(jobs, 7), HasSubstr("job 5 (default/job-5) and 2 more"));
  EXPECT_THAT(MentionsOf(jobs, 7), Not(HasSubstr("job 6 ")));
}

}  // namespace
}  // namespace muster::core::testing
