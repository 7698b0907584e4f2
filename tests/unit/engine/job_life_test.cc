// From submission to the end, on a memory store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/model/admission_lifecycle.h"
#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

constexpr const char* kGpu = "nvidia.com/gpu";

std::vector<std::string> TypesOf(const std::vector<Event>& events, JobId job) {
  std::vector<std::string> types;
  for (const Event& event : events) {
    if (event.job == job) types.push_back(event.type);
  }
  return types;
}

TEST(JobLife, AJobIsAcceptedAdmittedRunAndFinished) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobPtr job = world.Submit({});
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(world.StateOf(job->id), JobState::kAdmitted);
  EXPECT_EQ(world.UsedCpu(), 1000);
  world.Run();
  const JobPtr running = world.Job(job->id);
  EXPECT_EQ(running->state, JobState::kRunning);
  EXPECT_EQ(running->cluster, "east");
  EXPECT_EQ(running->attempt, 1);
  EXPECT_TRUE(running->start_time.set());
  world.clock.Advance(5000);
  ASSERT_TRUE(world.members.End(world.KeyOf(job->id), RemotePhase::kSucceeded));
  world.Run();
  const JobPtr ended = world.Job(job->id);
  EXPECT_EQ(ended->state, JobState::kSucceeded);
  EXPECT_EQ(ended->exit_code, 0);
  EXPECT_EQ(ended->admission, nullptr);
  EXPECT_EQ(ended->end_time.us - ended->start_time.us, 5 * kMicrosPerSecond);
  EXPECT_EQ(world.UsedCpu(), 0);
  EXPECT_THAT(TypesOf(world.events, job->id),
              testing::ElementsAre("JobAccepted", "JobAdmitted", "JobStarted", "JobSucceeded"));
  const auto attempts = world.store.ReadAttempts({job->id});
  ASSERT_TRUE(attempts.ok());
  ASSERT_EQ(attempts->size(), 1U);
  EXPECT_EQ((*attempts)[0].outcome, JobState::kSucceeded);
  EXPECT_EQ((*attempts)[0].cluster, "east");
  ASSERT_NE((*attempts)[0].admission, nullptr);
  EXPECT_EQ(world.StoredRow(job->id)->state, DispatchState::kTerminal);
}

TEST(JobLife, ConditionsTellTheStoryInKueuesWords) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.Run();
  world.members.End(world.KeyOf(id), RemotePhase::kFailed, 3);
  world.Run();
  const JobPtr job = world.Job(id);
  EXPECT_EQ(job->state, JobState::kFailed);
  EXPECT_EQ(job->message, "Ended with exit code 3");
  ASSERT_NE(FindCondition(*job, "QuotaReserved"), nullptr);
  EXPECT_EQ(FindCondition(*job, "QuotaReserved")->message, "Quota reserved in ClusterQueue cq");
  EXPECT_EQ(FindCondition(*job, "Admitted")->message, "The workload is admitted");
  EXPECT_EQ(FindCondition(*job, "PodsReady")->reason, "Started");
  EXPECT_EQ(FindCondition(*job, "Finished")->reason, "Failed");
}

TEST(JobLife, WantOfMemoryFailsAScriptThatReturns0_AndIsToldOfAJobThatItsMemberCallsComplete) {
  const struct {
    bool batch;
    JobState state;
  } kCases[] = {{true, JobState::kFailed}, {false, JobState::kSucceeded}};
  for (const auto& one : kCases) {
    EngineWorld world;
    world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
    const JobId id = world.Submit({.no_requeue = one.batch})->id;
    world.Run();
    ASSERT_EQ(world.StateOf(id), JobState::kRunning);
    Observation seen;
    seen.key = world.KeyOf(id);
    seen.phase = RemotePhase::kSucceeded;
    seen.exit_code = 0;
    seen.reason = Reason::kOutOfMemory;
    world.engine->Post(ObservedCommand{seen});
    world.Run();
    const JobPtr ended = world.Job(id);
    EXPECT_EQ(ended->state, one.state) << one.batch;
    EXPECT_EQ(ended->reason, Reason::kOutOfMemory);
    EXPECT_EQ(ended->exit_code, 0);
    EXPECT_EQ(world.UsedCpu(), 0);
    const auto attempts = world.store.ReadAttempts({id});
    ASSERT_TRUE(attempts.ok());
    ASSERT_EQ(attempts->size(), 1U);
    EXPECT_EQ((*attempts)[0].reason, Reason::kOutOfMemory) << "the accounting has it";
    EXPECT_EQ((*attempts)[0].outcome, one.state);
  }
}

