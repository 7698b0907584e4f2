// Real bugs about attempts and the objects on members. Each test fails without its fix, and names
// the commit that made it.
#include "schedd/base/limits.h"
#include "schedd/base/limits_clock.h"
#include "tests/unit/engine/dispatch_cases.h"
#include "tests/unit/engine/requeued_job.h"

namespace muster::test {
namespace {

class RegressAttempts : public DispatchCase {
 protected:
  // What a leader makes that was stopped and goes on.
  FakeMembers::Object Late(const std::string& name, RemotePhase phase) {
    foreign.insert("late");
    return {.uid = "late",
            .phase = phase,
            .name = name,
            .object = {"batch/v1", "Job", "default", name},
            .held = true,
            .sequence = 1};
  }
};

// Found by editing a label on a member, mended by b134f1f: the watch told that the object was gone,
// and the job ended although its pods ran on. (Planted: absence_taken_for_loss.)
TEST_F(RegressAttempts, ALabelThatSomebodyRemovesOnAMember_EndsNoJob) {
  const JobId id = Running();
  world.members.Unlabel(world.KeyOf(id));
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_FALSE(ObjectOf(id).unlabelled) << "they are put back";
}

// The same while the daemon is down: a list lacks the object.
TEST_F(RegressAttempts, ALabelThatSomebodyRemovesWhileTheDaemonIsDown_EndsNoJob) {
  const JobId id = Running();
  ObjectOf(id).unlabelled = true;
  world.Restart();
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

// Found by stopping a leader until another one led, mended by 0fcec73. An object of an attempt that
// was over was set aside as a copy, and stayed.
TEST_F(RegressAttempts, WhatAStoppedLeaderMadeOfAnEndedAttempt_IsCollected) {
  const JobId id = Running();
  const DispatchKey key = world.KeyOf(id);
  world.members.End(key, RemotePhase::kSucceeded);
  world.Run();
  world.members.objects[key] = Late("job", RemotePhase::kRunning);
  Collect();
  EXPECT_TRUE(world.members.objects.empty());
  EXPECT_EQ(world.StateOf(id), JobState::kSucceeded);
}

// The same, mended by 07e5726: what was made of a job that was cancelled before, and had ended, was
// acknowledged as its end and stayed as its result.
TEST_F(RegressAttempts, WhatAStoppedLeaderMadeOfACancelledJob_IsRemovedAndNotAcknowledged) {
  const JobId id = Submit();
  const DispatchKey key = world.KeyOf(id);
  ASSERT_TRUE(world.Do(JobVerb::kCancel, id).ok());
  world.Run();
  world.members.objects[key] = Late("job", RemotePhase::kSucceeded);
  int acknowledged = 0;
  world.members.on_order = [&](const PendingOrder& order) {
    acknowledged += order.kind == PendingOrder::Kind::kAcknowledge ? 1 : 0;
  };
  Collect();
  world.Run();
  world.members.on_order = nullptr;
  EXPECT_FALSE(world.members.objects.contains(key));
  EXPECT_EQ(acknowledged, 0);
}

// Found by a script that requeued itself, mended by 8643ada: it started again at once, thousands of
// times.
TEST(RegressRequeues, AScriptThatRequeuesItself_WaitsTwoMinutesEachTime) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  ASSERT_TRUE(world.Apply({ClusterQueueObject({})}).ok());
  const JobId id = world.Submit({})->id;
  for (int minute = 0; minute < 10; ++minute) {
    world.Run();
    if (world.StateOf(id) == JobState::kRunning) (void)world.Do(JobVerb::kRequeue, id);
    world.Run();
    world.clock.Advance(60'000);
  }
  EXPECT_EQ(world.Job(id)->attempt, 5);
}

// Found by AddressSanitizer, mended by 806b0fe: the requeued job was held back by a reference to a
// state that was gone. Only a build with it is sure to see that; what is asked for here is the
// wait.
TEST(RegressRequeues, AJobThatGoesBackToItsQueue_KeepsItsWaitOverARestart) {
  EngineWorld world;
  DeclareWaiting(&world);
  const JobId id = RequeuedJob(&world);
  world.Restart();
  world.clock.Advance(limits::kRequeueWaitMs - 1000);
  world.Run();
  EXPECT_EQ(world.Job(id)->reason, Reason::kBackoff);
}

// Found by seed 2948 of R19, mended by a7b70dd: the time of a back-off that was over was kept, and
// was still to come once the host's clock was set back by more than the daemon makes up for.
TEST(RegressRequeues, ABackOffThatIsOver_DoesNotBeginAgainWhenTheClockIsSetBack) {
  EngineWorld world;
  DeclareWaiting(&world);
  const JobId id = RequeuedJob(&world);
  world.clock.Advance(limits::kRequeueWaitMs + 1000);
  world.Run();
  ASSERT_EQ(world.StateOf(id), JobState::kRunning);
  world.clock.Jump(-2 * limits::kClockCatchUpMaxMs);
  ASSERT_TRUE(world.Apply({ClusterQueueObject({.stop_policy = "HoldAndDrain"})}).ok());
  world.Run();
  ASSERT_EQ(world.StateOf(id), JobState::kPending);
  ASSERT_TRUE(world.Apply({ClusterQueueObject({})}).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

// Found by a deadline of 10^13 seconds, mended by f9faf81: the sum of a time and a span went round,
// so that the job was over its limit at once.
TEST(RegressTimes, ALimitThatIsLongerThanAClockCanSay_IsNotOverAtOnce) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({.max_execution_s = 10'000'000'000'000})->id;
  world.Run();
  world.clock.Advance(1000);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

}  // namespace
}  // namespace muster::test
