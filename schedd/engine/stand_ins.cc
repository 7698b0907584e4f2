#include "schedd/engine/stand_ins.h"

#include <algorithm>

#include "schedd/base/limits.h"
#include "schedd/engine/stand_ins_impl.h"
#include "schedd/model/scale_lifecycle.h"

namespace muster {
namespace {

constexpr std::int64_t kSlots = 32;
static_assert(limits::kConcurrentFlavors < kSlots);

JobPtr WithId(const std::vector<JobPtr>& entries, JobId id) {
  const auto at = std::find_if(entries.begin(), entries.end(),
                               [&](const JobPtr& entry) { return entry->id == id; });
  return at == entries.end() ? nullptr : *at;
}

}  // namespace

// Of two that are equal in everything, the smaller id goes first: the better flavor.
JobId StandInId(JobId job, std::size_t slot) {
  return JobId{-(job.value * kSlots + kSlots - 1 - static_cast<std::int64_t>(slot))};
}

JobId OwnerOf(JobId id) { return IsStandIn(id) ? JobId{-id.value / kSlots} : id; }

std::size_t SlotOf(JobId stand_in) {
  return static_cast<std::size_t>(kSlots - 1 - (-stand_in.value) % kSlots);
}

std::vector<JobPtr> StandInsOf(const JobRecord& job, const ConfigView& config,
                               const std::set<std::size_t>& open_gates) {
  if (IsParent(job)) return VariantsOf(job, config, open_gates);
  const ElasticScale* scale = ScaleOf(job);
  const bool grows = scale != nullptr && scale->pending && IsDispatched(job.state) &&
                     StateOf(job).active && !IsTrue(job, "Evicted") && !changes::IsCancelling(job);
  if (!grows) return {};
  return {std::make_shared<JobRecord>(SliceRecord(job, StandInId(job.id, 0)))};
}

bool SameEntry(const JobRecord& a, const JobRecord& b) {
  return a.uid == b.uid && (a.pod_sets == b.pod_sets || *a.pod_sets == *b.pod_sets) &&
         a.priority == b.priority && a.priority_boost == b.priority_boost &&
         a.cluster_queue == b.cluster_queue && a.conditions == b.conditions &&
         StateOf(a) == StateOf(b);
}

// Called with every record that is put: the queue hears of new entries when they are durable, and
// of those that go at once.
void Engine::Impl::StandIns::Clear() {
  by_job.clear();
  variant_notes.clear();
  gate_times.clear();
}

void Engine::Impl::StandIns::Sync(const JobPtr& job) {
  const auto known = by_job.find(job->id);
  if (known == by_job.end() && job->admission_state == nullptr) return;
  std::vector<JobPtr> wanted = StandInsOf(*job, *engine.live.config, OpenGates(*job));
  if (known == by_job.end()) {
    if (wanted.empty()) return;
    for (const JobPtr& entry : wanted) QueueWhenDurable(entry->id);
    by_job[job->id] = std::move(wanted);
    return;
  }
  for (const JobPtr& entry : known->second) {
    if (WithId(wanted, entry->id) == nullptr) engine.live.pending.Remove(entry->id);
  }
  for (JobPtr& entry : wanted) {
    const JobPtr before = WithId(known->second, entry->id);
    if (before != nullptr && SameEntry(*before, *entry)) {
      entry = before;
    } else if (engine.live.pending.Contains(entry->id)) {
      engine.live.pending.Add(entry, engine.clock.WallNow());
    } else {
      QueueWhenDurable(entry->id);
    }
  }
  if (wanted.empty()) {
    by_job.erase(known);
  } else {
    known->second = std::move(wanted);
  }
}

void Engine::Impl::StandIns::QueueWhenDurable(JobId stand_in) {
  engine.AnswerAfterCommit([this, stand_in](const Error* error) {
    if (error != nullptr) return;  // recovery queues what is there
    const auto known = by_job.find(OwnerOf(stand_in));
    if (known == by_job.end()) return;
    if (const JobPtr entry = WithId(known->second, stand_in); entry != nullptr)
      engine.live.pending.Add(entry, engine.clock.WallNow());
  });
}

void Engine::Impl::StandIns::Queue(const JobPtr& job) {
  if (job->admission_state == nullptr) return;
  std::vector<JobPtr> entries = StandInsOf(*job, *engine.live.config, {});
  if (entries.empty()) return;
  for (const JobPtr& entry : entries) engine.live.pending.Add(entry, engine.clock.WallNow());
  by_job[job->id] = std::move(entries);
}

void Engine::Impl::StandIns::Resync() {
  std::vector<JobPtr> owners;
  for (const auto& [id, entries] : by_job) {
    if (const auto found = engine.live.jobs.find(id); found != engine.live.jobs.end())
      owners.push_back(found->second);
  }
  for (const JobPtr& job : owners) Sync(job);
}

void Engine::Impl::StandIns::Note(const core::NotAdmitted& waiting) {
  if (waiting.reason == Reason::kWaitingForCapacity)
    engine.waits_for_room.insert(waiting.job->cluster_queue);
  const auto owner = engine.live.jobs.find(OwnerOf(waiting.job->id));
  if (owner == engine.live.jobs.end()) return;
  if (IsParent(*owner->second)) {
    NoteVariant(owner->second, waiting);
  } else {
    NoteSlice(owner->second, waiting);
  }
}

}  // namespace muster