TEST(JobLife, AGangWaitsWholeWhileFifteenAreFreeAndStartsWholeAtSixteen) {
  EngineWorld world;
  world.Declare({{kGpu, 16}}, {{kGpu, 16}});
  const JobId one = world.Submit({.name = "one", .pods = {{1, {{kGpu, 1}}, "main"}}})->id;
  world.Run();
  const JobId gang = world.Submit({.name = "gang", .pods = {{16, {{kGpu, 1}}, "workers"}}})->id;
  world.Run();
  EXPECT_EQ(world.StateOf(gang), JobState::kPending);
  EXPECT_NE(world.Job(gang)->reason, Reason::kPendingEvaluation);
  EXPECT_THAT(world.Job(gang)->message, testing::HasSubstr(kGpu));
  EXPECT_EQ(world.members.objects.size(), 1U) << "no part of a gang starts";
  world.members.End(world.KeyOf(one), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.StateOf(gang), JobState::kRunning);
  ASSERT_NE(world.Job(gang)->admission, nullptr);
  EXPECT_EQ(world.Job(gang)->admission->pod_sets[0].count, 16);
}

TEST(JobLife, RoomOnAMemberIsReservedWithTheQuota) {
  EngineWorld world;
  world.Declare({{"cpu", 100'000}}, {{"cpu", 2000}});
  std::vector<JobId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(world.Submit({.name = "job" + std::to_string(i)})->id);
  world.Run();
  EXPECT_EQ(world.StateOf(ids[0]), JobState::kRunning);
  EXPECT_EQ(world.StateOf(ids[1]), JobState::kRunning);
  EXPECT_EQ(world.StateOf(ids[2]), JobState::kPending);
  EXPECT_EQ(world.Job(ids[2])->reason, Reason::kWaitingForCapacity);
  EXPECT_EQ(world.UsedCpu(), 2000) << "quota is not reserved for what no member can hold now";
  world.members.End(world.KeyOf(ids[0]), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.StateOf(ids[2]), JobState::kRunning);
}

TEST(JobLife, WithoutAMemberNothingIsAdmittedAndTheReasonSaysSo) {
  EngineWorld world;
  ASSERT_TRUE(world
                  .Apply({NamespaceObject("default"), FlavorObject("default"),
                          ClusterQueueObject({}), LocalQueueObject("queue", "cq")})
                  .ok());
  const JobId id = world.Submit({})->id;
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  EXPECT_EQ(world.Job(id)->reason, Reason::kNoMemberCluster);
  ASSERT_TRUE(world.Apply({MemberObject("east", {{"cpu", 8000}})}).ok());
  EXPECT_EQ(world.StateOf(id), JobState::kAdmitted) << "a new member wakes what waits for one";
}

TEST(JobLife, EveryMemberOfAWaitingClassSaysWhyItWaits) {
  EngineWorld world;
  world.Declare({{"cpu", 1000}}, {{"cpu", 100'000}});
  std::vector<JobId> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(world.Submit({.name = "job" + std::to_string(i)})->id);
  world.Run();
  const JobPtr first = world.Job(ids[1]);
  EXPECT_EQ(first->reason, Reason::kWaitingForQuota);
  for (std::size_t i = 1; i < ids.size(); ++i) {
    EXPECT_EQ(world.Job(ids[i])->reason, first->reason) << i;
    EXPECT_EQ(world.Job(ids[i])->message, first->message) << i;
  }
}

TEST(JobLife, ReasonsAreStoredWhenThereIsTime) {
  EngineWorld world;
  world.Declare({{"cpu", 1000}}, {{"cpu", 100'000}});
  world.Submit({.name = "first"});
  const JobId waits = world.Submit({.name = "second"})->id;
  world.Run();
  const auto stored = world.store.ReadJob(waits);
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ((*stored)->reason, Reason::kWaitingForQuota);
  EXPECT_EQ((*stored)->message, world.Job(waits)->message);
}

TEST(JobLife, HigherPriorityStartsFirstWhenQuotaComesFree) {
  EngineWorld world;
  world.Declare({{"cpu", 1000}}, {{"cpu", 100'000}});
  const JobId first = world.Submit({.name = "first"})->id;
  const JobId low = world.Submit({.name = "low"})->id;
  const JobId high = world.Submit({.name = "high", .priority = 10})->id;
  world.Run();
  world.members.End(world.KeyOf(first), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.StateOf(high), JobState::kRunning);
  EXPECT_EQ(world.StateOf(low), JobState::kPending);
}

TEST(JobLife, ARefusalOfTheMemberFailsTheJobWithItsSentence) {
  const struct {
    const char* name;
    Code code;
    std::optional<DispatchState> row;
  } cases[] = {
      {"an invalid object was never made", Code::kInvalidArgument, std::nullopt},
      {"a foreign object keeps its name", Code::kAlreadyExists, DispatchState::kConflict},
  };
  for (const auto& one : cases) {
    EngineWorld world;
    world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
    const JobId id = world.Submit({})->id;
    world.members.Carry(0, one.code);
    world.Run();
    EXPECT_EQ(world.StateOf(id), JobState::kFailed) << one.name;
    EXPECT_EQ(world.Job(id)->reason, Reason::kFailedToStart) << one.name;
    EXPECT_THAT(world.Job(id)->message, testing::HasSubstr("laid by the test")) << one.name;
    EXPECT_EQ(world.UsedCpu(), 0) << one.name;
    const auto row = world.StoredRow(id);
    EXPECT_EQ(row.has_value() ? std::optional(row->state) : std::nullopt, one.row) << one.name;
  }
}

TEST(JobLife, AMemberThatIsAwayIsAskedAgainAndTheJobSaysSo) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.members.Carry(0, Code::kUnavailable);
  world.Settle();
  EXPECT_EQ(world.StateOf(id), JobState::kAdmitted);
  EXPECT_THAT(world.Job(id)->message, testing::HasSubstr("trying again"));
  ASSERT_EQ(world.members.orders.size(), 1U);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

TEST(JobLife, AnOutcomeThatIsUnknownStartsNothingTwice) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.members.Carry(0, Code::kUnknown);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.members.starts[world.KeyOf(id)], 1);
}

TEST(JobLife, AnObjectThatVanishedIsLostAndNotMadeAgain) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.Run();
  world.members.Vanish(world.KeyOf(id));
  world.members.List("east");
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kFailed);
  EXPECT_EQ(world.Job(id)->reason, Reason::kLost);
  EXPECT_EQ(world.UsedCpu(), 0);
  EXPECT_TRUE(world.members.objects.empty());
}

TEST(JobLife, AListTakenWhileAnEnsureWasUnderWayLosesNothing) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.Settle();
  const DispatchKey key = world.KeyOf(id);
  world.engine->Post(EnsuredCommand{key, RemoteRef{"uid-1", ""}});
  world.engine->Post(ListedCommand{"east", {}, {key}});
  world.Settle();
  EXPECT_EQ(world.StateOf(id), JobState::kAdmitted);
}

TEST(JobLife, AReportOfAnotherObjectOfTheNameIsNotOurs) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.Run();
  Observation seen;
  seen.key = world.KeyOf(id);
  seen.remote_uid = "somebody else's";
  seen.phase = RemotePhase::kSucceeded;
  world.engine->Post(ObservedCommand{seen});
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

TEST(JobLife, PodCountsFollowWithoutAnEventForEach) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.Run();
  Observation seen;
  seen.key = world.KeyOf(id);
  seen.phase = RemotePhase::kRunning;
  seen.succeeded_pods = 7;
  world.engine->Post(ObservedCommand{seen});
  world.Run();
  EXPECT_EQ(world.Job(id)->succeeded_pods, 7);
  EXPECT_EQ((*world.store.ReadJob(id))->succeeded_pods, 7);
}

TEST(JobLife, AnOrphanOfAKnownJobIsRemovedAndAStrangerIsLeftAlone) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobPtr job = world.Submit({});
  world.Run();
  ASSERT_TRUE(world.Do(JobVerb::kRequeue, job->id).ok());
  world.Run();
  const DispatchKey old{job->uid, 1, "east"};
  const DispatchKey stranger{UidOf("never stored"), 1, "east"};
  world.members.objects[old] = {"uid-old", RemotePhase::kRunning, ""};
  world.members.List("east");
  world.Run();
  EXPECT_TRUE(world.members.objects.contains(old)) << "one list proves nothing";
  world.clock.Advance(limits::kOrphanGraceMs);
  world.members.List("east");
  world.Run();
  EXPECT_FALSE(world.members.objects.contains(old));
  world.members.objects[stranger] = {"uid-stranger", RemotePhase::kRunning, ""};
  world.members.List("east");
  world.clock.Advance(limits::kOrphanGraceMs);
  world.members.List("east");
  world.Run();
  EXPECT_TRUE(world.members.objects.contains(stranger));
  EXPECT_EQ(world.StateOf(job->id), JobState::kRunning);
}

TEST(JobLife, EventNumbersGrowInCommitOrderWithoutRepetition) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  for (int i = 0; i < 10; ++i) world.Submit({.name = "job" + std::to_string(i)});
  world.Run();
  for (std::size_t i = 1; i < world.events.size(); ++i) {
    EXPECT_LT(world.events[i - 1].seq, world.events[i].seq);
  }
  EXPECT_EQ(world.engine->View()->last_seq, world.events.back().seq);
}

}  // namespace
}  // namespace muster::test
