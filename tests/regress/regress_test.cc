// Real bugs that needed an order of events; each test fails without its fix.
#include <gtest/gtest.h>

#include "tests/unit/engine/batch_world.h"

namespace muster::test {
namespace {

// A world whose store writes only when the test says so.
struct SlowWorld {
  SlowWorld() : world(1, {}, {.manual = true}) {
    world.engine->Post(
        ApplyCommand{{"root", "test"},
                     {NamespaceObject("default"), FlavorObject("default"),
                      ClusterQueueObject({.nominal = {{"cpu", 4000}}}),
                      LocalQueueObject("queue", "cq"), MemberObject("east", {{"cpu", 8000}})},
                     false,
                     [](Result<std::vector<AppliedObject>>) {}});
    Drain();
  }
  void Submit(const ScriptSpec& spec) {
    SubmitCommand command;
    command.jobs.push_back(ScriptSubmission(spec));
    command.done = [](Result<std::vector<Result<SubmittedJob>>>) {};
    world.engine->Post(std::move(command));
    Drain();
  }
  void Drain() {
    do {
      world.Settle();
    } while (world.store.DrainOne());
  }
  EngineWorld world;
};

// Found by the simulation (seed 7, R33). The parent left memory with its deletion, before that was
// durable; its dependent then asked the store, which said that the parent waits, and took that for
// the last word: it waited for ever.
TEST(Regress, ADependentOfAJobThatIsDeletedWhileItWaits_IsReleased) {
  SlowWorld slow;
  EngineWorld& world = slow.world;
  slow.Submit({.job = {.name = "parent", .held = true}});
  slow.Submit(
      {.job = {.name = "child"}, .state = DependsOn({{DependencyType::kAfterAny, JobId{1}}})});
  ASSERT_EQ(world.Job(JobId{2})->reason, Reason::kDependency);
  world.engine->Post(
      JobCommand{{"alice", "test"}, JobVerb::kDelete, JobId{1}, [](Result<JobPtr>) {}});
  world.Settle();
  ASSERT_GE(world.store.waiting(), 1U) << "the deletion is on its way";
  slow.Drain();
  world.clock.Advance(2000);
  slow.Drain();
  EXPECT_EQ(world.StateOf(JobId{2}), JobState::kAdmitted);
}

// The same for an array, of which no record is left in memory.
TEST(Regress, ADependentOfAnArrayThatIsDeletedWhileItWaits_IsReleased) {
  SlowWorld slow;
  EngineWorld& world = slow.world;
  ScriptSpec array{.job = {.name = "array", .held = true}};
  array.batch.array_spec = "0-3";
  array.state.waiting_tasks = {{0, 3, 1}};
  slow.Submit(array);
  slow.Submit(
      {.job = {.name = "child"}, .state = DependsOn({{DependencyType::kAfterAny, JobId{1}, -1}})});
  ASSERT_EQ(world.Job(JobId{2})->reason, Reason::kDependency);
  world.engine->Post(
      JobCommand{{"alice", "test"}, JobVerb::kDelete, JobId{1}, [](Result<JobPtr>) {}});
  world.Settle();
  slow.Drain();
  world.clock.Advance(2000);
  slow.Drain();
  EXPECT_EQ(world.StateOf(JobId{2}), JobState::kAdmitted);
}

// Found by the simulation (seed 871, I14). A job whose victims were making room on a member was not
// tried again when the room of others came free meanwhile, in another tree of queues.
TEST(Regress, AJobForWhichRoomIsBeingMade_TakesRoomThatComesFreeElsewhere) {
  EngineWorld world;
  world.Declare({{"cpu", 64000}}, {{"cpu", 8000}});
  QueueSpec own;
  own.nominal = {{"cpu", 64000}};
  own.within = "LowerPriority";
  ASSERT_TRUE(world
                  .Apply({ClusterQueueObject(own),
                          ClusterQueueObject({.name = "others", .nominal = {{"cpu", 64000}}}),
                          LocalQueueObject("foreign", "others")})
                  .ok());
  const std::vector<Pods> half = {Pods{1, {{"cpu", 4000}}}};
  const JobId idle = world.Submit({.name = "idle", .pods = half})->id;
  const JobId foreign =
      world
          .Submit({.name = "foreign", .queue = "foreign", .cluster_queue = "others", .pods = half})
          ->id;
  world.Run();
  ASSERT_EQ(world.StateOf(foreign), JobState::kRunning);
  const JobId urgent = world.Submit({.name = "urgent", .pods = half, .priority = 10})->id;
  world.Settle();
  ASSERT_EQ(world.Job(idle)->reason, Reason::kPreempted);
  ASSERT_EQ(world.Job(urgent)->reason, Reason::kWaitingForPreemptedWorkloads);
  // The member has not stopped the victim yet.
  world.members.End(world.KeyOf(foreign), RemotePhase::kSucceeded);
  world.Settle();
  EXPECT_EQ(world.StateOf(urgent), JobState::kAdmitted);
}

}  // namespace
}  // namespace muster::test
