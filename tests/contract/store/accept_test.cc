// Store::Accept: durable jobs, unique names, idempotency keys; each item answered for itself.
#include "tests/contract/store/contract.h"

namespace muster::test {
namespace {

using AcceptContract = StoreContract;

TEST_P(AcceptContract, ANewJobIsAcceptedAndReadBackWhole) {
  auto job = DraftJob(7, "train");
  job->display_name = "my training run";
  job->priority_class = "high";
  job->priority = 100;
  job->time_limit_s = 3600;
  job->ttl_after_finished_s = 60;
  job->shape = ShapeKind::kBatchScript;
  BatchDetails batch;
  batch.array_job_id.value = 5;
  batch.array_task_id = 0;
  batch.array_spec = "0-15:4";
  batch.work_dir = "/home/ada";
  batch.command = "run.sh \"quoted\" \\ back\n";
  batch.nodes = 2;
  batch.tasks = 8;
  batch.cpus_per_task = 4;
  batch.mem_per_node_mb = 512;
  batch.gres = "gpu:2";
  batch.requeue = false;
  job->batch = std::make_shared<const BatchDetails>(batch);
  SchedulingConstraints constraints;
  constraints.node_selector = {{"zone", "a"}};
  constraints.has_required_affinity = true;
  constraints.required_terms = {{{{"gpu", "In", {"a100", "h100"}}, {"spot", "DoesNotExist", {}}}}};
  constraints.tolerations = {{"spot", "Exists", "", "NoSchedule", 30}};
  auto pod_sets = std::make_shared<PodSets>();
  pod_sets->push_back({"driver", 1, {{"cpu", 500}}, nullptr});
  pod_sets->push_back({"workers",
                       8,
                       {{"cpu", 4000}, {"nvidia.com/gpu", 1}},
                       std::make_shared<const SchedulingConstraints>(constraints)});
  job->pod_sets = pod_sets;
  job->conditions = std::make_shared<const std::vector<Condition>>(std::vector<Condition>{
      {"QuotaReserved", "Pending", "waits \"here\"", false, {1'700'000'000'123'456}}});

  const auto answers = AcceptNow(store(), epoch(), {MakeNew(job, R"({"b": 1, "a": [2,  3]})")});
  ASSERT_TRUE(answers.ok()) << answers.error().detail;
  ASSERT_EQ(answers->size(), 1U);
  ASSERT_TRUE(answers->front().ok()) << answers->front().error().detail;
  EXPECT_EQ((*answers)[0]->id, JobId{7});
  EXPECT_FALSE((*answers)[0]->replayed);

  const auto read = store().ReadJob(JobId{7});
  ASSERT_TRUE(read.ok()) << read.error().detail;
  const JobRecord& back = **read;
  EXPECT_EQ(back.uid, job->uid);
  EXPECT_EQ(back.name, "train");
  EXPECT_EQ(back.display_name, "my training run");
  EXPECT_EQ(back.ns, "default");
  EXPECT_EQ(back.user, "ada");
  EXPECT_EQ(back.shape, ShapeKind::kBatchScript);
  EXPECT_EQ(back.local_queue, "main");
  EXPECT_EQ(back.cluster_queue, "team-a");
  EXPECT_EQ(back.priority_class, "high");
  EXPECT_EQ(back.priority, 100);
  EXPECT_EQ(back.time_limit_s, 3600);
  EXPECT_EQ(back.ttl_after_finished_s, 60);
  EXPECT_EQ(back.submit_time, job->submit_time);
  EXPECT_EQ(back.accept_seq, 7);
  EXPECT_EQ(back.resource_version, 7);
  EXPECT_EQ(back.state, JobState::kPending);
  EXPECT_EQ(back.reason, Reason::kPendingEvaluation);
  EXPECT_EQ(back.message, "not looked at yet");
  EXPECT_EQ(back.admission, nullptr);
  EXPECT_FALSE(back.exit_code.has_value());
  EXPECT_FALSE(back.start_time.set());
  ASSERT_NE(back.batch, nullptr);
  EXPECT_EQ(back.batch->array_job_id, JobId{5});
  EXPECT_EQ(back.batch->array_task_id, 0);
  EXPECT_EQ(back.batch->array_spec, "0-15:4");
  EXPECT_FALSE(back.batch->requeue);
  EXPECT_EQ(back.batch->command, batch.command);
  EXPECT_EQ(back.batch->cpus_per_task, 4);
  EXPECT_EQ(back.batch->gres, "gpu:2");
  ASSERT_EQ(back.pod_sets->size(), 2U);
  EXPECT_EQ((*back.pod_sets)[0].constraints, nullptr);
  EXPECT_EQ((*back.pod_sets)[1].name, "workers");
  EXPECT_EQ((*back.pod_sets)[1].count, 8);
  EXPECT_EQ((*back.pod_sets)[1].requests, (*pod_sets)[1].requests);
  EXPECT_EQ(*(*back.pod_sets)[1].constraints, constraints);
  ASSERT_NE(back.conditions, nullptr);
  EXPECT_EQ(*back.conditions, *job->conditions);

  const auto manifests = store().ReadManifests({JobId{7}});
  ASSERT_TRUE(manifests.ok());
  EXPECT_EQ(manifests->front(), R"({"b": 1, "a": [2,  3]})") << "the manifest is kept byte by byte";
}

TEST_P(AcceptContract, WhatAJobSaysOfItsPlacementIsKeptThroughEveryChange) {
  JobPlacement said;
  said.labels = {{"team", "vision \"x\""}, {"gpu", ""}};
  said.placement = "train";
  said.cluster = "east";
  said.datasets = {"c4", "imagenet"};
  said.datasets_required = true;
  said.checkpointable = true;
  JobPlacement labels_alone;
  labels_alone.labels = {{"team", "speech"}};
  auto whole = DraftJob(1), labelled = DraftJob(2);
  whole->placement = std::make_shared<const JobPlacement>(said);
  whole->elastic = true;  // so that the column before it is not null
  labelled->placement = std::make_shared<const JobPlacement>(labels_alone);
  const auto answers = AcceptNow(
      store(), epoch(), {MakeNew(whole), MakeKeyed(labelled, "key-2", 7), MakeNew(DraftJob(3))});
  ASSERT_TRUE(answers.ok()) << answers.error().detail;
  PlanCommit commit;
  commit.jobs.push_back(AdmittedCopy(*whole, "east"));
  MustCommit(commit);
  const std::vector<JobPtr> loaded = LoadAll().jobs;
  ASSERT_EQ(loaded.size(), 3U);
  ASSERT_NE(loaded[0]->placement, nullptr);
  EXPECT_EQ(*loaded[0]->placement, said);
  EXPECT_TRUE(loaded[0]->elastic);
  ASSERT_NE(loaded[1]->placement, nullptr);
  EXPECT_EQ(*loaded[1]->placement, labels_alone);
  EXPECT_EQ(loaded[2]->placement, nullptr) << "a job that says nothing has none";
}

// Rule U60.
TEST_P(AcceptContract, TheSubmittersAccountIsKeptThroughEveryChange_AndRootIsNotNobody) {
  auto of_root = DraftJob(1), of_user = DraftJob(2), of_nobody = DraftJob(3);
  of_root->account = 0;
  of_user->account = 4'000'000'000;
  const auto answers = AcceptNow(
      store(), epoch(), {MakeNew(of_root), MakeKeyed(of_user, "key-2", 7), MakeNew(of_nobody)});
  ASSERT_TRUE(answers.ok()) << answers.error().detail;
  PlanCommit commit;
  commit.jobs.push_back(AdmittedCopy(*of_root, "east"));
  MustCommit(commit);
  const std::vector<JobPtr> loaded = LoadAll().jobs;
  ASSERT_EQ(loaded.size(), 3U);
  EXPECT_EQ(loaded[0]->account, 0U);
  EXPECT_EQ(loaded[1]->account, 4'000'000'000U);
  EXPECT_EQ(loaded[2]->account, std::nullopt);
}

TEST_P(AcceptContract, AHeldJobStaysHeld) {
  auto job = DraftJob(1);
  job->state = JobState::kHeld;
  job->suspended_by_user = true;
  MustAccept(store(), epoch(), job);
  const auto read = store().ReadJob(JobId{1});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ((*read)->state, JobState::kHeld);
  EXPECT_TRUE((*read)->suspended_by_user);
}

TEST_P(AcceptContract, ATakenNameIsRefusedAndItsNeighboursAreNot) {
  MustAccept(store(), epoch(), DraftJob(1, "train"));
  auto other_kind = DraftJob(3, "train");
  other_kind->shape = ShapeKind::kRayJob;
  auto other_ns = DraftJob(4, "train");
  other_ns->ns = "research";
  const auto answers = AcceptNow(store(), epoch(),
                                 {MakeNew(DraftJob(2, "train")), MakeNew(other_kind),
                                  MakeNew(other_ns), MakeNew(DraftJob(5, "eval"))});
  ASSERT_TRUE(answers.ok()) << answers.error().detail;
  ASSERT_FALSE((*answers)[0].ok());
  EXPECT_EQ((*answers)[0].error().code, Code::kAlreadyExists);
  EXPECT_EQ((*answers)[0].error().detail,
            "a Job named \"train\" already exists in namespace \"default\"");
  EXPECT_TRUE((*answers)[1].ok());
  EXPECT_TRUE((*answers)[2].ok());
  EXPECT_TRUE((*answers)[3].ok());
  EXPECT_EQ(store().ReadJob(JobId{2}).error().code, Code::kNotFound)
      << "nothing of the refused one is written";
}

TEST_P(AcceptContract, TheFirstOfTwoEqualNamesInOneBatchWins) {
  const auto answers =
      AcceptNow(store(), epoch(), {MakeNew(DraftJob(1, "same")), MakeNew(DraftJob(2, "same"))});
  ASSERT_TRUE(answers.ok());
  ASSERT_TRUE((*answers)[0].ok());
  ASSERT_FALSE((*answers)[1].ok());
  EXPECT_EQ((*answers)[1].error().code, Code::kAlreadyExists);
  EXPECT_EQ(*store().FindJob("default", ShapeKind::kJob, "same"), JobId{1});
}

TEST_P(AcceptContract, ANameStaysTakenAfterTheEndAndIsFreeAfterTheDeletion) {
  const JobPtr job = MustAccept(store(), epoch(), DraftJob(1, "train"));
  PlanCommit ends;
  ends.jobs.push_back(EndedCopy(*job, JobState::kSucceeded, 0));
  MustCommit(ends);
  auto answers = AcceptNow(store(), epoch(), {MakeNew(DraftJob(2, "train"))});
  ASSERT_TRUE(answers.ok());
  EXPECT_EQ((*answers)[0].error().code, Code::kAlreadyExists);
  PlanCommit deletes;
  deletes.deleted_jobs.push_back(job->id);
  MustCommit(deletes);
  EXPECT_EQ(store().FindJob("default", ShapeKind::kJob, "train").error().code, Code::kNotFound);
  answers = AcceptNow(store(), epoch(), {MakeNew(DraftJob(3, "train"))});
  ASSERT_TRUE(answers.ok());
  ASSERT_TRUE((*answers)[0].ok()) << (*answers)[0].error().detail;
  EXPECT_EQ(*store().FindJob("default", ShapeKind::kJob, "train"), JobId{3});
  EXPECT_EQ((*store().ReadJob(JobId{1}))->state, JobState::kSucceeded) << "history stays";
}

TEST_P(AcceptContract, ARepeatedKeyGivesTheFirstJob) {
  auto answers = AcceptNow(store(), epoch(), {MakeKeyed(DraftJob(1, "a"), "k", 42)});
  ASSERT_TRUE(answers.ok());
  ASSERT_TRUE((*answers)[0].ok());
  EXPECT_FALSE((*answers)[0]->replayed);
  // The repeat brings the same name, under a number of its own.
  answers = AcceptNow(store(), epoch(), {MakeKeyed(DraftJob(2, "a"), "k", 42)});
  ASSERT_TRUE(answers.ok());
  ASSERT_TRUE((*answers)[0].ok()) << (*answers)[0].error().detail;
  EXPECT_EQ((*answers)[0]->id, JobId{1});
  EXPECT_TRUE((*answers)[0]->replayed);
  EXPECT_EQ(store().ReadJob(JobId{2}).error().code, Code::kNotFound);
}

TEST_P(AcceptContract, AKeyTwiceInOneBatchMakesOneJob) {
  const auto answers = AcceptNow(store(), epoch(),
                                 {MakeKeyed(DraftJob(1, "a"), "k", 42), MakeNew(DraftJob(2, "b")),
                                  MakeKeyed(DraftJob(3, "c"), "k", 42)});
  ASSERT_TRUE(answers.ok());
  EXPECT_EQ((*answers)[0]->id, JobId{1});
  EXPECT_EQ((*answers)[1]->id, JobId{2});
  EXPECT_EQ((*answers)[2]->id, JobId{1});
  EXPECT_TRUE((*answers)[2]->replayed);
}

TEST_P(AcceptContract, AKeyUsedByAnotherRequestIsRefused) {
  ASSERT_TRUE(AcceptNow(store(), epoch(), {MakeKeyed(DraftJob(1, "a"), "k", 42)}).ok());
  const auto answers = AcceptNow(store(), epoch(), {MakeKeyed(DraftJob(2, "b"), "k", 43)});
  ASSERT_TRUE(answers.ok());
  ASSERT_FALSE((*answers)[0].ok());
  EXPECT_EQ((*answers)[0].error().code, Code::kInvalidArgument);
  EXPECT_EQ((*answers)[0].error().detail,
            "the idempotency key was already used by another request");
}

TEST_P(AcceptContract, TheSameKeyInAnotherScopeIsAnotherKey) {
  NewJob other = MakeKeyed(DraftJob(2, "b"), "k", 43);
  other.idempotency->scope = "bob/default";
  ASSERT_TRUE(AcceptNow(store(), epoch(), {MakeKeyed(DraftJob(1, "a"), "k", 42)}).ok());
  const auto answers = AcceptNow(store(), epoch(), {other});
  ASSERT_TRUE(answers.ok());
  EXPECT_EQ((*answers)[0]->id, JobId{2});
}

TEST_P(AcceptContract, AFingerprintWithTheHighestBitSurvives) {
  const std::uint64_t fingerprint = 0xffff'ffff'ffff'fff0ULL;
  ASSERT_TRUE(AcceptNow(store(), epoch(), {MakeKeyed(DraftJob(1), "k", fingerprint)}).ok());
  const auto answers = AcceptNow(store(), epoch(), {MakeKeyed(DraftJob(2), "k", fingerprint)});
  ASSERT_TRUE(answers.ok());
  ASSERT_TRUE((*answers)[0].ok());
  EXPECT_TRUE((*answers)[0]->replayed);
}

TEST_P(AcceptContract, AKeyWhoseJobWasRefusedIsFreeAgain) {
  MustAccept(store(), epoch(), DraftJob(1, "taken"));
  auto answers = AcceptNow(store(), epoch(), {MakeKeyed(DraftJob(2, "taken"), "k", 42)});
  ASSERT_TRUE(answers.ok());
  EXPECT_EQ((*answers)[0].error().code, Code::kAlreadyExists);
  answers = AcceptNow(store(), epoch(), {MakeKeyed(DraftJob(3, "free"), "k", 77)});
  ASSERT_TRUE(answers.ok());
  ASSERT_TRUE((*answers)[0].ok()) << (*answers)[0].error().detail;
  EXPECT_EQ((*answers)[0]->id, JobId{3});
  EXPECT_FALSE((*answers)[0]->replayed);
}

TEST_P(AcceptContract, KeysOfOldJobsAreForgotten_AndTheirJobsStay) {
  const auto replayed = [&](std::int64_t id, const std::string& key) {
    const auto answers = AcceptNow(store(), epoch(), {MakeKeyed(DraftJob(id), key, 1)});
    MUSTER_CHECK(answers.ok() && (*answers)[0].ok());
    return (*answers)[0]->replayed;
  };
  for (std::int64_t id = 1; id <= 3; ++id) {
    ASSERT_FALSE(replayed(id, "k" + std::to_string(id)));
  }
  PlanCommit commit;
  commit.forget_keys_before = DraftJob(1)->submit_time;
  MustCommit(commit);
  EXPECT_TRUE(replayed(11, "k1")) << "submitted at that time, not before it";
  commit.forget_keys_before = DraftJob(3)->submit_time;
  MustCommit(commit);
  EXPECT_FALSE(replayed(21, "k1"));
  EXPECT_FALSE(replayed(22, "k2"));
  EXPECT_TRUE(replayed(23, "k3"));
  EXPECT_TRUE(replayed(31, "k1")) << "the key has a new job";
  EXPECT_EQ((*store().ReadJob(JobId{1}))->name, "job-1");
}

TEST_P(AcceptContract, OneBadItemHarmsNoOther) {
  MustAccept(store(), epoch(), DraftJob(1));
  auto same_uid = DraftJob(20);
  same_uid->uid = DraftJob(1)->uid;
  auto ended = DraftJob(21);
  ended->state = JobState::kRunning;
  std::vector<NewJob> batch;
  for (std::int64_t id = 10; id < 20; ++id) batch.push_back(MakeNew(DraftJob(id)));
  batch.insert(batch.begin() + 3, MakeNew(same_uid));
  batch.insert(batch.begin() + 6, MakeNew(ended));
  const auto answers = AcceptNow(store(), epoch(), batch);
  ASSERT_TRUE(answers.ok()) << answers.error().detail;
  ASSERT_EQ(answers->size(), 12U);
  for (std::size_t i = 0; i < 12; ++i) {
    if (i == 3) {
      EXPECT_EQ((*answers)[i].error().code, Code::kFailedPrecondition);
    } else if (i == 6) {
      EXPECT_EQ((*answers)[i].error().code, Code::kInvalidArgument);
    } else {
      ASSERT_TRUE((*answers)[i].ok()) << i << ": " << (*answers)[i].error().detail;
      EXPECT_EQ((*answers)[i]->id, batch[i].record->id) << "answers keep the order of the batch";
    }
  }
  EXPECT_EQ(LoadAll().jobs.size(), 11U);
}

TEST_P(AcceptContract, AnEmptyBatchIsAnswered) {
  const auto answers = AcceptNow(store(), epoch(), {});
  ASSERT_TRUE(answers.ok());
  EXPECT_TRUE(answers->empty());
}

TEST_P(AcceptContract, APassedEpochCannotAccept) {
  const Epoch old = epoch();
  NewLead();
  EXPECT_GT(epoch(), old);
  const auto answers = AcceptNow(store(), old, {MakeNew(DraftJob(1))});
  ASSERT_FALSE(answers.ok());
  EXPECT_EQ(answers.error().code, Code::kAborted);
  EXPECT_TRUE(LoadAll().jobs.empty());
  MustAccept(store(), epoch(), DraftJob(1));
}

TEST_P(AcceptContract, AnswersComeInCallOrder) {
  std::mutex mutex;
  std::vector<int> order;
  std::promise<void> all;
  constexpr int kCalls = 200;
  for (int call = 0; call < kCalls; ++call) {
    store().Accept(epoch(), {MakeNew(DraftJob(call + 1))},
                   [&, call](const Result<Answers>& answers) {
      std::lock_guard lock(mutex);
      order.push_back(answers.ok() && (*answers)[0].ok() ? call : -1);
      if (call == kCalls - 1) all.set_value();
    });
  }
  all.get_future().get();
  std::lock_guard lock(mutex);
  ASSERT_EQ(order.size(), static_cast<std::size_t>(kCalls));
  for (int call = 0; call < kCalls; ++call) EXPECT_EQ(order[static_cast<std::size_t>(call)], call);
}

INSTANTIATE_TEST_SUITE_P(Stores, AcceptContract, ::testing::Values("memory", "postgres"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace muster::test
