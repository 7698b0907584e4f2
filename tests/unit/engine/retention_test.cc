// Ended jobs: how long they stay in memory, and TTL.
#include <gtest/gtest.h>

#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

JobId Ended(EngineWorld* world, std::int64_t ttl_s) {
  world->Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world->Submit({.ttl_s = ttl_s})->id;
  world->Run();
  world->members.End(world->KeyOf(id), RemotePhase::kSucceeded);
  world->Run();
  return id;
}

TEST(Retention, AnEndedJobLeavesMemoryButNotTheStore) {
  EngineWorld world;
  const JobId id = Ended(&world, -1);
  world.clock.Advance(299'000);
  world.Run();
  EXPECT_NE(world.Job(id), nullptr);
  world.clock.Advance(2'000);
  world.Run();
  EXPECT_EQ(world.Job(id), nullptr);
  EXPECT_EQ((*world.store.ReadJob(id))->state, JobState::kSucceeded);
  EXPECT_EQ(world.members.objects.size(), 1U) << "its logs stay";
}

TEST(Retention, TtlDeletesTheJobItsObjectAndItsName) {
  EngineWorld world;
  const JobId id = Ended(&world, 60);
  world.clock.Advance(59'000);
  world.Run();
  EXPECT_NE(world.Job(id), nullptr);
  world.clock.Advance(2'000);
  world.Run();
  EXPECT_EQ(world.Job(id), nullptr);
  EXPECT_TRUE(world.members.objects.empty());
  EXPECT_NE(world.Submit({.uid_seed = "second"}), nullptr) << "the name is free";
}

TEST(Retention, TtlZeroDeletesAtOnce) {
  EngineWorld world;
  const JobId id = Ended(&world, 0);
  EXPECT_EQ(world.Job(id), nullptr);
  EXPECT_TRUE(world.members.objects.empty());
}

TEST(Retention, TtlLongerThanMemoryStillFires) {
  EngineWorld world;
  Ended(&world, 3600);
  world.clock.Advance(1'800'000);
  world.Run();
  EXPECT_EQ(world.members.objects.size(), 1U);
  world.clock.Advance(1'801'000);
  world.Run();
  EXPECT_TRUE(world.members.objects.empty());
}

TEST(Retention, AnIdempotencyKeyIsForgottenADayAfterItsSubmission) {
  EngineWorld world;
  world.Declare({{"cpu", 0}}, {{"cpu", 8000}});
  const auto submit = [&](const std::string& name) {
    std::optional<SubmittedJob> answer;
    SubmitCommand command;
    command.jobs.push_back(MakeSubmission({.name = name}));
    command.jobs[0].idempotency = IdempotencyKey{"alice/default", "key", 1};
    command.done = [&answer](Result<std::vector<Result<SubmittedJob>>> result) {
      answer = *(*result)[0];
    };
    MUSTER_CHECK(world.engine->Post(std::move(command)));
    world.Settle();
    return *answer;
  };
  const JobId first = submit("first").job->id;
  world.clock.Advance(23 * 3'600'000);
  world.Run();
  EXPECT_TRUE(submit("again").replayed);
  world.Restart();
  world.clock.Advance(3'600'000 + 60'000);
  world.Run();
  const SubmittedJob later = submit("later");
  EXPECT_FALSE(later.replayed);
  EXPECT_NE(later.job->id, first);
  EXPECT_NE(world.Job(first), nullptr) << "only the key is forgotten";
}

TEST(Retention, ThePolicyForFinishedJobsHoldsForThoseWithoutATtl) {
  for (const std::int64_t ttl_s : {-1, 7200}) {
    AdmissionSettings settings;
    settings.retain_finished_s = 3600;
    EngineWorld world(1, OptionsWith(settings));
    const JobId id = Ended(&world, ttl_s);
    world.clock.Advance(3'599'000);
    world.Run();
    world.Restart();
    world.Run();
    EXPECT_EQ(world.members.objects.size(), 1U);
    world.clock.Advance(2'000);
    world.Run();
    EXPECT_EQ(world.members.objects.size(), ttl_s < 0 ? 0U : 1U) << "its own TTL is longer";
    EXPECT_EQ(world.store.FindJob("default", ShapeKind::kJob, "job").ok(), ttl_s >= 0);
    EXPECT_TRUE(world.store.ReadJob(id).ok()) << "accounting stays";
  }
}

TEST(Retention, ThePolicyFindsWhatEndedLongBeforeTheStart) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId never_ran = world.Submit({.name = "never-ran", .held = true})->id;
  ASSERT_TRUE(world.Do(JobVerb::kCancel, never_ran).ok());
  world.clock.Advance(7'200'000);
  world.Run();
  ASSERT_EQ(world.Job(never_ran), nullptr) << "it has left memory";
  ASSERT_TRUE(world.store.FindJob("default", ShapeKind::kJob, "never-ran").ok());
  AdmissionSettings settings;
  settings.retain_finished_s = 3600;
  world.Restart(OptionsWith(settings));
  world.Run();
  EXPECT_FALSE(world.store.FindJob("default", ShapeKind::kJob, "never-ran").ok());
}

TEST(Retention, WhatMusterDeactivatedIsDeletedAfterItsTimeAndWhatAUserDidIsNot) {
  AdmissionSettings settings;
  settings.retain_deactivated_s = 3600;
  EngineWorld world(1, OptionsWith(settings));
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId by_muster = world.Submit({.name = "by-muster", .max_execution_s = 60})->id;
  const JobId by_user = world.Submit({.name = "by-user"})->id;
  world.Run();
  ChangeJobCommand stop;
  stop.job = by_user;
  stop.active = false;
  ASSERT_TRUE(world.Change(std::move(stop)).ok());
  world.clock.Advance(60'000);
  world.Run();
  ASSERT_EQ(world.Job(by_muster)->reason, Reason::kDeactivated);
  world.clock.Advance(3'590'000);
  world.Run();
  world.Restart();
  world.Run();
  EXPECT_EQ(world.Job(by_muster)->reason, Reason::kDeactivated);
  world.clock.Advance(10'000);
  world.Run();
  EXPECT_EQ(world.Job(by_muster), nullptr);
  EXPECT_FALSE(world.store.FindJob("default", ShapeKind::kJob, "by-muster").ok());
  EXPECT_EQ(world.Job(by_user)->reason, Reason::kDeactivated);
}

TEST(Retention, TtlRunsOnOverARestart) {
  EngineWorld world;
  Ended(&world, 3600);
  world.clock.Advance(1'800'000);
  world.Run();
  world.Restart();
  world.Run();
  EXPECT_EQ(world.members.objects.size(), 1U);
  world.clock.Advance(1'801'000);
  world.Run();
  EXPECT_TRUE(world.members.objects.empty());
  EXPECT_TRUE(world.Stored().dispatches.empty());
}

}  // namespace
}  // namespace muster::test
