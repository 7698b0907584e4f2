// How the committed world follows from each durable transaction: records replace records, and the
// ledger moves with them; a configuration with other quotas has everything counted anew.
#include "schedd/engine/commit/committed_state.h"

#include "schedd/engine/commit/transaction.h"

namespace muster {
namespace {

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

void CommittedState::Put(const JobPtr& job) {
  const JobPtr before = jobs.Find(job->id);
  ledger.Move(before.get(), job.get());
  jobs.Put(job);
}

void CommittedState::Erase(JobId id) {
  const JobPtr gone = jobs.Find(id);
  if (gone == nullptr) return;
  ledger.Move(gone.get(), nullptr);
  jobs.Erase(id);
}

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
