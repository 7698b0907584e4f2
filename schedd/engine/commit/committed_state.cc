// How the committed world follows from each durable transaction. Every record replaces the one
// before it, and the ledger moves with it, so the ledger always equals the sum over the committed
// records. A configuration with other quotas has another quota tree, whose nodes have other
// indices: then the ledger is computed anew from all records. Big tables (objects, works, set-aside
// objects) are immutable and shared with the views; a transaction brings a new one or none.
#include "schedd/engine/commit/committed_state.h"

#include <algorithm>

#include "schedd/engine/commit/transaction.h"

namespace muster {
namespace {

// A copy: the table before may still be shown by a view. It is small (limits::kSetAsidePerMember).
std::shared_ptr<const SetAsideObjects> WithWrites(
    const SetAsideObjects& before,
    const std::map<std::pair<std::string, std::string>, SetAsideWrite>& writes) {
  auto after = std::make_shared<SetAsideObjects>(before);
  for (const auto& [key, write] : writes) {
    if (write.remove) {
      after->erase(key);
    } else {
      (*after)[key] = write.object;
    }
  }
  return after;
}

}  // namespace

// The record before is looked up here, so the ledger cannot miss one.
void CommittedState::Put(const JobPtr& job) {
  const JobPtr before = jobs.Find(job->id);
  ledger.Move(before.get(), job.get());
  jobs.Put(job);
}

void CommittedState::Erase(JobId id) {
  const JobPtr gone = jobs.Find(id);
  if (gone == nullptr) return;
  ledger.Move(gone.get(), nullptr);
  if (IsTerminal(gone->state)) retired_seq = std::max(retired_seq, gone->resource_version);
  jobs.Erase(id);
}

// Jobs first, then the configuration: `other_quotas` counts all records as they are after this
// transaction.
std::vector<JobPtr> CommittedState::Take(const Transaction& done,
                                         const AdmissionSettingsPtr& settings) {
  std::vector<JobPtr> ended;
  for (const auto& [id, job] : done.jobs) {
    const JobPtr before = jobs.Find(id);
    Put(job);
    if (IsTerminal(job->state) && (before == nullptr || !IsTerminal(before->state)))
      ended.push_back(job);
  }
  for (const JobId id : done.deleted_jobs) Erase(id);
  if (done.config != nullptr) config = done.config;
  if (done.other_quotas) {
    Ledger anew(core::QuotaTree::Build(*config), settings);
    jobs.ForEach(JobId{}, [&](const JobPtr& job) {
      anew.Move(nullptr, job.get());
      return true;
    });
    ledger = std::move(anew);
  }
  if (done.object_table != nullptr) objects = done.object_table;
  if (done.work_table != nullptr) works = done.work_table;
  if (!done.set_aside.empty()) set_aside = WithWrites(*set_aside, done.set_aside);
  return ended;
}

}  // namespace muster
