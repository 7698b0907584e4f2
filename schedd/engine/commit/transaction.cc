// From the rows that owners have gathered to the PlanCommit that the store writes. Rows come out in
// key order, so equal decisions make equal commits. Usage is the exception to "owners write
// values": they only name the pairs that changed (Touch), and MakeCommit reads the absolute amounts
// from the ledger of the live world at the moment the commit leaves. An absolute amount can be
// written twice without harm, and whatever happens to a pair within one transaction costs one row.
#include "schedd/engine/commit/transaction.h"

#include <utility>

namespace muster {

// Only rows count: orders and answers alone need no commit (CommitPipeline::Send).
bool Transaction::Empty() const {
  return jobs.empty() && deleted_jobs.empty() && usage.empty() && dispatches.empty() &&
         attempts.empty() && steps.empty() && objects.empty() && events.empty() && audit.empty() &&
         fair_use.empty() && set_aside.empty() && works.empty() && snapshots.empty() &&
         !forget_keys_before.set() && !forget_audit_before.set();
}

// The same as the store does with the rows of several commits.
void Transaction::PutStep(StepRecord step) {
  StepRecord& row = steps[{step.job, step.attempt, step.step}];
  if (!row.end_time.set()) row = std::move(step);
}

// All pairs of an admission, also those whose amount is 0: an unchanged amount is written again,
// which is harmless.
void Transaction::Touch(const Admission& admission) {
  for (const PodSetAssignment& pod_set : admission.pod_sets) {
    for (const auto& [resource, flavor] : pod_set.flavors) {
      usage.emplace(admission.cluster_queue, flavor, resource);
    }
  }
}

// A null work or snapshot is a deletion; the others are upserted.
PlanCommit Transaction::MakeCommit(const core::Usage& planned) {
  PlanCommit commit;
  for (const auto& [id, job] : new_jobs) commit.new_jobs.push_back(job);
  commit.jobs.reserve(jobs.size());
  for (const auto& [id, job] : jobs) commit.jobs.push_back(job);
  commit.deleted_jobs = deleted_jobs;
  for (const auto& [queue, flavor, resource] : usage) {
    const core::NodeIndex node = planned.tree().ClusterQueueIndex(queue);
    const core::FlavorResourceIndex pair = planned.tree().PairIndex(flavor, resource);
    // A pair that no quota names any more is not counted: its row becomes 0.
    const std::int64_t amount = node < 0 || pair < 0 ? 0 : planned.At(node, pair);
    commit.usage.push_back({queue, flavor, resource, amount});
  }
  for (const auto& [key, row] : dispatches) commit.dispatches.push_back(row);
  for (const auto& [key, attempt] : attempts) commit.attempts.push_back(attempt);
  commit.steps.reserve(steps.size());
  for (const auto& [key, step] : steps) commit.steps.push_back(step);
  for (const auto& [key, write] : objects) commit.objects.push_back(write);
  commit.events = events;
  commit.audit = std::move(audit);
  for (const auto& [key, row] : fair_use) commit.fair_use.push_back(row);
  for (const auto& [key, write] : set_aside) commit.set_aside.push_back(write);
  for (const auto& [key, work] : works) {
    if (work == nullptr) {
      commit.ended_works.push_back(key);
    } else {
      commit.works.push_back(work);
    }
  }
  for (const auto& [key, snapshot] : snapshots) {
    if (snapshot == nullptr) {
      commit.ended_snapshots.push_back(key);
    } else {
      commit.snapshots.push_back(snapshot);
    }
  }
  for (const JobId id : respecified) commit.respecified.push_back(jobs.at(id));
  commit.forget_keys_before = forget_keys_before;
  commit.forget_audit_before = forget_audit_before;
  return commit;
}

}  // namespace muster
