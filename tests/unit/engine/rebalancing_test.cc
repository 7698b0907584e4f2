// Rebalancing in a running engine: one job at a time moves to the member that its placement scores
// higher, for queues that ask for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/model/admission_lifecycle.h"
#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kSecondMs = 1000;
constexpr const char* kKind =
    R"("resourceSelectors":[{"group":"batch","version":"v1","kind":"Job"}])";

ObjectChange Member(const std::string& name, std::int64_t cpus = 8) {
  return MemberObject(name, {{"cpu", cpus * 1000}});
}

ObjectChange Queue(const std::string& gain = "10", const std::string& every = "60s") {
  ObjectChange queue = ClusterQueueObject({.nominal = {{"cpu", 64000}}});
  queue = WithAnnotation(queue, "muster.io/rebalance", "true");
  queue = WithAnnotation(queue, "muster.io/rebalance-gain", gain);
  return WithAnnotation(queue, "muster.io/rebalance-every", every);
}

// Of all Jobs in the namespace: the member with the most free cpu is worth 100 points.
ObjectChange PrefersRoom() {
  return PlacementObject(
      ObjectKind::kResourcePlacement, "default", "train",
      std::string("{") + kKind +
          R"(,"policy":{"placementType":"PickN","numberOfClusters":1,"affinity":{"clusterAffinity":
      {"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100,"preference":{"propertySorter":
      {"name":"resources.kubernetes-fleet.io/available-cpu","sortOrder":"Descending"}}}]}}}})");
}

ObjectChange Budget() {
  return PlacementObject(ObjectKind::kResourcePlacementDisruptionBudget, "default", "train",
                         R"({"minAvailable":3})");
}

// A job of the tests.
struct RunningJob {
  std::string name;
  std::int32_t priority = 0;
  bool checkpointable = true;
  bool no_requeue = false;
};

JobId Running(EngineWorld* world, const RunningJob& wanted) {
  JobSpec spec;
  spec.name = wanted.name;
  spec.pods = {Pods{1, {{"cpu", 2000}}}};
  spec.priority = wanted.priority;
  spec.no_requeue = wanted.no_requeue;
  Submission submission = MakeSubmission(spec);
  auto draft = std::make_shared<JobRecord>(*submission.draft);
  JobPlacement own;
  own.checkpointable = wanted.checkpointable;
  draft->placement = std::make_shared<const JobPlacement>(own);
  submission.draft = draft;
  JobId id;
  SubmitCommand command;
  command.jobs.push_back(std::move(submission));
  command.done = [&id](Result<std::vector<Result<SubmittedJob>>> result) {
    MUSTER_CHECK(result.ok() && (*result)[0].ok());
    id = (*result)[0]->job->id;
  };
  MUSTER_CHECK(world->engine->Post(std::move(command)));
  world->Run();
  return id;
}

void ApplyAndRun(EngineWorld* world, std::vector<ObjectChange> changes) {
  const auto applied = world->Apply(std::move(changes));
  ASSERT_TRUE(applied.ok()) << applied.error().detail;
  world->Run();
}

// Advances the clock second by second, as the engine's steps do.
void Later(EngineWorld* world, int seconds) {
  for (int i = 0; i < seconds; ++i) {
    world->clock.Advance(kSecondMs);
    world->Run();
  }
}

int CountOn(const EngineWorld& world, const std::vector<JobId>& ids, const std::string& cluster) {
  int count = 0;
  for (const JobId id : ids) {
    const JobPtr job = world.Job(id);
    if (job->state == JobState::kRunning && job->cluster == cluster) ++count;
  }
  return count;
}

// Runs `jobs` on east, and then adds an empty member west.
std::vector<JobId> OnEast(EngineWorld* world, const std::vector<RunningJob>& jobs) {
  world->Declare({{"cpu", 64000}}, {{"cpu", 8000}});
  ApplyAndRun(world, {PrefersRoom()});
  std::vector<JobId> ids;
  for (const RunningJob& job : jobs) ids.push_back(Running(world, job));
  ApplyAndRun(world, {Member("west")});
  EXPECT_EQ(CountOn(*world, ids, "east"), static_cast<int>(jobs.size()));
  return ids;
}

