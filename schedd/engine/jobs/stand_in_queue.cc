// A stand-in follows from its job's record alone, so every change of the record makes the list of
// entries anew and compares it with the one that is queued: what is equal stays where it is, what
// is new waits until the change is durable, what is gone leaves its queue at once.
#include "schedd/engine/jobs/stand_in_queue.h"

#include <algorithm>

#include "schedd/engine/jobs/variants.h"

namespace muster {
namespace {

JobPtr WithId(const std::vector<JobPtr>& entries, JobId id) {
  const auto at = std::find_if(entries.begin(), entries.end(),
                               [&](const JobPtr& entry) { return entry->id == id; });
  return at == entries.end() ? nullptr : *at;
}

}  // namespace

void StandInQueue::Reset() {
  by_job_.clear();
  variant_notes_.clear();
  gate_times_.clear();
}

void StandInQueue::Sync(const JobPtr& job) {
  const auto known = by_job_.find(job->id);
  if (known == by_job_.end() && job->admission_state == nullptr) return;
  std::vector<JobPtr> wanted = StandInsOf(*job, *config_.view(), OpenGates(*job));
  if (known == by_job_.end()) {
    if (wanted.empty()) return;
    for (const JobPtr& entry : wanted) QueueWhenDurable(entry->id);
    by_job_[job->id] = std::move(wanted);
    return;
  }
  for (const JobPtr& entry : known->second) {
    if (WithId(wanted, entry->id) == nullptr) waiting_.Remove(entry->id);
  }
  for (JobPtr& entry : wanted) {
    const JobPtr before = WithId(known->second, entry->id);
    if (before != nullptr && SameEntry(*before, *entry)) {
      entry = before;
    } else if (waiting_.Contains(entry->id)) {
      waiting_.Add(entry);
    } else {
      QueueWhenDurable(entry->id);
    }
  }
  if (wanted.empty()) {
    by_job_.erase(known);
  } else {
    known->second = std::move(wanted);
  }
}

void StandInQueue::QueueWhenDurable(JobId stand_in) {
  commits_.AnswerAfterCommit([this, stand_in](const Error* error) {
    if (error != nullptr) return;  // recovery queues what is there
    const auto known = by_job_.find(OwnerOf(stand_in));
    if (known == by_job_.end()) return;
    if (const JobPtr entry = WithId(known->second, stand_in); entry != nullptr) waiting_.Add(entry);
  });
}

void StandInQueue::Enter(const JobPtr& job) {
  if (job->admission_state == nullptr) return;
  std::vector<JobPtr> entries = StandInsOf(*job, *config_.view(), {});
  if (entries.empty()) return;
  for (const JobPtr& entry : entries) waiting_.Add(entry);
  by_job_[job->id] = std::move(entries);
}

void StandInQueue::Resync() {
  std::vector<JobPtr> owners;
  for (const auto& [id, entries] : by_job_) {
    if (JobPtr owner = jobs_.Find(id); owner != nullptr) owners.push_back(std::move(owner));
  }
  for (const JobPtr& job : owners) Sync(job);
}

void StandInQueue::Note(const core::UnadmittedWorkload& waiting) {
  if (waiting.reason == Reason::kWaitingForCapacity)
    waiting_.NoteWaitsForRoom(waiting.job->cluster_queue);
  const JobPtr owner = jobs_.Find(OwnerOf(waiting.job->id));
  if (owner == nullptr) return;
  if (IsParent(*owner)) {
    NoteVariant(owner, waiting);
  } else {
    NoteSlice(owner, waiting);
  }
}

}  // namespace muster
