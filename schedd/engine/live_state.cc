#include "schedd/engine/live_state.h"

namespace muster {

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

}  // namespace muster