TEST(Rebalancing, MovesOneJobAPeriod_UntilNothingIsGained) {
  EngineWorld world;
  const auto ids = OnEast(&world, {{"a"}, {"b"}, {"c"}, {"d"}});
  Later(&world, 70);
  EXPECT_EQ(CountOn(world, ids, "east"), 4) << "the queue does not ask for it";
  ApplyAndRun(&world, {Queue()});
  Later(&world, 59);
  EXPECT_EQ(CountOn(world, ids, "east"), 4);
  Later(&world, 3);
  EXPECT_EQ(CountOn(world, ids, "east"), 3);
  EXPECT_EQ(CountOn(world, ids, "west"), 1);
  Later(&world, 55);
  EXPECT_EQ(CountOn(world, ids, "west"), 1) << "one a period";
  Later(&world, 10);
  EXPECT_EQ(CountOn(world, ids, "west"), 2);
  Later(&world, 300);
  EXPECT_EQ(CountOn(world, ids, "east"), 2) << "two each: nobody is better off elsewhere";
  EXPECT_EQ(CountOn(world, ids, "west"), 2);
  EXPECT_EQ(world.members.most_active_of_one_job, 1U);
}

TEST(Rebalancing, TheJobSaysWhyItMovedAndRunsAnew) {
  EngineWorld world;
  const auto ids = OnEast(&world, {{"important", 10}, {"b"}, {"c"}});
  ApplyAndRun(&world, {Queue()});
  Later(&world, 62);
  const JobPtr moved = world.Job(ids[1]);
  ASSERT_EQ(moved->cluster, "west") << "of equal gains the lower priority, then the smaller number";
  EXPECT_EQ(moved->attempt, 2);
  const Condition* evicted = FindCondition(*moved, "Evicted");
  ASSERT_NE(evicted, nullptr);
  EXPECT_THAT(evicted->message, HasSubstr("moves to member cluster west: it scores 100 points"));
  bool told = false;
  for (const Event& event : world.events)
    told = told || (event.type == "JobEvicted" && event.reason == "Rebalanced");
  EXPECT_TRUE(told);
}

TEST(Rebalancing, LeavesAloneWhoMayNotBeMoved) {
  EngineWorld world;
  const auto ids = OnEast(&world, {{"not-said", 0, false}, {"once", 0, true, true}});
  ApplyAndRun(&world, {Queue()});
  Later(&world, 200);
  EXPECT_EQ(CountOn(world, ids, "east"), 2);
  EXPECT_EQ(world.Job(ids[0])->attempt, 1);
}

TEST(Rebalancing, KeepsToTheBudgetsOfPlacements) {
  EngineWorld world;
  const auto ids = OnEast(&world, {{"a"}, {"b"}, {"c"}});
  ApplyAndRun(&world, {Queue(), Budget()});
  Later(&world, 130);
  EXPECT_EQ(CountOn(world, ids, "east"), 3) << "three must run";
  ApplyAndRun(&world,
              {Removal(ObjectKind::kResourcePlacementDisruptionBudget, "default", "train")});
  Later(&world, 62);
  EXPECT_EQ(CountOn(world, ids, "west"), 1);
}

TEST(Rebalancing, BeginsItsPeriodAnewWithARestart) {
  EngineWorld world;
  const auto ids = OnEast(&world, {{"a"}, {"b"}, {"c"}, {"d"}});
  ApplyAndRun(&world, {Queue()});
  Later(&world, 62);
  EXPECT_EQ(CountOn(world, ids, "west"), 1);
  Later(&world, 50);
  world.Restart();
  world.Run();
  Later(&world, 50);
  EXPECT_EQ(CountOn(world, ids, "west"), 1);
  Later(&world, 13);
  EXPECT_EQ(CountOn(world, ids, "west"), 2);
}

// The next job would be sent to the member that the first one moves to.
TEST(Rebalancing, WaitsUntilWhoWasSentAwayHasFoundHisPlace) {
  EngineWorld world;
  const auto ids = OnEast(&world, {{"a"}, {"b"}, {"c"}, {"d"}});
  ApplyAndRun(&world, {Queue("1", "10s")});
  for (int i = 0; i < 12; ++i) {
    world.clock.Advance(kSecondMs);
    // The member does not get an order to stop anything.
    world.Settle();
  }
  int leaving = 0;
  for (const JobId id : ids) leaving += world.Job(id)->reason == Reason::kRebalanced ? 1 : 0;
  EXPECT_EQ(leaving, 1);
  for (int i = 0; i < 60; ++i) {
    world.clock.Advance(kSecondMs);
    world.Settle();
  }
  leaving = 0;
  for (const JobId id : ids) leaving += world.Job(id)->reason == Reason::kRebalanced ? 1 : 0;
  EXPECT_EQ(leaving, 1) << "it still holds its quota";
}

}  // namespace
}  // namespace muster::test
