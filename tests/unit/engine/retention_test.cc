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
    std::optional<Submitted> answer;
    SubmitCommand command;
    command.jobs.push_back(MakeSubmission({.name = name}));
    command.jobs[0].idempotency = IdempotencyKey{"alice/default", "key", 1};
    command.done = [&answer](Result<std::vector<Result<Submitted>>> result) {
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
  const Submitted later = submit("later");
  EXPECT_FALSE(later.replayed);
  EXPECT_NE(later.job->id, first);
  EXPECT_NE(world.Job(first), nullptr) << "only the key is forgotten";
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
