// The daemon dies and restarts in every state of an attempt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

TEST(Restart, AnIntentWhoseOrderWasLostIsOrderedAgain) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.Restart();
  EXPECT_EQ(world.StateOf(id), JobState::kAdmitted);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.members.starts[world.KeyOf(id)], 1);
}

TEST(Restart, AnIntentWhoseObjectExistsIsAdopted) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  // The object is made, and the daemon dies before it learns of it.
  world.members.Carry(0);
  world.Restart();
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.members.starts[world.KeyOf(id)], 1);
}

TEST(Restart, ARunningAttemptGoesOnAndIsNotStartedAgain) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.Run();
  world.Restart();
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.members.starts[world.KeyOf(id)], 1);
  EXPECT_EQ(world.UsedCpu(), 1000);
}

TEST(Restart, AnEndThatNobodySawIsFoundByTheList) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.Run();
  world.members.objects[world.KeyOf(id)].phase = RemotePhase::kSucceeded;
  world.Restart();
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kSucceeded);
  EXPECT_EQ(world.UsedCpu(), 0);
}

TEST(Restart, ARunningAttemptThatIsGoneIsLostAndNeverCreatedAgain) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.Run();
  const DispatchKey key = world.KeyOf(id);
  world.members.Vanish(key);
  world.Restart();
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kFailed);
  EXPECT_EQ(world.Job(id)->reason, Reason::kLost);
  EXPECT_EQ(world.members.starts[key], 1);
}

TEST(Restart, ACancelUnderWayIsFinished) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.Run();
  ASSERT_TRUE(world.Do(JobVerb::kCancel, id).ok());
  world.Restart();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  ASSERT_FALSE(world.members.orders.empty());
  EXPECT_TRUE(world.members.orders[0].policy.keep_logs);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kCancelled);
}

TEST(Restart, ARequeueUnderWayIsARequeueStill) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.Run();
  ASSERT_TRUE(world.Do(JobVerb::kRequeue, id).ok());
  world.Restart();
  EXPECT_FALSE(world.members.orders[0].policy.keep_logs);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.Job(id)->attempt, 2);
}

TEST(Restart, ADeletionUnderWayIsFinished) {
  for (const bool after_stop : {false, true}) {
    EngineWorld world;
    world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
    const JobId id = world.Submit({})->id;
    world.Run();
    if (after_stop) {
      world.members.End(world.KeyOf(id), RemotePhase::kSucceeded);
      world.Run();
    }
    ASSERT_TRUE(world.Do(JobVerb::kDelete, id).ok());
    world.Restart();
    world.Run();
    EXPECT_EQ(world.Job(id), nullptr);
    EXPECT_TRUE(world.members.objects.empty());
    EXPECT_TRUE(world.Stored().dispatches.empty());
  }
}

TEST(Restart, ADeletionOfAJobThatHasLeftMemoryIsFinished) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.Run();
  world.members.End(world.KeyOf(id), RemotePhase::kSucceeded);
  world.Run();
  world.clock.Advance(3'600'000);
  world.Run();
  ASSERT_EQ(world.Job(id), nullptr) << "it has left memory";
  ASSERT_TRUE(world.Do(JobVerb::kDelete, id).ok());
  world.Restart();
  world.Run();
  EXPECT_TRUE(world.members.objects.empty());
  EXPECT_TRUE(world.Stored().dispatches.empty());
}

TEST(Restart, TerminalAttemptsKeepTheirLogsAndStayAsTheyWere) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.Run();
  world.members.End(world.KeyOf(id), RemotePhase::kSucceeded);
  world.Run();
  world.Restart();
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kSucceeded);
  EXPECT_EQ(world.StoredRow(id)->state, DispatchState::kTerminal);
  EXPECT_EQ(world.members.objects.size(), 1U);
}

