// Real bugs of arrays and of jobs that depend on others. Each test fails without its fix, and names
// the commit that made it.
#include <gtest/gtest.h>

#include "schedd/lifecycle/dependency_text.h"
#include "schedd/model/task_ranges.h"
#include "tests/regress/slow_world.h"

namespace muster::test {
namespace {

// Found by the simulation (seed 7, R33), mended by dbec74e. The parent left memory with its
// deletion, before that was durable; its dependent then asked the store, which said that the parent
// waits, and took that for the last word: it waited for ever. (Planted: end_on_its_way_asked.)
TEST(RegressArrays, ADependentOfAJobThatIsDeletedWhileItWaits_IsReleased) {
  SlowWorld slow;
  EngineWorld& world = slow.world;
  slow.Submit({.job = {.name = "parent", .held = true}});
  slow.Submit(
      {.job = {.name = "child"}, .state = DependsOn({{DependencyType::kAfterAny, JobId{1}}})});
  ASSERT_EQ(world.Job(JobId{2})->reason, Reason::kDependency);
  slow.Post(JobVerb::kDelete, JobId{1});
  world.Settle();
  ASSERT_GE(world.store.waiting(), 1U) << "the deletion is on its way";
  slow.Drain();
  world.clock.Advance(2000);
  slow.Drain();
  EXPECT_EQ(world.StateOf(JobId{2}), JobState::kAdmitted);
}

// The same for an array, of which no record is left in memory.
TEST(RegressArrays, ADependentOfAnArrayThatIsDeletedWhileItWaits_IsReleased) {
  SlowWorld slow;
  EngineWorld& world = slow.world;
  ScriptSpec array{.job = {.name = "array", .held = true}};
  array.batch.array_spec = "0-3";
  array.state.waiting_tasks = {{0, 3, 1}};
  slow.Submit(array);
  slow.Submit(
      {.job = {.name = "child"}, .state = DependsOn({{DependencyType::kAfterAny, JobId{1}, -1}})});
  ASSERT_EQ(world.Job(JobId{2})->reason, Reason::kDependency);
  slow.Post(JobVerb::kDelete, JobId{1});
  world.Settle();
  slow.Drain();
  world.clock.Advance(2000);
  slow.Drain();
  EXPECT_EQ(world.StateOf(JobId{2}), JobState::kAdmitted);
}

// Found by seed 3983 of R19, mended by a7b70dd. A submission is written before the open commit: the
// dependent was stored without its dependency, the daemon died before its parent's cancellation was
// stored, and the two ran beside one another.
TEST(RegressArrays, ADependentOfAnEndThatWasNotStored_WaitsAfterTheDaemonDied) {
  SlowWorld slow;
  EngineWorld& world = slow.world;
  slow.Submit({.job = {.name = "parent", .held = true}});
  slow.Post(JobVerb::kCancel, JobId{1});
  slow.Post(
      {.job = {.name = "child"}, .state = DependsOn({{DependencyType::kAfterAny, JobId{1}}})});
  world.engine->Step();
  ASSERT_TRUE(world.store.DrainOne());
  world.Restart();
  slow.Drain();
  ASSERT_EQ(world.StateOf(JobId{1}), JobState::kHeld) << "nobody was told that it is cancelled";
  ASSERT_NE(world.Job(JobId{2}), nullptr);
  EXPECT_EQ(DependencyText(BatchStateOf(*world.Job(JobId{2}))), "afterany:1(unfulfilled)");
}

// One queue for `cpus` tasks of an array.
class ArrayWorld : public EngineWorld {
 public:
  explicit ArrayWorld(std::int64_t cpus) { Declare({{"cpu", cpus * 1000}}, {{"cpu", 64'000}}); }
  Result<JobPtr> DoTasks(JobVerb verb, JobId array, TaskRanges tasks, bool by_operator) {
    JobCommand command{{}, verb, array, {}};
    command.tasks = std::move(tasks);
    command.by_operator = by_operator;
    return Command(this, std::move(command));
  }
  std::size_t Records() {
    std::size_t count = 0;
    engine->View()->jobs.ForEach(JobId{}, [&](const JobPtr&) {
      ++count;
      return true;
    });
    return count;
  }
  std::size_t Running() {
    std::size_t count = 0;
    engine->View()->jobs.ForEach(JobId{}, [&](const JobPtr& job) {
      count += job->state == JobState::kRunning ? 1 : 0;
      return true;
    });
    return count;
  }
};

// Found by reading, mended by f8df0de. Tasks that stood in the queue already went on with the nice
// value and the nodes of before an update of their array.
TEST(RegressArrays, AnUpdateOfAnArray_ReachesTheTasksThatStandInTheQueue) {
  ArrayWorld world(1);
  const JobId first = world.Submit({.name = "first"})->id;
  world.Run();
  const JobId array = world.Submit({.name = "array", .array = "0-9"})->id;
  const JobId other = SubmitScript(&world, {.job = {.name = "other"}});
  world.Run();
  JobUpdate update;
  update.nice = 50;
  ASSERT_TRUE(Update(&world, array, update).ok());
  world.members.End(world.KeyOf(first), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.StateOf(other), JobState::kRunning) << "the array stands behind it now";
}

// Found by reading, mended by db392e1. A hold of an operator for some tasks of a held array marked
// all of them, and its user could release none.
TEST(RegressArrays, AnOperatorsHoldOfSomeTasks_ReachesNoOther) {
  ArrayWorld world(4);
  const JobId array = world.Submit({.name = "array", .held = true, .array = "0-3"})->id;
  ASSERT_TRUE(world.DoTasks(JobVerb::kHold, array, {{1, 1, 1}}, true).ok());
  ASSERT_TRUE(world.DoTasks(JobVerb::kRelease, array, {{0, 3, 1}}, false).ok());
  world.Run();
  EXPECT_EQ(world.Running(), 3U);
}

// The same commit. A verb that was refused divided the record of the array.
TEST(RegressArrays, AVerbThatIsRefused_DividesNoArray) {
  ArrayWorld world(1);
  const JobId array = world.Submit({.name = "array", .held = true, .array = "0-5"})->id;
  ASSERT_TRUE(world.DoTasks(JobVerb::kHold, array, {{0, 5, 1}}, true).ok());
  ASSERT_EQ(world.Records(), 1U);
  EXPECT_FALSE(world.DoTasks(JobVerb::kRelease, array, {{3, 3, 1}}, false).ok());
  EXPECT_EQ(world.Records(), 1U);
}

// Found by reading, mended by 95a5710. After a hold of some tasks an array had two records, and an
// update of %N changed one of them.
TEST(RegressArrays, TheLimitOfAnArray_IsOneForAllItsRecords) {
  ArrayWorld world(4);
  const JobId array = world.Submit({.name = "array", .array = "0-9%1"})->id;
  world.Run();
  const auto held = world.DoTasks(JobVerb::kHold, array, {{5, 9, 1}}, false);
  ASSERT_TRUE(held.ok());
  JobUpdate update;
  update.task_throttle = 3;
  ASSERT_TRUE(Update(&world, (*held)->id, update).ok());
  world.Run();
  EXPECT_EQ(world.Running(), 3U);
}

}  // namespace
}  // namespace muster::test
