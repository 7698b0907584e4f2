// Tasks of arrays: rows that begin with a commit, one manifest for all of them, questions by array.
#include "schedd/model/task_ranges.h"
#include "tests/contract/store/contract.h"

namespace muster::test {
namespace {

using ArrayContract = StoreContract;

constexpr const char* kArrayManifest = R"({"kind":"BatchScript"})";

// The record of the tasks that wait in array `array`; its own record if the ids are equal.
std::shared_ptr<JobRecord> WaitingRecord(std::int64_t id, std::int64_t array, TaskRanges tasks) {
  auto job = DraftJob(id);
  job->shape = ShapeKind::kBatchScript;
  auto details = std::make_shared<BatchDetails>();
  details->array_job_id.value = array;
  details->array_spec = "0-9";
  job->batch = std::move(details);
  auto state = std::make_shared<BatchState>();
  state->waiting_tasks = std::move(tasks);
  job->batch_state = std::move(state);
  return job;
}

std::shared_ptr<JobRecord> TaskRecord(std::int64_t id, std::int64_t array, std::int32_t index) {
  auto job = WaitingRecord(id, array, {});
  auto details = std::make_shared<BatchDetails>(*job->batch);
  details->array_task_id = index;
  job->batch = std::move(details);
  job->batch_state = nullptr;
  return job;
}

JobPtr AcceptArray(Store& store, Epoch epoch, std::int64_t id) {
  const JobPtr record = WaitingRecord(id, id, {{0, 9, 1}});
  const auto answers = AcceptNow(store, epoch, {MakeNew(record, kArrayManifest)});
  EXPECT_TRUE(answers.ok() && answers->at(0).ok());
  return record;
}

std::vector<std::int64_t> NumbersOf(const Result<std::vector<JobPtr>>& jobs) {
  std::vector<std::int64_t> ids;
  if (!jobs.ok()) return {-1};
  for (const JobPtr& job : *jobs) ids.push_back(job->id.value);
  return ids;
}

TEST_P(ArrayContract, ATaskBeginsAndStartsInOneCommit_WithTheManifestOfItsArray) {
  const JobPtr array = AcceptArray(store(), epoch(), 1);
  PlanCommit commit;
  commit.new_jobs.push_back(TaskRecord(2, 1, 0));
  commit.jobs.push_back(AdmittedCopy(*commit.new_jobs[0], "east"));
  auto shorter = std::make_shared<JobRecord>(*WaitingRecord(1, 1, {{1, 9, 1}}));
  shorter->resource_version = 1002;
  commit.jobs.push_back(shorter);
  MustCommit(commit);

  const auto task = store().ReadJob(JobId{2});
  ASSERT_TRUE(task.ok()) << task.error().detail;
  EXPECT_EQ((*task)->state, JobState::kAdmitted);
  EXPECT_EQ((*task)->batch->array_task_id, 0);
  EXPECT_EQ((*task)->batch->array_job_id, JobId{1});
  EXPECT_EQ((*task)->name, "job-2");
  EXPECT_EQ((*task)->accept_seq, 2);
  EXPECT_EQ(IndexText(BatchStateOf(**store().ReadJob(JobId{1})).waiting_tasks), "1-9");
  const auto manifests = store().ReadManifests({JobId{2}, JobId{1}});
  ASSERT_TRUE(manifests.ok()) << manifests.error().detail;
  EXPECT_EQ(*manifests, std::vector<std::string>(2, kArrayManifest));
  EXPECT_EQ(*store().FindJob("default", ShapeKind::kBatchScript, "job-2"), JobId{2});
  EXPECT_EQ(*store().FindJob((*task)->uid), JobId{2});
  EXPECT_EQ(LoadAll().last_job_id, JobId{2});
  const auto events = store().ReadEvents(0, JobId{2}, 10);
  ASSERT_TRUE(events.ok() && !events->empty());
  EXPECT_EQ(events->at(0).type, "JobAccepted");
}

TEST_P(ArrayContract, ACommitThatIsRefusedLeavesNoTask) {
  AcceptArray(store(), epoch(), 1);
  PlanCommit commit;
  commit.new_jobs.push_back(TaskRecord(2, 1, 0));
  commit.jobs.push_back(AdmittedCopy(*commit.new_jobs[0], "east"));
  commit.jobs.push_back(AdmittedCopy(*DraftJob(77), "east"));  // does not exist
  EXPECT_FALSE(TryCommit(commit).ok());
  EXPECT_FALSE(store().ReadJob(JobId{2}).ok());
  EXPECT_FALSE(store().FindJob("default", ShapeKind::kBatchScript, "job-2").ok());
}

TEST_P(ArrayContract, ATakenNameRefusesTheCommit) {
  AcceptArray(store(), epoch(), 1);
  auto taken = TaskRecord(2, 1, 0);
  taken->name = "job-1";
  PlanCommit commit;
  commit.new_jobs.push_back(taken);
  commit.jobs.push_back(AdmittedCopy(*taken, "east"));
  const auto outcome = TryCommit(commit);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, Code::kFailedPrecondition);
}

TEST_P(ArrayContract, TheLastTaskKeepsTheRecord) {
  AcceptArray(store(), epoch(), 1);
  auto last = TaskRecord(1, 1, 9);
  last->resource_version = 1001;
  PlanCommit commit;
  commit.jobs.push_back(AdmittedCopy(*last, "east"));
  commit.respecified = commit.jobs;
  MustCommit(commit);
  const auto read = store().ReadJob(JobId{1});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ((*read)->batch->array_task_id, 9);
  EXPECT_EQ((*read)->batch_state, nullptr);
  EXPECT_EQ(store().ReadManifests({JobId{1}})->at(0), kArrayManifest);
  JobQuery query;
  query.array = JobId{1};
  query.array_task = 9;
  EXPECT_EQ(NumbersOf(store().ReadJobs(query)), (std::vector<std::int64_t>{1}));
}

TEST_P(ArrayContract, JobsAndEndsByArray) {
  AcceptArray(store(), epoch(), 1);
  AcceptArray(store(), epoch(), 10);
  MustAccept(store(), epoch(), DraftJob(11));
  PlanCommit starts;
  for (const std::int64_t id : {20, 21, 22}) {
    starts.new_jobs.push_back(TaskRecord(id, 1, static_cast<std::int32_t>(id - 20)));
    starts.jobs.push_back(AdmittedCopy(*starts.new_jobs.back(), "east"));
  }
  starts.new_jobs.push_back(WaitingRecord(23, 1, {{3, 9, 3}}));
  starts.jobs.push_back(starts.new_jobs.back());
  MustCommit(starts);
  EXPECT_TRUE(store().ReadArrayEnds({JobId{1}})->empty());
  EXPECT_TRUE(LoadAll().array_ends.empty());

  PlanCommit ends;
  ends.jobs.push_back(EndedCopy(*starts.jobs[0], JobState::kSucceeded, 0));
  ends.jobs.push_back(EndedCopy(*starts.jobs[1], JobState::kFailed, 1));
  auto cancelled = std::make_shared<JobRecord>(*starts.jobs[3]);
  cancelled->state = JobState::kCancelled;
  cancelled->end_time.us = 1'700'000'002'000'000;
  ends.jobs.push_back(cancelled);
  MustCommit(ends);

  JobQuery query;
  query.array = JobId{1};
  EXPECT_EQ(NumbersOf(store().ReadJobs(query)), (std::vector<std::int64_t>{1, 20, 21, 22, 23}));
  query.array_task = -1;
  EXPECT_EQ(NumbersOf(store().ReadJobs(query)), (std::vector<std::int64_t>{1, 23}));
  query.array_task = 2;
  EXPECT_EQ(NumbersOf(store().ReadJobs(query)), (std::vector<std::int64_t>{22}));
  const auto counts = store().ReadArrayEnds({JobId{1}, JobId{10}, JobId{99}});
  ASSERT_TRUE(counts.ok()) << counts.error().detail;
  ASSERT_EQ(counts->size(), 1U) << "of array 10 nothing has ended";
  EXPECT_EQ(counts->at(0).array, JobId{1});
  EXPECT_EQ(counts->at(0).ok, 1);
  EXPECT_EQ(counts->at(0).failed, 4) << "one task, and three that were cancelled in one record";
  const StoredWorld loaded = LoadAll();
  ASSERT_EQ(loaded.array_ends.size(), 1U);
  EXPECT_EQ(loaded.array_ends[0].failed, 4);
}

INSTANTIATE_TEST_SUITE_P(Stores, ArrayContract, ::testing::Values("memory", "postgres", "sealed"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace muster::test
