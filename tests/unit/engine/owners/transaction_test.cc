// Transaction and CommittedState alone: the rows that leave, and the world that follows from them.
#include "schedd/engine/commit/transaction.h"

#include <gtest/gtest.h>

#include "tests/support/owners_world.h"

namespace muster::test {
namespace {

JobPtr JobInState(std::int64_t id, JobState state) {
  auto job = std::make_shared<JobRecord>();
  job->id = JobId{id};
  job->cluster_queue = "cq";
  job->state = state;
  return job;
}

TEST(TransactionAlone, WhatHappensAfterACommitIsNothingToWrite) {
  Transaction tx;
  EXPECT_TRUE(tx.Empty());
  tx.orders.emplace_back();
  tx.waiters.push_back([](const Error*) {});
  tx.to_queue.push_back(JobId{1});
  tx.wakes.insert("cq");
  EXPECT_TRUE(tx.Empty());
  tx.deleted_jobs.push_back(JobId{1});
  EXPECT_FALSE(tx.Empty());
}

TEST(TransactionAlone, ForgottenKeysAreWrittenToo) {
  Transaction tx;
  tx.forget_keys_before = FakeClock().WallNow();
  EXPECT_FALSE(tx.Empty());
}

TEST(TransactionAlone, AJobThatChangesTwiceIsOneRow) {
  Transaction tx;
  tx.jobs[JobId{1}] = JobInState(1, JobState::kHeld);
  tx.jobs[JobId{1}] = JobInState(1, JobState::kPending);
  const PlanCommit commit = tx.MakeCommit(core::Usage());
  ASSERT_EQ(commit.jobs.size(), 1u);
  EXPECT_EQ(commit.jobs.front()->state, JobState::kPending);
}

TEST(TransactionAlone, AuditRowsGoWithTheCommit) {
  Transaction tx;
  tx.audit.emplace_back().user = "ada";
  const PlanCommit commit = tx.MakeCommit(core::Usage());
  ASSERT_EQ(commit.audit.size(), 1u);
  EXPECT_EQ(commit.audit.front().user, "ada");
  EXPECT_TRUE(tx.audit.empty()) << "nobody needs a copy";
}

TEST(TransactionAlone, EachPairOfAnAdmissionIsNotedOnce) {
  PodSetAssignment pods;
  pods.flavors = {{"cpu", "default"}, {"memory", "large"}};
  Admission admission;
  admission.cluster_queue = "cq";
  admission.pod_sets = {pods, pods};
  Transaction tx;
  tx.Touch(admission);
  EXPECT_EQ(tx.usage.size(), 2u);
  EXPECT_TRUE(tx.usage.contains(UsagePair("cq", "default", "cpu")));
  EXPECT_TRUE(tx.usage.contains(UsagePair("cq", "large", "memory")));
}

TEST(TransactionAlone, AmountsAreReadWhenTheCommitIsMade) {
  OwnersWorld world;
  world.Declare();
  const JobPtr job = world.Submit({});
  world.Cycle();
  ASSERT_NE(world.Now(job)->admission, nullptr);
  Transaction tx;
  tx.Touch(*world.Now(job)->admission);
  const PlanCommit commit = tx.MakeCommit(world.owners.jobs.planned().usage());
  ASSERT_EQ(commit.usage.size(), 1u);
  EXPECT_EQ(commit.usage.front().cluster_queue, "cq");
  EXPECT_EQ(commit.usage.front().amount, 1000);
  const core::Usage without_quotas(core::QuotaTree::Build(ConfigView{}));
  const PlanCommit later = tx.MakeCommit(without_quotas);
  ASSERT_EQ(later.usage.size(), 1u);
  EXPECT_EQ(later.usage.front().amount, 0) << "no quota names the pair any more";
}

TEST(CommittedStateAlone, AnEndIsToldOnce) {
  const auto settings = std::make_shared<const AdmissionSettings>();
  CommittedState state;
  state.Put(JobInState(1, JobState::kPending));
  state.Put(JobInState(2, JobState::kPending));
  Transaction done;
  done.jobs[JobId{1}] = JobInState(1, JobState::kCancelled);
  done.jobs[JobId{2}] = JobInState(2, JobState::kHeld);
  const std::vector<JobPtr> ended = state.Take(done, settings);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended.front()->id.value, 1);
  EXPECT_EQ(state.ledger.waiting(), 1u);
  EXPECT_TRUE(state.Take(done, settings).empty()) << "it had ended before";
  EXPECT_EQ(state.ledger.queues().at("cq").finished, 1u);
  Transaction deletion;
  deletion.deleted_jobs = {JobId{1}};
  EXPECT_TRUE(state.Take(deletion, settings).empty());
  EXPECT_EQ(state.jobs.Find(JobId{1}), nullptr);
  EXPECT_EQ(state.ledger.queues().at("cq").finished, 0u);
}

TEST(CommittedStateAlone, WhatIsSetAsideIsAddedAndRemovedAndAViewKeepsWhatItShowed) {
  const auto settings = std::make_shared<const AdmissionSettings>();
  SetAsideObject object;
  object.cluster = "east";
  object.remote_uid = "uid-1";
  const std::pair<std::string, std::string> key(object.cluster, object.remote_uid);
  CommittedState state;
  Transaction found;
  found.set_aside[key] = {object, false};
  state.Take(found, settings);
  const auto shown = state.set_aside;
  ASSERT_TRUE(shown->contains(key));
  EXPECT_EQ(shown->at(key), object);
  Transaction gone;
  gone.set_aside[key] = {object, true};
  state.Take(gone, settings);
  EXPECT_TRUE(state.set_aside->empty());
  EXPECT_TRUE(shown->contains(key));
}

TEST(CommittedStateAlone, UnderOtherQuotasWhatJobsHoldIsCountedAnew) {
  OwnersWorld world;
  world.Declare();
  const JobPtr job = world.Submit({});
  world.Cycle();
  CommittedState state;
  state.jobs.Put(world.Now(job));
  Transaction done;
  done.config = world.owners.config.view();
  state.Take(done, world.context.options.settings);
  EXPECT_EQ(state.config, done.config);
  EXPECT_TRUE(state.ledger.queues().empty()) << "the quotas are the same";
  done.other_quotas = true;
  state.Take(done, world.context.options.settings);
  const core::QuotaTree& tree = state.ledger.usage().tree();
  EXPECT_EQ(state.ledger.usage().At(tree.ClusterQueueIndex("cq"), tree.PairIndex("default", "cpu")),
            1000);
  EXPECT_EQ(state.ledger.queues().at("cq").reserving, 1u);
}

}  // namespace
}  // namespace muster::test
