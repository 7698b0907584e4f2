// Values and waits for tests of stores.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "schedd/store/store.h"

namespace muster::test {

/// A plain pending job number `id` in namespace "default".
inline std::shared_ptr<JobRecord> DraftJob(std::int64_t id, const std::string& name = "") {
  auto job = std::make_shared<JobRecord>();
  job->id.value = id;
  job->uid = Uid{0x1111'2222'3333'4000ULL | (static_cast<std::uint64_t>(id) >> 48),
                 0x8000'0000'0000'0000ULL | static_cast<std::uint64_t>(id)};
  job->name = name.empty() ? "job-" + std::to_string(id) : name;
  job->display_name = job->name;
  job->ns = "default";
  job->user = "ada";
  job->local_queue = "main";
  job->cluster_queue = "team-a";
  auto pod_sets = std::make_shared<PodSets>();
  pod_sets->push_back({"main", 2, {{"cpu", 1000}, {"memory", 1 << 30}}, nullptr});
  job->pod_sets = pod_sets;
  job->submit_time.us = 1'700'000'000'000'000 + id;
  job->accept_seq = id;
  job->resource_version = id;
  job->reason = Reason::kPendingEvaluation;
  job->message = "not looked at yet";
  return job;
}

inline NewJob MakeNew(JobPtr record, std::string manifest = R"({"kind":"Job"})") {
  return {std::move(record), std::move(manifest), std::nullopt};
}

inline NewJob MakeKeyed(JobPtr record, const std::string& key, std::uint64_t fingerprint) {
  NewJob job = MakeNew(std::move(record));
  job.idempotency = IdempotencyKey{"ada/default", key, fingerprint};
  return job;
}

/// Leads. A connection may not come about in time on a loaded machine, so it is asked for again.
inline Result<Lease> LeadPatiently(Store& store) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (;;) {
    Result<Lease> lease = store.Lead("test", std::chrono::milliseconds(1000));
    if (lease.ok() || lease.error().code != Code::kUnavailable) return lease;
    if (std::chrono::steady_clock::now() > give_up) return lease;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

using Answers = std::vector<Result<AcceptedJob>>;

/// Accepts and waits for the answer.
inline Result<Answers> AcceptNow(Store& store, Epoch epoch, std::vector<NewJob> jobs) {
  auto promise = std::make_shared<std::promise<Result<Answers>>>();
  auto future = promise->get_future();
  store.Accept(epoch, std::move(jobs),
               [promise](Result<Answers> answers) { promise->set_value(std::move(answers)); });
  return future.get();
}

/// Commits and waits for the answer.
inline Result<CommitVersion> CommitNow(Store& store, Epoch epoch, PlanCommit commit) {
  auto promise = std::make_shared<std::promise<Result<CommitVersion>>>();
  auto future = promise->get_future();
  store.Commit(epoch, std::move(commit), [promise](Result<CommitVersion> version) {
    promise->set_value(std::move(version));
  });
  return future.get();
}

/// Accepts one job and CHECKs that it was taken.
inline JobPtr MustAccept(Store& store, Epoch epoch, std::shared_ptr<JobRecord> job) {
  Result<Answers> answers = AcceptNow(store, epoch, {MakeNew(job)});
  MUSTER_CHECK(answers.ok() && answers->size() == 1 && answers->front().ok());
  return job;
}

inline AdmissionPtr SomeAdmission() {
  auto admission = std::make_shared<Admission>();
  admission->cluster_queue = "team-a";
  admission->pod_sets.push_back({"main",
                                 2,
                                 {{"cpu", "spot"}, {"memory", "spot"}},
                                 {{"cpu", 2000}, {"memory", std::int64_t{2} << 30}}});
  return admission;
}

/// `job` as it is when admitted to `cluster`.
inline std::shared_ptr<JobRecord> AdmittedCopy(const JobRecord& job, const std::string& cluster) {
  auto changed = std::make_shared<JobRecord>(job);
  changed->state = JobState::kAdmitted;
  changed->reason = Reason::kDispatching;
  changed->message = "";
  changed->cluster = cluster;
  changed->attempt = job.attempt + 1;
  changed->admission = SomeAdmission();
  changed->admit_time.us = job.submit_time.us + 5'000'000;
  changed->resource_version = job.resource_version + 1000;
  return changed;
}

/// `job` as it is when it has ended.
inline std::shared_ptr<JobRecord> EndedCopy(const JobRecord& job, JobState state,
                                            std::int32_t exit_code) {
  auto changed = std::make_shared<JobRecord>(job);
  changed->state = state;
  changed->reason = state == JobState::kSucceeded ? Reason::kSucceeded : Reason::kFailed;
  changed->start_time.us = job.submit_time.us + 6'000'000;
  changed->end_time.us = job.submit_time.us + 9'000'000;
  changed->exit_code = exit_code;
  changed->admission = nullptr;
  changed->resource_version = job.resource_version + 1000;
  return changed;
}

inline DispatchRow SomeDispatch(const JobRecord& job, std::int32_t attempt,
                                const std::string& cluster, DispatchState state) {
  DispatchRow row;
  row.key = {job.uid, attempt, cluster};
  row.job = job.id;
  row.incarnation = "inc-1";
  row.object_kind = "Job";
  row.ns = job.ns;
  row.name = job.name;
  row.remote_uid = state == DispatchState::kIntent ? "" : "remote-" + std::to_string(attempt);
  row.state = state;
  row.detail = "";
  return row;
}

inline ObjectPtr SomeObject(ObjectKind kind, const std::string& ns, const std::string& name,
                            std::int64_t version) {
  auto object = std::make_shared<StoredObject>();
  object->kind = kind;
  object->ns = ns;
  object->name = name;
  object->uid = Uid{0xaaaa'bbbb'cccc'4000ULL + static_cast<std::uint64_t>(kind),
                    0x8000'0000'0000'0000ULL | std::hash<std::string>{}(ns + "/" + name)};
  object->generation = 1;
  object->resource_version = version;
  object->creation_time.us = 1'700'000'000'000'000;
  object->manifest = R"({"metadata":{"name":")" + name + R"("},"spec":{"b":1,"a":2}})";
  return object;
}

}  // namespace muster::test
