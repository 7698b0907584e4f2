// Arrays in the engine: one record for all waiting tasks; a task becomes a job when it starts; the
// limit %N; verbs on the record and on single tasks; and a comparison with a plain model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "schedd/model/task_ranges.h"
#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

using testing::ElementsAre;

class ArrayWorld : public EngineWorld {
 public:
  explicit ArrayWorld(std::int64_t cpus = 4000, std::uint64_t seed = 1) : EngineWorld(seed) {
    Declare({{"cpu", cpus}}, {{"cpu", 1'000'000}});
  }
  JobId SubmitArray(const std::string& spec, bool held = false) {
    const JobPtr job = Submit({.name = "array", .held = held, .array = spec});
    MUSTER_CHECK(job != nullptr);
    return job->id;
  }
  // All records of the array, by id.
  std::vector<JobPtr> Records(JobId array) const {
    std::vector<JobPtr> records;
    engine->View()->jobs.ForEach(JobId{}, [&](const JobPtr& job) {
      if (job->batch != nullptr && job->batch->array_job_id == array) records.push_back(job);
      return true;
    });
    return records;
  }
  JobPtr Task(JobId array, std::int32_t index) const {
    for (const JobPtr& job : Records(array)) {
      if (job->batch->array_task_id == index) return job;
      if (IsArrayRecord(*job) && HasTask(BatchStateOf(*job).waiting_tasks, index)) return job;
    }
    return nullptr;
  }
  std::vector<std::int32_t> In(JobId array, JobState state) const {
    std::vector<std::int32_t> indexes;
    for (const JobPtr& job : Records(array)) {
      if (job->state != state) continue;
      const auto some = IsArrayRecord(*job) ? TasksOf(BatchStateOf(*job).waiting_tasks)
                                            : std::vector{job->batch->array_task_id};
      indexes.insert(indexes.end(), some.begin(), some.end());
    }
    std::sort(indexes.begin(), indexes.end());
    return indexes;
  }
  Result<JobPtr> DoTasks(JobVerb verb, JobId array, TaskRanges tasks, bool by_operator = false) {
    std::optional<Result<JobPtr>> answer;
    JobCommand command{{"alice", "test"}, verb, array, [&answer](Result<JobPtr> result) {
                         answer = std::move(result);
                       }};
    command.tasks = std::move(tasks);
    command.by_operator = by_operator;
    engine->Post(std::move(command));
    Settle();
    MUSTER_CHECK(answer.has_value());
    return *answer;
  }
  void End(JobId id, bool ok = true) {
    members.End(KeyOf(id), ok ? RemotePhase::kSucceeded : RemotePhase::kFailed, ok ? 0 : 1);
  }
};

TEST(Array, IsOneRecordUntilTasksStart_AndTheLastTaskKeepsItsId) {
  ArrayWorld world(2000);
  const JobId array = world.SubmitArray("1-4");
  world.Run();
  EXPECT_THAT(world.In(array, JobState::kRunning), ElementsAre(1, 2));
  EXPECT_THAT(world.In(array, JobState::kPending), ElementsAre(3, 4));
  EXPECT_EQ(world.Records(array).size(), 3U);
  const JobPtr first = world.Task(array, 1);
  EXPECT_NE(first->id, array);
  EXPECT_EQ(first->name, "job-" + std::to_string(first->id.value));
  EXPECT_NE(first->uid, world.Job(array)->uid);
  EXPECT_EQ(world.Job(array)->batch->array_task_id, -1);
  EXPECT_EQ(world.Job(array)->reason, Reason::kWaitingForQuota);
  world.End(first->id);
  world.Run();
  EXPECT_NE(world.Task(array, 3)->id, array);
  world.End(world.Task(array, 2)->id);
  world.Run();
  EXPECT_EQ(world.Task(array, 4)->id, array) << "the last task keeps the id";
  EXPECT_EQ(world.StateOf(array), JobState::kRunning);
  EXPECT_TRUE(BatchStateOf(*world.Job(array)).waiting_tasks.empty());
  world.Restart();
  world.Run();
  EXPECT_EQ(world.Task(array, 4)->id, array) << "also after a restart";
  EXPECT_EQ(world.members.most_active_of_one_job, 1U);
  EXPECT_EQ(*world.store.ReadManifests({first->id}), *world.store.ReadManifests({array}));
}

