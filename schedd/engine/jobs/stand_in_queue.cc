// Keeps the stand-ins of each job in its queue (stand_ins.h says what they are). A stand-in follows
// from its job's record and the configuration alone, so every change of the record makes the list
// of stand-ins again (StandInsOf) and compares it with the list that is queued: an entry that is
// equal keeps its place; a new entry is queued when the change is durable, as a job would be; an
// entry that is gone leaves its queue at once.
//
// Most jobs have no stand-ins and no AdmissionState; for these a change costs one lookup.
#include "schedd/engine/jobs/stand_in_queue.h"

#include <algorithm>

#include "schedd/engine/jobs/partition_entries.h"
#include "schedd/engine/jobs/variants.h"

namespace muster {
namespace {

// Null if there is none. A job has at most limits::kConcurrentFlavors entries.
JobPtr WithId(const std::vector<JobPtr>& entries, JobId id) {
  const auto at = std::find_if(entries.begin(), entries.end(),
                               [&](const JobPtr& entry) { return entry->id == id; });
  return at == entries.end() ? nullptr : *at;
}

}  // namespace

void StandInQueue::Reset() {
  by_job_.clear();
  several_.clear();
  variant_notes_.clear();
  gate_times_.clear();
}

// An entry that differs and is queued is replaced in place, without waiting for the commit: it
// waits already, and its job's quota does not depend on it.
void StandInQueue::Sync(const JobPtr& job) {
  const auto known = by_job_.find(job->id);
  if (known == by_job_.end() && job->admission_state == nullptr && !HasPartitions(*job)) return;
  NoteSeveral(*job);
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

// The entry is looked up again when the commit is in, for it may have changed or gone meanwhile. If
// the commit failed, recovery queues the entries that follow from the database.
void StandInQueue::QueueWhenDurable(JobId stand_in) {
  commits_.AnswerAfterCommit([this, stand_in](const Error* error) {
    if (error != nullptr) return;
    const auto known = by_job_.find(OwnerOf(stand_in));
    if (known == by_job_.end()) return;
    if (const JobPtr entry = WithId(known->second, stand_in); entry != nullptr) waiting_.Add(entry);
  });
}

// The record is durable, so its entries are queued at once. No gate is open: which ones are is not
// stored.
void StandInQueue::Enter(const JobPtr& job) {
  if (job->admission_state == nullptr && !HasPartitions(*job)) return;
  NoteSeveral(*job);
  std::vector<JobPtr> entries = StandInsOf(*job, *config_.view(), {});
  if (entries.empty()) return;
  for (const JobPtr& entry : entries) waiting_.Add(entry);
  by_job_[job->id] = std::move(entries);
}

// A job that no other partition takes now has no entries, but an edit may give it some.
void StandInQueue::NoteSeveral(const JobRecord& job) {
  if (HasPartitions(job) && job.state == JobState::kPending) {
    several_.insert(job.id);
  } else {
    several_.erase(job.id);
  }
}

// The owners first: Sync changes the map.
void StandInQueue::Resync() {
  std::vector<JobPtr> owners;
  for (const JobId id : several_) {
    if (by_job_.contains(id)) continue;
    if (JobPtr owner = jobs_.Find(id); owner != nullptr) owners.push_back(std::move(owner));
  }
  for (const auto& [id, entries] : by_job_) {
    if (JobPtr owner = jobs_.Find(id); owner != nullptr) owners.push_back(std::move(owner));
  }
  for (const JobPtr& job : owners) Sync(job);
}

// Called by Decider for each stand-in that a cycle did not admit.
void StandInQueue::Note(const core::UnadmittedWorkload& waiting) {
  if (waiting.reason == Reason::kWaitingForCapacity)
    waiting_.NoteWaitsForRoom(waiting.job->cluster_queue);
  const JobPtr owner = jobs_.Find(OwnerOf(waiting.job->id));
  if (owner == nullptr) return;
  if (IsParent(*owner)) {
    NoteVariant(owner, waiting);
  } else if (HasPartitions(*owner)) {
    NotePartition(owner, waiting);
  } else {
    NoteSlice(owner, waiting);
  }
}

}  // namespace muster
