#include "schedd/core/queue_order.h"

#include <gtest/gtest.h>

#include "tests/unit/core/world.h"

namespace muster::core::testing {
namespace {

std::vector<std::int64_t> Ids(const std::vector<JobPtr>& jobs) {
  std::vector<std::int64_t> ids;
  for (const auto& job : jobs) ids.push_back(job->id.value);
  return ids;
}

class PendingQueuesTest : public ::testing::Test {
 protected:
  // Jobs with equal `size` and priority are of one class.
  JobPtr Add(const char* queue, std::int64_t size, std::int32_t priority = 0) {
    return world_.Submit(queue, 1, {{"cpu", size}}, priority);
  }
  std::vector<std::int64_t> Heads(std::size_t count) {
    const auto heads = queues().Heads(count, 1000);
    return heads.empty() ? std::vector<std::int64_t>{} : Ids(heads[0].jobs);
  }
  PendingQueues& queues() { return world_.pending(); }
  World world_;
};

TEST_F(PendingQueuesTest, Order_IsPriority_ThenSubmitTime_ThenAcceptance) {
  Add("q", 1);                         // 1
  Add("q", 1, 5);                      // 2
  Add("q", 2);                         // 3
  auto late = world_.Job("q", 5, {});  // 4
  late->submit_time = {999};
  world_.Add(late);
  auto tie = world_.Job("q", 0, {});  // 5: as early as 1, accepted after it
  tie->submit_time = {1'000'001};
  world_.Add(tie);
  EXPECT_EQ(Heads(10), (std::vector<std::int64_t>{4, 2, 1, 5, 3}));
}

TEST_F(PendingQueuesTest, Heads_MergesClassesInOrder_AndSaysIfThereIsMore) {
  for (int i = 0; i < 6; ++i) Add("q", i % 2);
  const auto heads = queues().Heads(4, 1000);
  ASSERT_EQ(heads.size(), 1u);
  EXPECT_EQ(Ids(heads[0].jobs), (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_TRUE(heads[0].more);
  EXPECT_FALSE(queues().Heads(6, 1000)[0].more);
}

TEST_F(PendingQueuesTest, Heads_VisitsQueuesInNameOrder_UpToTheTotal) {
  Add("b", 1);
  Add("c", 1);
  Add("a", 1);
  Add("a", 1);
  const auto heads = queues().Heads(2, 3);
  ASSERT_EQ(heads.size(), 2u);
  EXPECT_EQ(heads[0].cluster_queue, "a");
  EXPECT_EQ(heads[1].cluster_queue, "b");
  EXPECT_EQ(heads[0].jobs.size() + heads[1].jobs.size(), 3u);
}

TEST_F(PendingQueuesTest, Park_TakesTheWholeClassAway_AndNothingElse) {
  Add("q", 1);
  Add("q", 2);
  Add("q", 1);
  Add("q", 1, 3);
  queues().Park({1});
  EXPECT_EQ(Heads(10), (std::vector<std::int64_t>{4, 2})) << "another priority is another class";
  EXPECT_EQ(queues().Counts("q").active, 2u);
  EXPECT_EQ(queues().Counts("q").inadmissible, 2u);
  Add("q", 1);
  EXPECT_EQ(queues().Counts("q").inadmissible, 3u) << "a newcomer of a parked class is parked";
  queues().Park({99});
  EXPECT_EQ(Ids(queues().Ordered("q", 10)), (std::vector<std::int64_t>{4, 1, 2, 3, 5}));
  EXPECT_EQ(Ids(queues().Ordered("q", 2)), (std::vector<std::int64_t>{4, 1}));
}

TEST_F(PendingQueuesTest, JobsThatDifferInWhatRulesRead_AreOfDifferentClasses) {
  const auto first = Add("q", 1);
  const auto differs = [&](auto change) {
    auto job = world_.Job("q", 0, {Pods("main", 1, {{"cpu", 1}})});
    change(*job);
    world_.Add(job);
    queues().FlushAll();
    queues().Park(first->id);
    const bool separate = queues().Counts("q").inadmissible == 1;
    queues().Remove(job->id);
    return separate;
  };
  EXPECT_FALSE(differs([](JobRecord& job) { job.name = "other"; }));
  EXPECT_TRUE(differs([](JobRecord& job) { job.ns = "other"; }));
  EXPECT_TRUE(differs([](JobRecord& job) { job.local_queue = "other"; }));
  EXPECT_TRUE(differs([](JobRecord& job) { job.priority = 1; }));
  const auto pods = [](JobRecord& job, const PodSet& pod_set) {
    job.pod_sets = std::make_shared<const PodSets>(PodSets{pod_set});
  };
  EXPECT_TRUE(differs([&](JobRecord& job) { pods(job, Pods("main", 2, {{"cpu", 1}})); }));
  EXPECT_TRUE(differs([&](JobRecord& job) { pods(job, Pods("main", 1, {{"cpu", 2}})); }));
  EXPECT_TRUE(differs([&](JobRecord& job) { pods(job, Pods("main", 1, {{"gpu", 1}})); }));
  SchedulingConstraints constraints;
  constraints.node_selector = {{"zone", "a"}};
  EXPECT_TRUE(differs([&](JobRecord& job) {
    pods(job, With(Pods("main", 1, {{"cpu", 1}}), constraints));
  }));
  constraints = {};
  constraints.tolerations = {{"spot", "Exists", "", "", {}}};
  EXPECT_TRUE(differs([&](JobRecord& job) {
    pods(job, With(Pods("main", 1, {{"cpu", 1}}), constraints));
  }));
}

TEST_F(PendingQueuesTest, Flush_ActivatesTheNamedQueuesOnly) {
  Add("a", 1);
  Add("b", 1);
  queues().Park({1});
  queues().Park({2});
  EXPECT_FALSE(queues().HasActive());
  queues().Flush({"b", "unknown"});
  EXPECT_TRUE(queues().HasActive());
  EXPECT_EQ(queues().Counts("a").inadmissible, 1u);
  EXPECT_EQ(queues().Counts("b").active, 1u);
  queues().FlushAll();
  EXPECT_EQ(queues().Counts("a").active, 1u);
}

TEST_F(PendingQueuesTest, Block_HidesTheQueue_UntilItsHeadChanges) {
  Add("q", 1);
  Add("q", 2);
  queues().Block({2});
  EXPECT_TRUE(queues().HasActive()) << "only a head can block";
  queues().Block({1});
  EXPECT_FALSE(queues().HasActive());
  EXPECT_TRUE(queues().Heads(10, 10).empty());
  EXPECT_EQ(queues().Counts("q").active, 2u);
  Add("q", 2);
  EXPECT_FALSE(queues().HasActive()) << "a newcomer behind the head changes nothing";
  Add("q", 1, 7);
  EXPECT_EQ(Heads(1), (std::vector<std::int64_t>{4})) << "a newcomer before the head is tried";
  queues().Remove({4});
  EXPECT_FALSE(queues().HasActive()) << "the old head blocks again";
  queues().Remove({1});
  EXPECT_EQ(Heads(10), (std::vector<std::int64_t>{2, 3}));
}

TEST_F(PendingQueuesTest, Block_IsLiftedByAFlush_AndByAReplacedHead) {
  const auto head = Add("q", 1);
  queues().Block({1});
  queues().Flush({"q"});
  EXPECT_TRUE(queues().HasActive());
  queues().Block({1});
  queues().Add(head);
  EXPECT_TRUE(queues().HasActive());
}

TEST_F(PendingQueuesTest, AddAgain_ReplacesTheRecord_AndMayMoveIt) {
  Add("q", 1);
  Add("q", 1);
  auto changed = std::make_shared<JobRecord>(*queues().Find({2}));
  changed->priority = 9;
  queues().Add(changed);
  EXPECT_EQ(queues().size(), 2u);
  EXPECT_EQ(Heads(10), (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(queues().Find({2})->priority, 9);
  changed = std::make_shared<JobRecord>(*changed);
  changed->cluster_queue = "r";
  queues().Add(changed);
  EXPECT_EQ(queues().Counts("q").active, 1u);
  EXPECT_EQ(queues().Counts("r").active, 1u);
}

TEST_F(PendingQueuesTest, Remove_ForgetsJobsClassesAndQueues) {
  Add("q", 1);
  Add("q", 2);
  queues().Park({1});
  EXPECT_TRUE(queues().Remove({1}));
  EXPECT_FALSE(queues().Remove({1}));
  EXPECT_FALSE(queues().Contains({1}));
  EXPECT_EQ(queues().Find({1}), nullptr);
  EXPECT_EQ(queues().Counts("q").inadmissible, 0u);
  EXPECT_TRUE(queues().Remove({2}));
  EXPECT_EQ(queues().size(), 0u);
  EXPECT_FALSE(queues().HasActive());
  EXPECT_EQ(queues().Counts("q").active, 0u);
}

TEST_F(PendingQueuesTest, ForEachInClass_VisitsExactlyTheEqualOnes) {
  Add("q", 1);
  Add("q", 2);
  Add("q", 1);
  std::vector<std::int64_t> seen;
  queues().ForEachInClass({3}, [&](const JobPtr& job) { seen.push_back(job->id.value); });
  EXPECT_EQ(seen, (std::vector<std::int64_t>{1, 3}));
  queues().ForEachInClass({9}, [&](const JobPtr&) { FAIL(); });
}

TEST_F(PendingQueuesTest, Settle_RemovesParksAndBlocks_AsThePlanSays) {
  const auto admitted = Add("q", 1);
  const auto gated = Add("q", 2);
  const auto head = Add("q", 3);
  Add("q", 4);
  Plan plan;
  plan.admits.push_back({admitted, nullptr, "", 0});
  plan.not_admitted.push_back({head, Reason::kWaitingForQuota, "", false, true});
  plan.not_admitted.push_back({gated, Reason::kSuspended, "", true, false});
  queues().Settle(plan);
  EXPECT_FALSE(queues().Contains({1}));
  EXPECT_EQ(queues().Counts("q").inadmissible, 1u);
  EXPECT_FALSE(queues().HasActive()) << "the head blocks although a gated job stood before it";
}

TEST_F(PendingQueuesTest, ManyClasses_AreParkedAndFlushedWithoutLoss) {
  for (int i = 0; i < 500; ++i) Add("q", i % 97, i % 3);
  const auto before = Ids(queues().Ordered("q", 1000));
  for (int i = 1; i <= 500; i += 7) queues().Park({i});
  EXPECT_EQ(queues().Counts("q").active + queues().Counts("q").inadmissible, 500u);
  EXPECT_EQ(Ids(queues().Ordered("q", 1000)), before);
  queues().FlushAll();
  EXPECT_EQ(Heads(1000), before);
}

}  // namespace
}  // namespace muster::core::testing
