// The owners of what happens to one job.
#include <gtest/gtest.h>

#include "schedd/engine/jobs/stand_ins.h"
#include "schedd/engine/live/remote_objects.h"
#include "tests/support/owners_world.h"

namespace muster::test {
namespace {

class JobOwners : public ::testing::Test {
 protected:
  explicit JobOwners(EngineOptions options = {}) : world(std::move(options)) { world.Declare(); }
  JobPtr Admitted(const JobSpec& spec = {}) {
    const JobPtr job = world.Submit(spec);
    world.Cycle();
    return world.Now(job);
  }
  DispatchState RowState(const JobPtr& job) {
    return owners.rows.Find(CurrentKey(*world.Now(job)))->state;
  }
  Result<JobPtr> Do(JobVerb verb, JobId id) {
    Result<JobPtr> outcome = Internal("no answer");
    JobCommand command{{"ann", "loopback"}, verb, id, [&](Result<JobPtr> job) { outcome = job; }};
    owners.job_commands.Handle(std::move(command));
    world.Commit();
    return outcome;
  }

  OwnersWorld world;
  Owners& owners = world.owners;
};

// A node that an update takes out of the choice, and a lower priority, hold for tasks in the queue.
TEST_F(JobOwners, AnUpdateOfAnArray_ReachesItsEntriesInTheQueue) {
  const JobPtr array = world.Submit({.name = "array", .array = "0-99"});
  world.Cycle();
  const auto entry = [&] { return owners.waiting.queues().Find(StandInId(array->id, 63)); };
  ASSERT_NE(entry(), nullptr);
  auto draft = std::make_shared<JobRecord>(*world.Now(array));
  auto batch = std::make_shared<BatchDetails>(*draft->batch);
  batch->excluded_nodes = "east";
  draft->batch = std::move(batch);
  owners.jobs.Put(world.Now(array), std::move(draft), "JobUpdated");
  owners.array_tasks.Refill();
  EXPECT_EQ(entry()->batch->excluded_nodes, "east");
  draft = std::make_shared<JobRecord>(*world.Now(array));
  auto state = std::make_shared<BatchState>(*draft->batch_state);
  state->nice = 50;
  draft->batch_state = std::move(state);
  owners.jobs.Put(world.Now(array), std::move(draft), "JobUpdated");
  owners.array_tasks.Refill();
  EXPECT_EQ(BatchStateOf(*entry()).nice, 50);
}

TEST_F(JobOwners, AnAttemptIsOrderedOnlyWhenItsRowIsDurable) {
  const JobPtr job = world.Submit({});
  owners.decider.Cycle();
  EXPECT_TRUE(world.orders.lines.empty());
  world.Commit();
  EXPECT_EQ(world.orders.lines, std::vector<std::string>{"ensure east/1"});
  EXPECT_EQ(RowState(job), DispatchState::kIntent);
}

TEST_F(JobOwners, AnEvictedJobHoldsItsQuotaUntilItsPodsAreGone) {
  const JobPtr job = Admitted();
  world.Report(job, RemotePhase::kRunning);
  owners.attempts.EvictFor(world.Now(job), Reason::kClusterDrained,
                           {"ClusterDrained", "", "drained"});
  EXPECT_TRUE(HoldsQuota(world.Now(job)->state));
  EXPECT_EQ(RowState(job), DispatchState::kRevoking);
  owners.attempts.Step(CurrentKey(*world.Now(job)), dispatch::RemoveSucceeded{}, nullptr);
  EXPECT_EQ(world.Now(job)->state, JobState::kPending);
  EXPECT_EQ(world.Now(job)->admission, nullptr);
}

TEST_F(JobOwners, AJobThatMayNotBeRequeuedEndsWithItsEviction) {
  const JobPtr job = Admitted({.no_requeue = true});
  world.Report(job, RemotePhase::kRunning);
  owners.attempts.EvictFor(world.Now(job), Reason::kClusterDrained,
                           {"ClusterDrained", "", "drained"});
  owners.attempts.Step(CurrentKey(*world.Now(job)), dispatch::RemoveSucceeded{}, nullptr);
  EXPECT_EQ(world.Now(job)->state, JobState::kCancelled);
}

TEST_F(JobOwners, AReportOfAFormerAttemptChangesNothingOfTheJob) {
  const JobPtr job = Admitted();
  const DispatchKey former = CurrentKey(*world.Now(job));
  owners.attempts.EvictFor(world.Now(job), Reason::kClusterDrained, {"ClusterDrained", "", ""});
  owners.attempts.Step(former, dispatch::RemoveSucceeded{}, nullptr);
  Observation seen;
  seen.key = former;
  seen.phase = RemotePhase::kSucceeded;
  owners.attempts.Step(former, dispatch::Observed{seen}, &seen);
  EXPECT_EQ(world.Now(job)->state, JobState::kPending);
}

TEST_F(JobOwners, AJobWhoseObjectNameAnotherJobHoldsOnItsMemberFailsToStart) {
  const JobPtr job = world.Submit({});
  DispatchRow holder = IntentOf(*job);
  holder.key = {UidOf("other"), 1, "east"};
  holder.job = JobId{job->id.value + 1};
  holder.state = DispatchState::kRunning;
  owners.rows.Reset({holder});
  world.Cycle();
  EXPECT_EQ(world.Now(job)->state, JobState::kFailed);
  EXPECT_EQ(world.Now(job)->reason, Reason::kFailedToStart);
  EXPECT_FALSE(owners.rows.HasAny(job->uid));
  EXPECT_TRUE(world.orders.lines.empty());
  const core::QuotaTree& tree = owners.jobs.tree();
  EXPECT_EQ(owners.jobs.planned().usage().At(tree.ClusterQueueIndex("cq"),
                                             tree.PairIndex("default", "cpu")),
            0);
}

struct VerbCase {
  const char* name;
  JobVerb verb;
  JobState waiting, running;  // after the verb; kFailed stands for a refusal
};

class JobVerbs : public JobOwners, public ::testing::WithParamInterface<VerbCase> {};

TEST_P(JobVerbs, LeavesAWaitingAndARunningJobAsItSays) {
  const VerbCase& one = GetParam();
  const JobPtr waiting = world.Submit({.name = "waiting"});
  const auto first = Do(one.verb, waiting->id);
  EXPECT_EQ(first.ok() ? world.Now(waiting)->state : JobState::kFailed, one.waiting);
  if (first.ok() && one.verb == JobVerb::kHold) {
    EXPECT_TRUE(Do(JobVerb::kRelease, waiting->id).ok());
  }
  const JobPtr running = Admitted({.name = "running"});
  world.Report(running, RemotePhase::kRunning);
  const auto second = Do(one.verb, running->id);
  EXPECT_EQ(second.ok() ? world.Now(running)->state : JobState::kFailed, one.running);
}

INSTANTIATE_TEST_SUITE_P(
    JobOwners, JobVerbs,
    ::testing::Values(
        VerbCase{"Cancel", JobVerb::kCancel, JobState::kCancelled, JobState::kRunning},
        VerbCase{"Hold", JobVerb::kHold, JobState::kHeld, JobState::kFailed},
        VerbCase{"Release", JobVerb::kRelease, JobState::kPending, JobState::kFailed},
        VerbCase{"Requeue", JobVerb::kRequeue, JobState::kFailed, JobState::kRunning}),
    [](const auto& test_info) { return std::string(test_info.param.name); });

TEST_F(JobOwners, AnUnknownJobIsNotFound) {
  EXPECT_EQ(Do(JobVerb::kCancel, JobId{77}).error().code, Code::kNotFound);
}

TEST_F(JobOwners, AnotherPriorityNeedsAClassThatExists) {
  const JobPtr job = world.Submit({});
  Result<JobPtr> outcome = Internal("no answer");
  ChangeJobCommand command;
  command.job = job->id;
  command.priority_class = "gold";
  command.done = [&](Result<JobPtr> changed) { outcome = changed; };
  owners.admission_commands.Handle(std::move(command));
  world.Commit();
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().fields.front().field, "priorityClass");
  ASSERT_TRUE(world.Apply({PriorityClassObject("gold", 100)}).ok());
  ChangeJobCommand again;
  again.job = job->id;
  again.priority_class = "gold";
  again.done = [&](Result<JobPtr> changed) { outcome = changed; };
  owners.admission_commands.Handle(std::move(again));
  world.Commit();
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(world.Now(job)->priority, 100);
}

TEST_F(JobOwners, MembersAreNominatedOnlyForAJobThatAsksThem) {
  const JobPtr job = Admitted();
  Result<JobPtr> outcome = Internal("no answer");
  NominateCommand command;
  command.job = job->id;
  command.clusters = {"east"};
  command.done = [&](Result<JobPtr> changed) { outcome = changed; };
  owners.nominations.Handle(std::move(command));
  world.Commit();
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, Code::kFailedPrecondition);
}

