// An array that named several partitions (`-p a,b`, rule B29): each task starts in whichever can
// start it first, each index once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "schedd/model/task_ranges.h"
#include "tests/unit/engine/batch_world.h"

namespace muster::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ArrayPartitionsTest : public ::testing::Test {
 protected:
  // Partitions a and b with a ClusterQueue each.
  void Declare(std::int64_t a_cpus, std::int64_t b_cpus) {
    Apply({NamespaceObject("default"), FlavorObject("default"), PriorityClassObject("high", 100),
           ClusterQueueObject(
               {.name = "cqa", .nominal = {{"cpu", a_cpus * 1000}}, .within = "LowerPriority"}),
           ClusterQueueObject(
               {.name = "cqb", .nominal = {{"cpu", b_cpus * 1000}}, .within = "LowerPriority"}),
           LocalQueueObject("a", "cqa"), LocalQueueObject("b", "cqb"),
           MemberObject("east", {{"cpu", 640'000}})});
  }
  void Apply(std::vector<ObjectChange> changes) {
    ASSERT_TRUE(world.Apply(std::move(changes)).ok());
    world.Run();
  }
  JobId Submit(const std::string& name, const std::string& queue, const std::string& partitions,
               const std::string& array = "", std::int32_t priority = 0) {
    const JobSpec spec = {.name = name,
                          .queue = queue,
                          .cluster_queue = queue == "b" ? "cqb" : "cqa",
                          .priority = priority,
                          .array = array};
    SubmitCommand command;
    command.actor = {"alice", "test"};
    command.jobs.push_back(MakeSubmission(spec));
    JobRecord& draft = *command.jobs.front().draft;
    draft.shape = ShapeKind::kBatchScript;
    auto details = draft.batch == nullptr ? BatchDetails{} : *draft.batch;
    details.partitions = partitions;
    draft.batch = std::make_shared<BatchDetails>(std::move(details));
    JobId id;
    command.done = [&id](Result<std::vector<Result<SubmittedJob>>> result) {
      id = result->front()->job->id;
    };
    MUSTER_CHECK(world.engine->Post(std::move(command)));
    world.Settle();
    world.Run();
    return id;
  }
  // The indexes of the running tasks in a partition, in order.
  std::vector<std::int32_t> RunningIn(const std::string& queue) const {
    std::vector<std::int32_t> found;
    world.engine->View()->jobs.ForEach(JobId{}, [&](const JobPtr& job) {
      if (job->state == JobState::kRunning && job->local_queue == queue &&
          job->batch->array_task_id >= 0)
        found.push_back(job->batch->array_task_id);
      return true;
    });
    std::sort(found.begin(), found.end());
    return found;
  }
  std::string Waits(JobId array) const {
    const JobPtr job = world.Job(array);
    return job->state == JobState::kPending ? IndexText(BatchStateOf(*job).waiting_tasks) : "";
  }
  void EndTask(std::int32_t index) {
    JobPtr task;
    world.engine->View()->jobs.ForEach(JobId{}, [&](const JobPtr& job) {
      if (job->state == JobState::kRunning && job->batch->array_task_id == index) task = job;
      return true;
    });
    ASSERT_NE(task, nullptr) << index;
    world.members.End(world.KeyOf(task->id), RemotePhase::kSucceeded, 0);
    world.Run();
  }

  EngineWorld world;
};

TEST_F(ArrayPartitionsTest, TasksStartInBoth_EachIndexOnce_AlsoAfterARestart) {
  Declare(2, 3);
  const JobId array = Submit("array", "a", "a,b", "0-9");
  EXPECT_EQ(RunningIn("a").size(), 2U);
  EXPECT_EQ(RunningIn("b").size(), 3U);
  EXPECT_EQ(Waits(array), "5-9");
  EXPECT_EQ(world.Job(array)->local_queue, "a");
  EXPECT_EQ(world.UsedCpu("cqa"), 2000);
  EXPECT_EQ(world.UsedCpu("cqb"), 3000);
  const auto in_a = RunningIn("a"), in_b = RunningIn("b");
  world.Restart();
  world.Run();
  EXPECT_EQ(RunningIn("a"), in_a);
  EXPECT_EQ(RunningIn("b"), in_b);
  EXPECT_EQ(world.UsedCpu("cqb"), 3000);
  EXPECT_EQ(world.members.most_active_of_one_job, 1U);
}

TEST_F(ArrayPartitionsTest, ATaskStartsWhereRoomComesFree_AndTheLastOneKeepsTheArraysId) {
  Declare(1, 1);
  const JobId array = Submit("array", "a", "a,b", "0-3");
  ASSERT_THAT(RunningIn("a"), ElementsAre(0));
  ASSERT_THAT(RunningIn("b"), ElementsAre(1));
  EndTask(1);
  EXPECT_THAT(RunningIn("b"), ElementsAre(2));
  EndTask(2);
  EXPECT_THAT(RunningIn("b"), ElementsAre(3));
  EXPECT_EQ(world.Job(array)->batch->array_task_id, 3);
  EXPECT_EQ(world.Job(array)->local_queue, "b");
  world.Restart();
  world.Run();
  EXPECT_EQ(world.Job(array)->local_queue, "b");
  EXPECT_EQ(world.Job(array)->cluster_queue, "cqb");
  EndTask(3);
  EndTask(0);
  EXPECT_EQ(world.UsedCpu("cqa") + world.UsedCpu("cqb"), 0);
}

// Both partitions have room for all, so a cycle admits more entries than there are tasks.
TEST_F(ArrayPartitionsTest, RoomForAllInBoth_NoTaskStartsTwice_AndWhatWasTooMuchIsFree) {
  Declare(4, 4);
  Apply({WithAnnotation(LocalQueueObject("a", "cqa"), "muster.io/partition-state", "down"),
         WithAnnotation(LocalQueueObject("b", "cqb"), "muster.io/partition-state", "down")});
  const JobId array = Submit("array", "a", "a,b", "0-3");
  const JobId other = Submit("other", "b", "b,a", "0-3");
  Apply({LocalQueueObject("a", "cqa"), LocalQueueObject("b", "cqb")});
  EXPECT_EQ(world.UsedCpu("cqa") + world.UsedCpu("cqb"), 8000);
  EXPECT_EQ(Waits(array), "");
  EXPECT_EQ(Waits(other), "");
}

TEST_F(ArrayPartitionsTest, TheLimitOfTasksCountsOverAllPartitions) {
  Declare(4, 4);
  const JobId array = Submit("array", "a", "a,b", "0-9%3");
  EXPECT_EQ(RunningIn("a").size() + RunningIn("b").size(), 3U);
  EXPECT_EQ(world.Job(array)->reason, Reason::kArrayTaskLimit);
  EndTask(0);
  EXPECT_EQ(RunningIn("a").size() + RunningIn("b").size(), 3U);
  EXPECT_EQ(Waits(array), "4-9");
}

TEST_F(ArrayPartitionsTest, APartitionThatIsDown_IsNotTried_UntilItIsUp) {
  Declare(1, 2);
  Apply({WithAnnotation(LocalQueueObject("b", "cqb"), "muster.io/partition-state", "down")});
  const JobId array = Submit("array", "a", "a,b", "0-5");
  EXPECT_THAT(RunningIn("b"), IsEmpty());
  Apply({LocalQueueObject("b", "cqb")});
  EXPECT_THAT(RunningIn("b"), ElementsAre(1, 2));
  Apply({WithAnnotation(LocalQueueObject("a", "cqa"), "muster.io/partition-state", "down")});
  EndTask(1);
  EXPECT_THAT(RunningIn("b"), ElementsAre(2, 3));
  EXPECT_EQ(Waits(array), "4-5");
}

TEST_F(ArrayPartitionsTest, TheRecordShowsTheReasonOfItsOwnPartition) {
  Declare(1, 0);
  const JobId array = Submit("array", "a", "a,b", "0-5");
  const JobId other = Submit("other", "b", "");
  ASSERT_EQ(world.Job(other)->reason, Reason::kExceedsMaxQuota);
  EXPECT_EQ(world.Job(array)->reason, Reason::kWaitingForQuota);
}

TEST_F(ArrayPartitionsTest, ItPreemptsInItsOwnPartitionAlone) {
  Declare(1, 1);
  const JobId in_a = Submit("low-a", "a", "");
  const JobId in_b = Submit("low-b", "b", "");
  Submit("array", "a", "a,b", "0-1", 100);
  EXPECT_EQ(world.StateOf(in_a), JobState::kPending);
  EXPECT_EQ(world.StateOf(in_b), JobState::kRunning);
  EXPECT_THAT(RunningIn("a"), ElementsAre(0));
}

// 60 tasks over three partitions that end in no order: each runs once, and no quota is exceeded.
TEST_F(ArrayPartitionsTest, ManyTasksOverThreePartitions_EachRunsOnce) {
  Declare(3, 2);
  Apply({ClusterQueueObject({.name = "cqc", .nominal = {{"cpu", 4000}}}),
         LocalQueueObject("c", "cqc")});
  Submit("array", "a", "a,b,c", "0-59");
  std::map<std::int32_t, int> begun;
  for (int round = 0; round < 60; ++round) {
    std::vector<std::int32_t> running;
    for (const char* queue : {"a", "b", "c"}) {
      const auto some = RunningIn(queue);
      running.insert(running.end(), some.begin(), some.end());
    }
    ASSERT_EQ(running.size(), static_cast<std::size_t>(std::min(9, 60 - round))) << round;
    const std::int32_t ends = running[static_cast<std::size_t>(round * 7) % running.size()];
    ++begun[ends];
    EndTask(ends);
    if (round % 20 == 10) world.Restart();
    world.Run();
  }
  EXPECT_EQ(begun.size(), 60U);
}

}  // namespace
}  // namespace muster::test