TEST(Array, StartsManyTasksInOneCycle_AndNobodyOvertakesThem) {
  ArrayWorld world(200'000);
  ASSERT_TRUE(world.Apply({ClusterQueueObject({.nominal = {{"cpu", 0}}})}).ok());
  const JobId array = world.SubmitArray("0-299");
  const JobId later = world.Submit({.name = "later"})->id;
  ASSERT_TRUE(world.Apply({ClusterQueueObject({.nominal = {{"cpu", 200'000}}})}).ok());
  world.Run();
  EXPECT_EQ(world.In(array, JobState::kRunning).size(), 200U);
  EXPECT_EQ(world.In(array, JobState::kRunning).back(), 199);
  EXPECT_EQ(world.StateOf(later), JobState::kPending);
}

TEST(Array, RunsAtMostNTasks_AndSaysSo) {
  ArrayWorld world(8000);
  const JobId array = world.SubmitArray("0-5%2");
  world.Run();
  EXPECT_THAT(world.In(array, JobState::kRunning), ElementsAre(0, 1));
  EXPECT_EQ(world.Job(array)->reason, Reason::kArrayTaskLimit);
  world.Restart();
  world.Run();
  EXPECT_THAT(world.In(array, JobState::kRunning), ElementsAre(0, 1));
  world.End(world.Task(array, 0)->id);
  world.Run();
  EXPECT_THAT(world.In(array, JobState::kRunning), ElementsAre(1, 2));
  // A requeued task keeps its place.
  ASSERT_TRUE(world.Do(JobVerb::kRequeue, world.Task(array, 1)->id).ok());
  world.Run();
  EXPECT_THAT(world.In(array, JobState::kRunning), ElementsAre(1, 2));
}

TEST(Array, CancelOfTheRecordEndsWhatWaits) {
  ArrayWorld world(1000);
  const JobId array = world.SubmitArray("0-99999");
  world.Run();
  ASSERT_TRUE(world.Do(JobVerb::kCancel, array).ok());
  EXPECT_EQ(world.StateOf(array), JobState::kCancelled);
  EXPECT_EQ(world.Records(array).size(), 2U);
  EXPECT_EQ(IndexText(BatchStateOf(*world.Job(array)).waiting_tasks), "1-99999");
  world.Run();
  EXPECT_THAT(world.In(array, JobState::kRunning), ElementsAre(0));
}

TEST(Array, VerbsOnWaitingTasksDivideTheRecord) {
  ArrayWorld world(1000);
  const JobId array = world.SubmitArray("0-9");
  world.Run();
  ASSERT_TRUE(world.DoTasks(JobVerb::kCancel, array, {{2, 4, 1}}).ok());
  EXPECT_THAT(world.In(array, JobState::kCancelled), ElementsAre(2, 3, 4));
  EXPECT_EQ(world.Records(array).size(), 3U) << "one record for the cancelled range";
  const auto held = world.DoTasks(JobVerb::kHold, array, {{6, 6, 1}});
  ASSERT_TRUE(held.ok());
  EXPECT_NE((*held)->id, array);
  EXPECT_THAT(world.In(array, JobState::kHeld), ElementsAre(6));
  EXPECT_THAT(world.In(array, JobState::kPending), ElementsAre(1, 5, 7, 8, 9));
  world.Restart();
  world.Run();
  EXPECT_THAT(world.In(array, JobState::kHeld), ElementsAre(6));
  ASSERT_TRUE(world.DoTasks(JobVerb::kRelease, array, {{6, 6, 1}}).ok());
  // A running task is a job like any other.
  ASSERT_TRUE(world.DoTasks(JobVerb::kCancel, array, {{0, 1, 1}}).ok());
  world.Run();
  EXPECT_THAT(world.In(array, JobState::kCancelled), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(world.In(array, JobState::kRunning).size(), 1U);
  EXPECT_EQ(world.DoTasks(JobVerb::kCancel, array, {{3, 3, 1}}).error().detail,
            "job 1_[3] has already ended");
  EXPECT_EQ(world.DoTasks(JobVerb::kCancel, array, {{70, 70, 1}}).error().detail,
            "job 1_[70] does not exist");
}

TEST(Array, AnOperatorsHoldOfSomeTasks_ReachesNoOther) {
  ArrayWorld world;
  const JobId array = world.SubmitArray("0-3", true);
  ASSERT_TRUE(world.DoTasks(JobVerb::kHold, array, {{1, 1, 1}}, true).ok());
  EXPECT_TRUE(BatchStateOf(*world.Task(array, 1)).held_by_admin);
  EXPECT_FALSE(BatchStateOf(*world.Task(array, 0)).held_by_admin);
  ASSERT_TRUE(world.DoTasks(JobVerb::kRelease, array, {{0, 3, 1}}).ok());
  world.Run();
  EXPECT_THAT(world.In(array, JobState::kRunning), ElementsAre(0, 2, 3));
}

TEST(Array, ARefusedVerbDividesNothing) {
  ArrayWorld world(1000);
  const JobId array = world.SubmitArray("0-5");
  world.Run();
  ASSERT_TRUE(world.DoTasks(JobVerb::kHold, array, {{1, 5, 1}}, true).ok());
  const std::size_t records = world.Records(array).size();
  for (const JobVerb verb : {JobVerb::kRelease, JobVerb::kSuspend, JobVerb::kResume, JobVerb::kKeep,
                             JobVerb::kRequeue}) {
    EXPECT_FALSE(world.DoTasks(verb, array, {{3, 3, 1}}).ok());
    EXPECT_EQ(world.Records(array).size(), records) << JobVerbName(verb);
  }
}

TEST(Array, HoldAndReleaseOfTheRecord) {
  ArrayWorld world;
  const JobId array = world.SubmitArray("0-2", true);
  world.Run();
  EXPECT_THAT(world.In(array, JobState::kHeld), ElementsAre(0, 1, 2));
  ASSERT_TRUE(world.Do(JobVerb::kRelease, array).ok());
  world.Run();
  EXPECT_THAT(world.In(array, JobState::kRunning), ElementsAre(0, 1, 2));
}


// Random admissions, ends, cancels, holds, releases and restarts.
TEST(Array, EveryIndexEndsExactlyOnce_WhateverHappens) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    ArrayWorld world(3000, seed);
    std::mt19937_64 random(seed);
    const auto pick = [&random](std::uint64_t below) {
      return static_cast<std::int32_t>(random() % below);
    };
    const bool throttled = seed % 3 == 0;
    const JobId array = world.SubmitArray(throttled ? "0-11%2" : "0-11");
    std::map<std::int32_t, JobState> ended;
    std::map<std::int32_t, int> starts;
    for (int step = 0; step < 200 && ended.size() < 12; ++step) {
      const std::int32_t first = pick(12);
      const TaskRanges some = {{first, std::min(11, first + pick(3)), 1}};
      switch (pick(9)) {
        case 0:
          if (pick(4) == 0) (void)world.DoTasks(JobVerb::kCancel, array, {{first, first, 1}});
          break;
        case 1:
          (void)world.DoTasks(JobVerb::kHold, array, some);
          break;
        case 2:
        case 3:
          (void)world.DoTasks(JobVerb::kRelease, array, some);
          break;
        case 4:
          world.Restart();
          break;
        default:
          for (const JobPtr& job : world.Records(array)) {
            if (job->state == JobState::kRunning && pick(2) == 0) world.End(job->id, pick(5) != 0);
          }
      }
      if (pick(3) != 0) {
        world.Run();
      } else {
        world.Settle();
      }
      std::map<std::int32_t, int> seen;
      std::size_t running = 0;
      for (const JobPtr& job : world.Records(array)) {
        if (HoldsQuota(job->state)) ++running;
        for (const std::int32_t index : IsArrayRecord(*job)
                                            ? TasksOf(BatchStateOf(*job).waiting_tasks)
                                            : std::vector{job->batch->array_task_id}) {
          ++seen[index];
          if (!IsTerminal(job->state)) continue;
          const auto [known, fresh] = ended.emplace(index, job->state);
          ASSERT_EQ(known->second, job->state) << "seed " << seed << " index " << index;
        }
      }
      ASSERT_EQ(seen.size(), 12U) << "seed " << seed << " step " << step;
      for (const auto& [index, times] : seen) ASSERT_EQ(times, 1) << seed << ": " << index;
      ASSERT_LE(running, throttled ? 2U : 3U) << "seed " << seed << " step " << step;
    }
    (void)world.DoTasks(JobVerb::kRelease, array, {{0, 11, 1}});
    for (int round = 0; round < 20; ++round) {
      world.Run();
      for (const JobPtr& job : world.Records(array)) {
        if (job->state == JobState::kRunning) world.End(job->id);
      }
    }
    world.Run();
    for (const JobPtr& job : world.Records(array))
      EXPECT_TRUE(IsTerminal(job->state)) << "seed " << seed << " job " << job->id.value;
    EXPECT_EQ(world.UsedCpu(), 0);
    const auto ends = world.store.ReadArrayEnds({array});
    ASSERT_TRUE(ends.ok());
    EXPECT_EQ(ends->at(0).ok + ends->at(0).failed, 12) << "seed " << seed;
    for (const auto& [key, times] : world.members.starts) EXPECT_EQ(times, 1);
  }
}

}  // namespace
}  // namespace muster::test
