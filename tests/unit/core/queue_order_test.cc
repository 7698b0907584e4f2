// PendingQueues: order, parking of equals, blocking, back-off, the sticky preemptor and flushes.
#include "schedd/core/queue/queue_order.h"

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
  // The result of a cycle for a workload that is among the active ones.
  void Refuse(std::int64_t id, RequeueReason reason, bool block = false) {
    Plan plan;
    UnadmittedWorkload& waiting = plan.not_admitted.emplace_back();
    waiting.job = queues().Find({id});
    waiting.reason = Reason::kWaitingForQuota;
    waiting.requeue = reason;
    waiting.block = block;
    queues().Settle(plan, world_.now());
  }
  void Park(std::int64_t id) { Refuse(id, RequeueReason::kNoFit); }
  void Block(std::int64_t id) { Refuse(id, RequeueReason::kFailedAfterNomination, true); }
  template <class Change>
  JobPtr Update(std::int64_t id, const Change& change) {
    auto job = std::make_shared<JobRecord>(*queues().Find({id}));
    change(job.get());
    queues().Add(job, world_.now());
    return job;
  }
  World world_;
};

TEST_F(PendingQueuesTest, Order_IsPriority_ThenSubmitTime_ThenAcceptance) {
  Add("q", 1);                         // 1
  Add("q", 1, 5);                      // 2
  Add("q", 2);                         // 3
  auto late = world_.Job("q", 5, {});  // 4
  late->submit_time = {999};
  world_.Add(late);
  auto tie = world_.Job("q", 0, {});  // 5: created with 1, accepted after it
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

TEST_F(PendingQueuesTest, Misfit_ParksAllEqualOnes_AndNothingElse) {
  Add("q", 1);
  Add("q", 2);
  Add("q", 1);
  Add("q", 1, 3);
  auto elsewhere = world_.Job("q", 0, {Pods("main", 1, {{"cpu", 1}})});  // 5
  elsewhere->local_queue = "other";
  world_.Add(elsewhere);
  Park(1);
  EXPECT_EQ(Heads(10), (std::vector<std::int64_t>{4, 2}))
      << "another priority may evict others; another LocalQueue makes no difference";
  EXPECT_EQ(queues().Counts("q").active, 2u);
  EXPECT_EQ(queues().Counts("q").inadmissible, 3u);
  Add("q", 1);
  EXPECT_EQ(queues().Counts("q").inadmissible, 4u) << "an equal newcomer is parked";
  EXPECT_EQ(Ids(queues().Ordered("q", 10)), (std::vector<std::int64_t>{4, 1, 2, 3, 5, 6}));
  EXPECT_EQ(Ids(queues().Ordered("q", 2)), (std::vector<std::int64_t>{4, 1}));
}

TEST_F(PendingQueuesTest, WithoutHashing_OnlyTheMisfitItselfIsParked) {
  AdmissionSettings settings;
  settings.equivalence_hashing = false;
  world_.Set(settings);
  Add("q", 1);
  Add("q", 1);
  Park(1);
  EXPECT_EQ(Heads(10), (std::vector<std::int64_t>{2}));
  queues().FlushAll(world_.now());
  EXPECT_EQ(Heads(10), (std::vector<std::int64_t>{1, 2}));
}

TEST_F(PendingQueuesTest, WhatConcernsOneWorkload_ParksIt_AndWhatItsLocalQueue_ThatQueue) {
  Add("q", 1);
  Add("q", 1);
  auto elsewhere = world_.Job("q", 0, {Pods("main", 1, {{"cpu", 1}})});  // 3
  elsewhere->local_queue = "other";
  world_.Add(elsewhere);
  Refuse(1, RequeueReason::kNamespaceMismatch);
  EXPECT_EQ(Heads(10), (std::vector<std::int64_t>{2, 3}));
  Refuse(2, RequeueReason::kGated);
  EXPECT_EQ(Heads(10), (std::vector<std::int64_t>{3}));
}

TEST_F(PendingQueuesTest, JobsThatDifferInWhatRulesRead_AreNotEqual) {
  const auto first = Add("q", 1);
  const auto differs = [&](auto change) {
    auto job = world_.Job("q", 0, {Pods("main", 1, {{"cpu", 1}})});
    change(*job);
    world_.Add(job);
    queues().FlushAll(world_.now());
    Park(first->id.value);
    const bool separate = queues().Counts("q").inadmissible == 1;
    queues().Remove(job->id);
    return separate;
  };
  EXPECT_FALSE(differs([](JobRecord& job) { job.name = "other"; }));
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
  const auto state = [](JobRecord& job, auto change) {
    ChangeState(&job, [&](AdmissionState* one) { change(one); });
  };
  EXPECT_TRUE(differs([&](JobRecord& job) {
    state(job, [](AdmissionState* one) { one->allowed_flavors = {"spot"}; });
  }));
  EXPECT_TRUE(differs([&](JobRecord& job) {
    state(job, [](AdmissionState* one) { one->reclaimable = {{"main", 1}}; });
  }));
}

TEST_F(PendingQueuesTest, Flush_ActivatesTheNamedQueuesOnly_AndSaysHowManyMoved) {
  Add("a", 1);
  Add("b", 1);
  Park(1);
  Park(2);
  EXPECT_FALSE(queues().HasActive());
  EXPECT_EQ(queues().Flush({"b", "unknown"}, world_.now()), 1u);
  EXPECT_TRUE(queues().HasActive());
  EXPECT_EQ(queues().Counts("a").inadmissible, 1u);
  EXPECT_EQ(queues().Counts("b").active, 1u);
  EXPECT_EQ(queues().FlushAll(world_.now()), 1u);
  EXPECT_EQ(queues().Counts("a").active, 1u);
}

TEST_F(PendingQueuesTest, FlushOfATree_ReachesAllItsQueues_AndNoTreeWithACycle) {
  world_.Queue("a", "left", {{"x", "cpu", 1}});
  world_.Queue("b", "right", {{"x", "cpu", 1}});
  world_.Queue("c", "", {{"x", "cpu", 1}});
  world_.CohortOf("left", "root").CohortOf("right", "root");
  for (const char* queue : {"a", "b", "c"}) Add(queue, 1);
  for (std::int64_t id = 1; id <= 3; ++id) Park(id);
  EXPECT_EQ(queues().FlushTrees({"a"}, world_.now()), 2u);
  EXPECT_EQ(queues().Counts("c").inadmissible, 1u);
  Park(1);
  world_.CohortOf("root", "left");
  EXPECT_EQ(queues().FlushTrees({"a"}, world_.now()), 0u);
}

TEST_F(PendingQueuesTest, Flush_LeavesWhoseNamespaceNoLongerMatches) {
  auto& queue = world_.Queue("q", "", {{"x", "cpu", 1}});
  Add("q", 1);
  Add("q", 2);
  Park(1);
  Refuse(2, RequeueReason::kNamespaceMismatch);
  queue.namespace_selector->match_labels = {{"env", "none"}};
  EXPECT_EQ(queues().FlushAll(world_.now()), 0u);
  queue.namespace_selector->match_labels = {{"env", "prod"}};
  EXPECT_EQ(queues().FlushAll(world_.now()), 2u);
}

TEST_F(PendingQueuesTest, Backoff_KeepsAWorkloadOut_UntilItIsOver) {
  auto job = world_.Job("q", 0, {Pods("main", 1, {{"cpu", 1}})});
  const WallTime later{world_.now().us + 60 * kMicrosPerSecond};
  ChangeState(job.get(), [&](AdmissionState* state) { state->requeue_at = later; });
  world_.Add(job);
  EXPECT_FALSE(queues().HasActive());
  EXPECT_EQ(queues().Counts("q").inadmissible, 1u);
  EXPECT_EQ(queues().FlushAll(world_.now()), 0u);
  EXPECT_EQ(queues().FlushAll(later), 1u);
  SetCondition(job.get(), "Requeued", false, "PodsReadyTimeout", "", world_.now());
  auto waits = std::make_shared<JobRecord>(*job);
  waits->id = {7};
  queues().Add(waits, later);
  EXPECT_EQ(Heads(10), (std::vector<std::int64_t>{1})) << "Requeued=False keeps it out";
  Update(7, [&](JobRecord* record) {
    SetCondition(record, "Requeued", true, "BackoffFinished", "", later);
    ChangeState(record, [](AdmissionState* state) { state->requeue_at.reset(); });
  });
  EXPECT_EQ(Heads(10).size(), 2u) << "the condition turned";
}

TEST_F(PendingQueuesTest, ParkedOne_StaysParked_UnlessTheChangeMayHelpIt) {
  Add("q", 1);
  Park(1);
  Update(1, [](JobRecord* job) { job->message = "looked at"; });
  EXPECT_FALSE(queues().HasActive());
  EXPECT_EQ(queues().Find({1})->message, "looked at");
  Update(1, [](JobRecord* job) { job->priority = 5; });
  EXPECT_TRUE(queues().HasActive());
}

TEST_F(PendingQueuesTest, Preemptor_IsSticky_UntilItIsGoneOrChanged) {
  Add("q", 1);
  Add("q", 2, 9);
  Refuse(1, RequeueReason::kPendingPreemption);
  EXPECT_EQ(Heads(10), (std::vector<std::int64_t>{1, 2})) << "it goes before higher priority";
  EXPECT_EQ(Ids(queues().Ordered("q", 10)), (std::vector<std::int64_t>{1, 2}));
  Refuse(2, RequeueReason::kPendingPreemption);
  EXPECT_EQ(Heads(10), (std::vector<std::int64_t>{2, 1})) << "the latest one is remembered";
  Update(2, [](JobRecord* job) { job->priority = -1; });
  EXPECT_EQ(Heads(10), (std::vector<std::int64_t>{1, 2})) << "another spec, another evaluation";
}

TEST_F(PendingQueuesTest, StrictFifo_TriesItsHeadAgain_WhateverFailed) {
  world_.Queue("q", "", {{"x", "cpu", 1}}).strategy = QueueingStrategy::kStrictFifo;
  Add("q", 1);
  Add("q", 2, -1);
  Park(1);
  EXPECT_EQ(Heads(10), (std::vector<std::int64_t>{1, 2}));
  Refuse(2, RequeueReason::kPendingPreemption);
  EXPECT_EQ(Heads(10), (std::vector<std::int64_t>{1, 2})) << "no stickiness";
  Refuse(1, RequeueReason::kNamespaceMismatch);
  EXPECT_EQ(Heads(10), (std::vector<std::int64_t>{2}));
}

TEST_F(PendingQueuesTest, FlavorsLeftToTry_BringAMisfitBack) {
  Add("q", 1);
  Plan plan;
  UnadmittedWorkload& waiting = plan.not_admitted.emplace_back();
  waiting.job = queues().Find({1});
  waiting.requeue = RequeueReason::kNoFit;
  auto last = std::make_shared<LastAssignment>();
  last->tried = {{{"cpu", 0}}};
  waiting.last = last;
  queues().Settle(plan, world_.now());
  const auto heads = queues().Heads(1, 10);
  ASSERT_EQ(heads.size(), 1u);
  EXPECT_EQ(heads[0].last.at({1})->tried, last->tried);
  plan.not_admitted[0].last = nullptr;
  queues().Settle(plan, world_.now());
  EXPECT_FALSE(queues().HasActive());
}

TEST_F(PendingQueuesTest, Inflight_HidesTheWorkload_AndChangesOfItCountAfterwards) {
  Add("q", 1);
  Add("q", 2);
  EXPECT_EQ(queues().Pop("q")->id.value, 1);
  EXPECT_EQ(queues().Pop("q"), nullptr) << "one at a time";
  EXPECT_EQ(Heads(10), (std::vector<std::int64_t>{2}));
  const JobPtr changed = Update(1, [](JobRecord* job) { job->priority = 3; });
  EXPECT_EQ(Heads(10), (std::vector<std::int64_t>{2})) << "it is still being decided";
  queues().Requeue(changed, RequeueReason::kNoFit, nullptr, world_.now());
  EXPECT_EQ(Heads(10), (std::vector<std::int64_t>{1, 2})) << "what was decided is outdated";
}

TEST_F(PendingQueuesTest, FlushWhileInflight_BringsTheMisfitBack) {
  Add("q", 1);
  const JobPtr head = queues().Pop("q");
  queues().FlushAll(world_.now());
  queues().Requeue(head, RequeueReason::kNoFit, nullptr, world_.now());
  EXPECT_TRUE(queues().HasActive()) << "the flush came after the state it was decided on";
  queues().Pop("q");
  queues().Requeue(head, RequeueReason::kNoFit, nullptr, world_.now());
  EXPECT_FALSE(queues().HasActive());
}

TEST_F(PendingQueuesTest, UsageOfLocalQueues_ComesBeforePriority_InUsageBasedQueues) {
  AdmissionSettings settings;
  settings.admission_fair_sharing.emplace();
  world_.Set(settings);
  world_.Queue("q", "", {{"x", "cpu", 1}}).usage_based = true;
  Add("q", 1, 9);
  auto other = world_.Job("q", 0, {Pods("main", 1, {{"cpu", 1}})});
  other->local_queue = "lq-other";
  world_.Add(other);
  EXPECT_EQ(Heads(10), (std::vector<std::int64_t>{1})) << "one head: admitting changes the order";
  queues().SetUsage("default", "lq-q", 2.5);
  EXPECT_EQ(Heads(10), (std::vector<std::int64_t>{2}));
  Refuse(1, RequeueReason::kPendingPreemption);
  EXPECT_EQ(Heads(10), (std::vector<std::int64_t>{2})) << "usage outranks the sticky preemptor";
  queues().SetUsage("default", "lq-other", 2.5);
  EXPECT_EQ(Ids(queues().Ordered("q", 10)), (std::vector<std::int64_t>{1, 2}));
}

TEST_F(PendingQueuesTest, Block_HidesTheQueue_UntilItsHeadChanges) {
  Add("q", 1);
  Add("q", 2);
  Block(2);
  EXPECT_TRUE(queues().HasActive()) << "only a head can block";
  Block(1);
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

TEST_F(PendingQueuesTest, Block_IsLiftedByAFlush_AndByAChangedHead) {
  Add("q", 1);
  Block(1);
  queues().Flush({"q"}, world_.now());
  EXPECT_TRUE(queues().HasActive());
  Block(1);
  Update(1, [](JobRecord* job) { job->message = "looked at"; });
  EXPECT_FALSE(queues().HasActive());
  Update(1, [](JobRecord* job) { job->priority = 1; });
  EXPECT_TRUE(queues().HasActive());
}

TEST_F(PendingQueuesTest, AdmissionInTheTree_LiftsBlocks_OfWhomItMayHelp) {
  world_.Queue("a", "team", {{"x", "cpu", 9}});
  auto& strict = world_.Queue("b", "team", {{"x", "cpu", 9}});
  strict.strategy = QueueingStrategy::kStrictFifo;
  const JobPtr admitted = Add("a", 1);
  Add("b", 1);
  Plan plan;
  plan.admits.emplace_back();
  plan.admits[0].job = admitted;
  Refuse(2, RequeueReason::kNoFit, true);
  queues().Settle(plan, world_.now());
  EXPECT_FALSE(queues().HasActive()) << "more use makes no room for who may evict nobody";
  strict.preemption.reclaim_within_cohort = PreemptionPolicy::kAny;
  queues().Settle(plan, world_.now());
  EXPECT_TRUE(queues().HasActive()) << "there may be somebody to reclaim from now";
}

TEST_F(PendingQueuesTest, AddAgain_ReplacesTheRecord_AndMayMoveIt) {
  Add("q", 1);
  Add("q", 1);
  Update(2, [](JobRecord* job) { job->priority = 9; });
  EXPECT_EQ(queues().size(), 2u);
  EXPECT_EQ(Heads(10), (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(queues().Find({2})->priority, 9);
  Update(2, [](JobRecord* job) { job->cluster_queue = "r"; });
  EXPECT_EQ(queues().Counts("q").active, 1u);
  EXPECT_EQ(queues().Counts("r").active, 1u);
}

TEST_F(PendingQueuesTest, Remove_ForgetsJobsClassesAndQueues) {
  Add("q", 1);
  Add("q", 2);
  Park(1);
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

TEST_F(PendingQueuesTest, ManyClasses_AreParkedAndFlushedWithoutLoss) {
  for (int i = 0; i < 500; ++i) Add("q", i % 97, i % 3);
  const auto before = Ids(queues().Ordered("q", 1000));
  for (int i = 1; i <= 500; i += 7) Park(i);
  EXPECT_EQ(queues().Counts("q").active + queues().Counts("q").inadmissible, 500u);
  EXPECT_EQ(Ids(queues().Ordered("q", 1000)), before);
  queues().FlushAll(world_.now());
  EXPECT_EQ(Heads(1000), before);
}

}  // namespace
}  // namespace muster::core::testing
