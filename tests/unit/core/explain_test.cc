#include "schedd/core/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/world.h"

namespace muster::core::testing {
namespace {

using ::testing::ElementsAre;

constexpr const char* kGpu = "nvidia.com/gpu";

TEST(Explain, JobThatWaitsForQuota_GivesTheNumbers_AndWhatWouldHelp) {
  World world;
  world.Queue("team-research", "all", {{"gpu-a100", kGpu, 16}});
  world.Queue("other", "all", {{"gpu-a100", kGpu, 8}});
  auto usage = world.EmptyUsage();
  usage.Add(usage.tree().ClusterQueueIndex("other"), usage.tree().PairIndex("gpu-a100", kGpu), 9);
  world.Use(usage);
  const auto job = world.Submit("team-research", 2, {{kGpu, 8}});
  const auto explanation = Explain(world.Take(), *job, 3);
  EXPECT_EQ(explanation.reason, "WaitingForQuota");
  EXPECT_EQ(explanation.position, 3u);
  EXPECT_EQ(
      explanation.summary,
      "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in "
      "flavor gpu-a100, 1 more needed");
  ASSERT_EQ(explanation.flavors.size(), 1u);
  EXPECT_EQ(explanation.flavors[0].message,
            "needs 16 nvidia.com/gpu; team-research can use 24, 9 are used, 15 free");
  EXPECT_THAT(
      explanation.would_help,
      ElementsAre("team-research: 1 more nvidia.com/gpu of flavor gpu-a100 must become free"));
}

TEST(Explain, JobThatIsTooLarge_NamesTheQuotaItNeeds) {
  World world;
  world.Queue("q", "", {{"default", kGpu, 8}});
  const auto job = world.Submit("q", 1, {{kGpu, 9}});
  const auto explanation = Explain(world.Take(), *job, 1);
  EXPECT_EQ(explanation.reason, "ExceedsMaxQuota");
  EXPECT_THAT(
      explanation.would_help,
      ElementsAre("q: the most it can ever use of flavor default is 8 nvidia.com/gpu; a quota "
                  "of 9 or a smaller request is needed"));
}

TEST(Explain, JobThatWaitsForRoom_ListsEveryMember) {
  World world;
  world.Queue("q", "", {{"default", kGpu, 100}});
  world.Member("east", {{kGpu, 16}});
  world.Member("west", {{kGpu, 4}});
  world.clusters()[0].free = {{kGpu, 15}};
  const auto job = world.Submit("q", 1, {{kGpu, 16}});
  const auto explanation = Explain(world.Take(), *job, 1);
  EXPECT_EQ(explanation.reason, "WaitingForCapacity");
  ASSERT_EQ(explanation.clusters.size(), 2u);
  EXPECT_THAT(
      explanation.would_help,
      ElementsAre("member cluster east must have room: needs 16 nvidia.com/gpu, 15 of 16 free",
                  "member cluster west cannot hold it: needs 16 nvidia.com/gpu, 4 of 4 free"));
}

TEST(Explain, ClosedGate_IsTheReason_BeforeAnyQuota) {
  World world;
  world.Queue("q", "", {{"default", kGpu, 1}}).stop_policy = StopPolicy::kHold;
  const auto job = world.Submit("q", 1, {{kGpu, 16}});
  const auto explanation = Explain(world.Take(), *job, 1);
  EXPECT_EQ(explanation.reason, "Suspended");
  EXPECT_EQ(explanation.summary, "ClusterQueue q is stopped");
  EXPECT_THAT(explanation.would_help,
              ElementsAre("the queue must be active again: ClusterQueue q is stopped"));
  world.config().cluster_queues.clear();
  EXPECT_EQ(Explain(world.Take(), *job, 1).reason, "Misconfigured");
}

TEST(Explain, JobBehindOthersInAStrictQueue_WaitsForThem) {
  World world;
  auto& queue = world.Queue("q", "", {{"default", kGpu, 8}});
  const auto job = world.Submit("q", 1, {{kGpu, 1}});
  EXPECT_EQ(Explain(world.Take(), *job, 4).summary,
            "quota and a member cluster are free for it; the next cycle decides");
  queue.strategy = QueueingStrategy::kStrictFifo;
  const auto explanation = Explain(world.Take(), *job, 4);
  EXPECT_EQ(explanation.summary, "StrictFIFO ClusterQueue q tries the 3 jobs before it first");
  EXPECT_THAT(explanation.would_help,
              ElementsAre("q: the 3 jobs before it must start or leave the queue"));
}

TEST(Explain, RunningHeldAndEndedJobs_SayWhatIsSoAboutThem) {
  World world;
  world.Queue("q", "", {{"default", kGpu, 8}});
  auto job = world.Job("q", 0, {Pods("main", 2, {{kGpu, 2}})});
  job->state = JobState::kHeld;
  EXPECT_EQ(Explain(world.Take(), *job, 0).reason, "HeldByUser");
  EXPECT_THAT(Explain(world.Take(), *job, 0).would_help,
              ElementsAre("it must be released: muster release 1"));
  job->state = JobState::kRunning;
  job->reason = Reason::kRunning;
  job->cluster = "east";
  Admission admission{"q", {{"main", 2, {{kGpu, "default"}}, {{kGpu, 4}}}}};
  job->admission = std::make_shared<const Admission>(admission);
  EXPECT_EQ(Explain(world.Take(), *job, 0).summary,
            "runs on member cluster east; ClusterQueue q reserved main: 4 nvidia.com/gpu of flavor "
            "default");
  EXPECT_EQ(Explain(world.Take(), *job, 0).position, 0u);
  job->state = JobState::kFailed;
  job->reason = Reason::kFailed;
  job->message = "container exited with 3";
  EXPECT_EQ(Explain(world.Take(), *job, 0).summary, "container exited with 3");
  EXPECT_EQ(Explain(world.Take(), *job, 0).reason, "Failed");
}

}  // namespace
}  // namespace muster::core::testing
