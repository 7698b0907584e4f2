// Dependencies without the engine's loop: what memory knows of parents, and what is asked of the
// database, which may not answer.
#include <gtest/gtest.h>

#include "schedd/lifecycle/dependency_text.h"
#include "tests/support/owners_world.h"

namespace muster::test {
namespace {

using Type = DependencyType;

class DependencyOwner : public ::testing::Test {
 protected:
  DependencyOwner() { world.Declare(); }

  // Taken while the database does not answer reads, if `away`, and written when it does again.
  JobPtr Dependent(const std::string& name, std::vector<Dependency> on, bool away = false) {
    Submission submission = MakeSubmission({.name = name});
    submission.draft->shape = ShapeKind::kBatchScript;
    submission.draft->batch = std::make_shared<BatchDetails>();
    auto state = std::make_shared<BatchState>();
    state->dependencies = std::move(on);
    submission.draft->batch_state = std::move(state);
    SubmitCommand command;
    command.jobs.push_back(std::move(submission));
    JobPtr job;
    command.done = [&job](Result<std::vector<Result<SubmittedJob>>> all) {
      job = all->front()->job;
    };
    world.store.FailReads(away);
    owners.submissions.Handle(std::move(command));
    world.store.FailReads(false);
    owners.submissions.Send();
    world.Commit();
    return job;
  }
  JobPtr Array(const std::string& spec) {
    const JobPtr array = world.Submit({.name = "array", .array = spec});
    world.Cycle();
    return array;
  }
  JobPtr Task(const JobPtr& array, std::int32_t index) {
    return owners.arrays.RecordOf(array->id, index);
  }
  void End(const JobPtr& job, RemotePhase phase) {
    world.Report(job, phase);
    world.Commit();
  }
  // All jobs that have ended leave memory.
  void Forget() {
    world.clock.Advance(30LL * 24 * 3'600'000);
    for (int i = 0; i < 3; ++i) owners.retention.Fire();
    world.Commit();
  }
  void Fire() {
    owners.dependencies.Fire();
    world.Commit();
  }
  std::string Text(const JobPtr& job) { return DependencyText(BatchStateOf(*world.Now(job))); }

  OwnersWorld world;
  Owners& owners = world.owners;
};

TEST_F(DependencyOwner, ATaskThatFailedLongAgo_IsCountedThoughItsRecordIsGone) {
  const JobPtr array = Array("0-1");
  End(Task(array, 0), RemotePhase::kFailed);
  Forget();
  ASSERT_EQ(Task(array, 0), nullptr);
  const JobPtr child = Dependent("child", {{Type::kAfterOk, array->id}}, true);
  End(Task(array, 1), RemotePhase::kSucceeded);
  Fire();
  EXPECT_EQ(Text(child), "afterok:1_*(failed)");
}

TEST_F(DependencyOwner, WhatTheDatabaseDoesNotTell_IsWaitedFor) {
  const JobPtr good = world.Submit({.name = "good"}), array = Array("0-2");
  world.Cycle();
  End(good, RemotePhase::kSucceeded);
  for (const std::int32_t index : {2, 1, 0}) {
    End(Task(array, index), index == 1 ? RemotePhase::kFailed : RemotePhase::kSucceeded);
  }
  Forget();
  ASSERT_EQ(world.Now(good), nullptr);
  ASSERT_FALSE(owners.arrays.Has(array->id));
  const JobPtr met = Dependent("met", {{Type::kAfterOk, good->id}});
  const JobPtr never = Dependent("never", {{Type::kAfterOk, array->id}});
  const JobPtr task = Dependent("task", {{Type::kAfterNotOk, array->id, 1}});
  const JobPtr none = Dependent("none", {{Type::kAfterAny, JobId{999}}});
  world.store.FailReads(true);
  EXPECT_TRUE(owners.dependencies.Fire());
  EXPECT_FALSE(owners.dependencies.Pending());
  EXPECT_EQ(owners.dependencies.Next(), world.clock.WallNow().PlusSeconds(1));
  EXPECT_EQ(Text(met), "afterok:1(unfulfilled)");
  EXPECT_EQ(Text(never), "afterok:2(unfulfilled)");
  world.store.FailReads(false);
  world.clock.Advance(1000);
  Fire();
  EXPECT_EQ(Text(met), "");
  EXPECT_EQ(Text(never), "afterok:2_*(failed)");
  EXPECT_EQ(Text(task), "");
  EXPECT_EQ(Text(none), "afterany:999(failed)");
}

TEST_F(DependencyOwner, AnArrayIsCountedAsItsRecordsAre) {
  const JobPtr array = Array("0-9");
  End(Task(array, 0), RemotePhase::kFailed);
  End(Task(array, 1), RemotePhase::kSucceeded);
  world.Cycle();
  ParentState sum;
  for (const JobPtr& job : owners.arrays.Records(array->id)) sum.Count(*job, +1);
  EXPECT_EQ(owners.arrays.StateOf(array->id), sum);
  EXPECT_EQ(sum.tasks, 10);
  EXPECT_EQ(sum.open, 8);
  EXPECT_EQ(sum.failed, 1);
  EXPECT_EQ(sum.not_begun, 4);
}

TEST_F(DependencyOwner, TheTimesOfTasksThatNobodySaw_AreNotGuessedTooEarly) {
  const WallTime since = world.clock.WallNow();
  owners.arrays.Reset({{JobId{77}, 2, 0}}, since);
  EXPECT_EQ(owners.arrays.StateOf(JobId{77})->last_begin, since);
}

}  // namespace
}  // namespace muster::test