TEST_F(JobOwners, AJobRunsNoLongerThanItsMaximumExecutionTime) {
  const JobPtr job = Admitted({.max_execution_s = 60});
  world.Report(job, RemotePhase::kRunning);
  EXPECT_FALSE(owners.alarms.Fire());
  EXPECT_TRUE(owners.alarms.Next().set());
  world.clock.Advance(61'000);
  EXPECT_TRUE(owners.alarms.Fire());
  EXPECT_FALSE(StateOf(*world.Now(job)).active);
  EXPECT_EQ(RowState(job), DispatchState::kRevoking);
}

TEST_F(JobOwners, WithoutTopologyNoMachineFailsUnderAJob) {
  const JobPtr job = Admitted();
  const std::int64_t before = owners.commits.last_seq();
  owners.node_failures.Check();
  EXPECT_EQ(owners.commits.last_seq(), before);
}

TEST_F(JobOwners, WaitingJobsAreMeasuredAgainAndDecisionsWaitForIt) {
  world.Submit({});
  owners.checks.Recheck({"default"}, false);
  EXPECT_TRUE(owners.checks.Pending());
  EXPECT_FALSE(owners.decider.Cycle());
  EXPECT_TRUE(owners.checks.Fire());
  EXPECT_FALSE(owners.checks.Pending());
  EXPECT_TRUE(owners.decider.Cycle());
}

TEST_F(JobOwners, AnEndedJobLeavesMemoryAfterAWhile) {
  const JobPtr job = world.Submit({});
  ASSERT_TRUE(Do(JobVerb::kCancel, job->id).ok());
  EXPECT_FALSE(owners.retention.Fire());
  world.clock.Advance(limits::kFinishedJobsKeptMs + 1);
  EXPECT_TRUE(owners.retention.Fire());
  EXPECT_EQ(owners.jobs.Find(job->id), nullptr);
  EXPECT_TRUE(owners.job_commands.FindOrLoad(job->id).ok()) << "the store still has it";
}

TEST_F(JobOwners, AnEndedJobIsDeletedWhenItsTimeToLiveIsOver) {
  const JobPtr job = world.Submit({.ttl_s = 30});
  ASSERT_TRUE(Do(JobVerb::kCancel, job->id).ok());
  world.clock.Advance(29'999);
  EXPECT_FALSE(owners.retention.Fire());
  world.clock.Advance(1);
  EXPECT_TRUE(owners.retention.Fire());
  EXPECT_EQ(owners.jobs.Find(job->id), nullptr);
  ASSERT_FALSE(owners.commits.tx().events.empty());
  EXPECT_EQ(owners.commits.tx().events.back().type, "JobDeleted");
  EXPECT_NE(owners.commits.committed().jobs.Find(job->id), nullptr) << "it is not durable";
  world.Commit();
  EXPECT_EQ(owners.commits.committed().jobs.Find(job->id), nullptr);
}

TEST_F(JobOwners, ATimeToLiveRemovesTheObjectOnTheMemberBeforeTheJob) {
  const JobPtr job = Admitted({.ttl_s = 30});
  const DispatchKey key = CurrentKey(*job);
  world.Report(job, RemotePhase::kRunning);
  world.Report(job, RemotePhase::kSucceeded);
  world.Commit();
  world.orders.lines.clear();
  world.clock.Advance(30'000);
  EXPECT_TRUE(owners.retention.Fire());
  world.Commit();
  EXPECT_EQ(world.orders.lines, std::vector<std::string>{"remove east/1"});
  ASSERT_NE(owners.jobs.Find(job->id), nullptr) << "its name is not free yet";
  EXPECT_TRUE(owners.jobs.Find(job->id)->deletion_requested);
  owners.attempts.Step(key, dispatch::RemoveSucceeded{}, nullptr);
  EXPECT_EQ(owners.jobs.Find(job->id), nullptr);
  EXPECT_FALSE(owners.rows.HasAny(job->uid));
}

class FewWaitingJobs : public JobOwners {
 protected:
  static EngineOptions Options() {
    EngineOptions options;
    options.max_waiting_jobs = 1;
    return options;
  }
  FewWaitingJobs() : JobOwners(Options()) {}
};

TEST_F(FewWaitingJobs, SubmissionsBeyondTheLimitAreRefused) {
  EXPECT_NE(world.Submit({.name = "first"}), nullptr);
  EXPECT_EQ(world.Submit({.name = "second"}), nullptr);
  EXPECT_EQ(owners.commits.pace().inflight_submissions(), 0u);
}

TEST_F(JobOwners, AJobIsQueuedWhenItIsDurable) {
  SubmitCommand command;
  command.jobs.push_back(MakeSubmission({}));
  command.done = [](const auto&) {};
  owners.submissions.Handle(std::move(command));
  owners.submissions.Send();
  EXPECT_TRUE(owners.jobs.all().empty());
  world.TakeAnswers();
  ASSERT_EQ(owners.jobs.all().size(), 1u);
  EXPECT_TRUE(owners.waiting.Contains(owners.jobs.all().begin()->first));
}

TEST_F(JobOwners, AJobWithoutSlicesOrVariantsHasNoStandIns) {
  const JobPtr job = Admitted();
  EXPECT_TRUE(owners.stand_ins.by_job().empty());
  const JobId stand_in = StandInId(job->id, 3);
  EXPECT_TRUE(IsStandIn(stand_in));
  EXPECT_EQ(OwnerOf(stand_in), job->id);
  EXPECT_EQ(SlotOf(stand_in), 3u);
}

}  // namespace
}  // namespace muster::test
