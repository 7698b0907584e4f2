// Rows of configuration objects on members: the engine stores and shows them, and nothing else.
#include <gtest/gtest.h>

#include <optional>

#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

WorkPtr MakeWork(const std::string& cluster, const std::string& waits = "") {
  auto work = std::make_shared<Work>();
  work->ns = "ml";
  work->placement = "queues";
  work->cluster = cluster;
  work->state = WorkState::kBound;
  work->snapshot = 1;
  work->waits = waits;
  return work;
}

SnapshotPtr MakeSnapshot(std::int32_t index) {
  auto snapshot = std::make_shared<ResourceSnapshot>();
  snapshot->ns = "ml";
  snapshot->placement = "queues";
  snapshot->index = index;
  snapshot->resources = {{{"", "v1", "ConfigMap", "ml", "c"}, "", "{}"}};
  return snapshot;
}

std::optional<Status> Record(EngineWorld* world, RecordWorksCommand command) {
  auto answer = std::make_shared<std::optional<Status>>();
  command.done = [answer](Status status) { *answer = std::move(status); };
  EXPECT_TRUE(world->engine->Post(std::move(command)));
  world->Settle();
  return *answer;
}

void Remember(EngineWorld* world) {
  RecordWorksCommand command;
  command.works = {MakeWork("east"), MakeWork("west")};
  command.snapshots = {MakeSnapshot(0), MakeSnapshot(1)};
  const auto answer = Record(world, std::move(command));
  ASSERT_TRUE(answer.has_value());
  ASSERT_TRUE(answer->ok());
}

TEST(RecordedWorks, AreInTheViewAndSurviveTheDaemon) {
  EngineWorld world;
  world.Settle();
  Remember(&world);
  for (const char* when : {"before", "after"}) {
    SCOPED_TRACE(when);
    const WorkTable& table = *world.engine->View()->works;
    ASSERT_EQ(table.works.size(), 2U);
    EXPECT_EQ(*table.works.at({"ml", "queues", "east"}), *MakeWork("east"));
    ASSERT_EQ(table.snapshots.size(), 2U);
    EXPECT_EQ(*table.snapshots.at({"ml", "queues", 1}), *MakeSnapshot(1));
    world.Restart();
    world.Settle();
  }
}

TEST(RecordedWorks, ChangeAndEndInTheViewAndInTheStore) {
  EngineWorld world;
  world.Settle();
  Remember(&world);
  RecordWorksCommand command;
  command.works = {MakeWork("east", "held up")};
  command.ended_works = {{"ml", "queues", "west"}, {"ml", "queues", "unknown"}};
  command.ended_snapshots = {{"ml", "queues", 0}};
  ASSERT_TRUE(Record(&world, std::move(command))->ok());
  const StoredWorld stored = world.Stored();
  ASSERT_EQ(stored.works.size(), 1U);
  EXPECT_EQ(stored.works[0]->waits, "held up");
  ASSERT_EQ(stored.snapshots.size(), 1U);
  EXPECT_EQ(stored.snapshots[0]->index, 1);
  const WorkTable& table = *world.engine->View()->works;
  EXPECT_EQ(table.works.size(), 1U);
  EXPECT_EQ(table.works.at({"ml", "queues", "east"})->waits, "held up");
  EXPECT_EQ(table.snapshots.size(), 1U);
}

TEST(RecordedWorks, AreAnsweredAndShownOnlyOnceTheyAreDurable) {
  EngineWorld world(1, {}, MemoryStoreOptions{.manual = true});
  world.Settle();
  RecordWorksCommand command;
  command.works = {MakeWork("east")};
  const auto answer = Record(&world, std::move(command));
  EXPECT_FALSE(answer.has_value());
  EXPECT_TRUE(world.engine->View()->works->works.empty());
}

TEST(RecordedWorks, ThatWereNotWrittenAreRefusedAndNotShown) {
  EngineWorld world;
  world.Settle();
  Remember(&world);
  world.store.SetAway(true);
  RecordWorksCommand command;
  command.works = {MakeWork("east", "lost")};
  const auto answer = Record(&world, std::move(command));
  ASSERT_TRUE(answer.has_value());
  ASSERT_FALSE(answer->ok());
  EXPECT_EQ(answer->error().code, Code::kUnavailable);
  const auto while_away = Record(&world, RecordWorksCommand{});
  ASSERT_TRUE(while_away.has_value()) << "whoever asks while the database is away is answered";
  EXPECT_FALSE(while_away->ok());
  world.store.SetAway(false);
  world.clock.Advance(60'000);
  world.Settle();
  ASSERT_TRUE(world.engine->View()->ready);
  EXPECT_EQ(world.engine->View()->works->works.at({"ml", "queues", "east"})->waits, "");
}

}  // namespace
}  // namespace muster::test