TEST(Restart, QueuesHoldsAndNumbersSurvive) {
  EngineWorld world;
  world.Declare({{"cpu", 1000}}, {{"cpu", 8000}});
  const JobId first = world.Submit({.name = "first"})->id;
  const JobId held = world.Submit({.name = "held", .held = true})->id;
  const JobId waiting = world.Submit({.name = "waiting"})->id;
  world.Run();
  const auto objects = world.engine->View()->objects->size();
  world.Restart();
  world.Run();
  EXPECT_EQ(world.StateOf(held), JobState::kHeld);
  EXPECT_EQ(world.StateOf(waiting), JobState::kPending);
  EXPECT_EQ(world.engine->View()->objects->size(), objects);
  EXPECT_EQ(world.engine->View()->config->cluster_queues.size(), 1U);
  const JobPtr next = world.Submit({.name = "next"});
  EXPECT_GT(next->id, waiting) << "an id is never given twice";
  world.members.End(world.KeyOf(first), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.StateOf(waiting), JobState::kRunning) << "the older one first";
}

TEST(Restart, StoredUsageThatDisagreesIsCorrectedAndCounted) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  world.Submit({});
  world.Run();
  PlanCommit wrong;
  wrong.usage = {{"cq", "default", "cpu", 3000}};
  bool done = false;
  Epoch epoch{1};
  while (!world.store.Load(epoch, WallTime{}).ok()) ++epoch.value;
  world.store.Commit(epoch, wrong, [&](Result<CommitVersion> outcome) { done = outcome.ok(); });
  ASSERT_TRUE(done);
  world.Restart();
  EXPECT_EQ(world.UsedCpu(), 1000);
  EXPECT_THAT(world.metrics->Expose(), testing::HasSubstr("muster_reconcile_corrections_total 1"));
  for (const UsageRow& row : world.Stored().usage) EXPECT_EQ(row.amount, 1000);
}

// Marks the row of the job's attempt as gone behind the engine's back.
void LoseRow(EngineWorld& world, JobId id) {
  PlanCommit wrong;
  wrong.dispatches = {*world.StoredRow(id)};
  wrong.dispatches[0].state = DispatchState::kGone;
  Epoch epoch{1};
  while (!world.store.Load(epoch, WallTime{}).ok()) ++epoch.value;
  bool done = false;
  world.store.Commit(epoch, wrong, [&](Result<CommitVersion> outcome) { done = outcome.ok(); });
  ASSERT_TRUE(done);
  world.Restart();
}

TEST(Restart, ARunningAttemptWithoutARowIsFollowedAgainAndNotRunASecondTime) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.Run();
  LoseRow(world, id);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.Job(id)->attempt, 1);
  EXPECT_EQ(world.StoredRow(id)->state, DispatchState::kRunning);
  EXPECT_EQ(world.members.starts[world.KeyOf(id)], 1);
  EXPECT_THAT(world.metrics->Expose(), testing::HasSubstr("muster_reconcile_corrections_total 1"));
  world.members.End(world.KeyOf(id), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kSucceeded);
}

TEST(Restart, AnAttemptWithoutARowWhoseObjectIsGoneIsLost) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.Run();
  const DispatchKey key = world.KeyOf(id);
  world.members.Vanish(key);
  LoseRow(world, id);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kFailed);
  EXPECT_EQ(world.Job(id)->reason, Reason::kLost);
  EXPECT_EQ(world.members.starts[key], 1);
  EXPECT_EQ(world.UsedCpu(), 0);
}

TEST(Restart, AnAttemptWithoutARowThatWasBeingCancelledIsStopped) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.Run();
  ASSERT_TRUE(world.Do(JobVerb::kCancel, id).ok());
  LoseRow(world, id);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kCancelled);
  EXPECT_EQ(world.UsedCpu(), 0);
}

TEST(Restart, APeacefulRestartCorrectsNothing) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  for (int i = 0; i < 6; ++i) world.Submit({.name = "job" + std::to_string(i)});
  world.Run();
  world.Restart();
  world.Run();
  EXPECT_THAT(world.metrics->Expose(), testing::HasSubstr("muster_reconcile_corrections_total 0"));
}

}  // namespace
}  // namespace muster::test
