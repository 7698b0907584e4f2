// The reading half of MemoryStore: recovery's Load and the reads of the API, all under the one
// lock.
//
// Results are in the order in which the store on PostgreSQL returns them; the contract suite
// compares both. The acceptance of a job is an event without a row of its own: it is made from the
// job's record, and its number is the job's accept_seq.
#include <algorithm>
#include <utility>

#include "schedd/model/task_ranges.h"
#include "schedd/store/memory/memory_store.h"

namespace muster {
namespace {

// The event of a job's acceptance, in the words of the SQL that PostgreSQL's store uses.
Event AcceptedEvent(const JobRecord& job) {
  return {job.accept_seq,
          job.submit_time,
          "JobAccepted",
          job.id,
          "job/" + job.ns + "/" + job.name,
          "",
          ""};
}

JobId ArrayOf(const JobRecord& job) {
  return job.batch == nullptr ? JobId{} : job.batch->array_job_id;
}

// True if the job passes every filter of the query that is set.
bool Selects(const JobQuery& query, const JobRecord& job, bool deleted) {
  if (deleted && !query.include_deleted) return false;
  if (!query.ns.empty() && job.ns != query.ns) return false;
  if (!query.queue.empty() && job.local_queue != query.queue) return false;
  if (!query.user.empty() && job.user != query.user) return false;
  if (!query.name.empty() && job.name != query.name && job.display_name != query.name) return false;
  if (query.state.has_value() && job.state != *query.state) return false;
  if (query.shape.has_value() && job.shape != *query.shape) return false;
  if (query.array.value != 0 && ArrayOf(job) != query.array) return false;
  if (query.array_task && (job.batch == nullptr || job.batch->array_task_id != *query.array_task))
    return false;
  if (query.visible != nullptr && !query.visible->Shows(job)) return false;
  if (!query.ids.empty() &&
      std::find(query.ids.begin(), query.ids.end(), job.id) == query.ids.end())
    return false;
  return !query.ended_since.set() || (job.end_time.set() && job.end_time >= query.ended_since);
}

}  // namespace

Status MemoryStore::CheckReadable() const {
  if (away_ || reads_fail_) return Unavailable("the database cannot be reached");
  return Done{};
}

void MemoryStore::MarkRestored(const RestoreMark& mark) {
  const MutexLock lock(mutex_);
  restore_ = mark;
}

void MemoryStore::MarkLost(const LostNumbers& lost) {
  const MutexLock lock(mutex_);
  lost_numbers_.push_back(lost);
}

void MemoryStore::BeforeLoad(std::function<void()> hook) {
  MutexLock lock(mutex_);
  before_load_ = std::move(hook);
}

void MemoryStore::FailReads(bool fail) {
  MutexLock lock(mutex_);
  reads_fail_ = fail;
}

// last_seq is the highest number that any stored row carries, so that the engine never gives an
// event number twice.
Result<StoredWorld> MemoryStore::Load(Epoch epoch, WallTime finished_since) {
  std::function<void()> before;
  {
    MutexLock lock(mutex_);
    before = before_load_;
  }
  if (before) before();
  MutexLock lock(mutex_);
  const Status readable = CheckReadable();
  if (!readable.ok()) return readable.error();
  if (epoch.value != 0 && epoch != epoch_)
    return Aborted("this daemon no longer leads; its epoch has passed");
  StoredWorld loaded;
  std::set<JobId> live_arrays;
  for (const auto& [id, job] : tables_.jobs) {
    loaded.last_job_id = id;
    loaded.last_seq = std::max(loaded.last_seq, job.record->accept_seq);
    const bool kept =
        !IsTerminal(job.record->state) ||
        (!job.deleted && job.record->end_time.set() && job.record->end_time >= finished_since);
    if (!kept) continue;
    loaded.last_seq = std::max(loaded.last_seq, job.record->resource_version);
    loaded.jobs.push_back(job.record);
    if (!IsTerminal(job.record->state) && ArrayOf(*job.record).value != 0)
      live_arrays.insert(ArrayOf(*job.record));
  }
  loaded.array_ends = EndsOf(live_arrays);
  for (const auto& [id, object] : tables_.objects) {
    loaded.objects.push_back(object);
    loaded.last_seq = std::max(loaded.last_seq, object->resource_version);
  }
  for (const auto& [key, amount] : tables_.usage) {
    if (amount == 0) continue;
    loaded.usage.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), amount});
  }
  for (const auto& [id, row] : tables_.dispatches) {
    if (row.state != DispatchState::kGone) loaded.dispatches.push_back(row);
  }
  std::stable_sort(loaded.dispatches.begin(), loaded.dispatches.end(),
                   [](const DispatchRow& a, const DispatchRow& b) {
    return std::pair(a.job, a.key.attempt) < std::pair(b.job, b.key.attempt);
  });
  for (const auto& [key, row] : tables_.fair_use) loaded.fair_use.push_back(row);
  for (const auto& [key, object] : tables_.set_aside) loaded.set_aside.push_back(object);
  for (const auto& [key, work] : tables_.works) loaded.works.push_back(work);
  for (const auto& [key, snapshot] : tables_.snapshots) loaded.snapshots.push_back(snapshot);
  if (!tables_.events.empty())
    loaded.last_seq = std::max(loaded.last_seq, tables_.events.rbegin()->first);
  loaded.restore = restore_;
  loaded.lost_numbers = lost_numbers_;
  for (const LostNumbers& lost : lost_numbers_)
    loaded.last_seq = std::max(loaded.last_seq, lost.seq_floor);
  return loaded;
}

Result<std::vector<std::string>> MemoryStore::ReadManifests(const std::vector<JobId>& ids) {
  MutexLock lock(mutex_);
  const Status readable = CheckReadable();
  if (!readable.ok()) return readable.error();
  std::vector<std::string> manifests;
  for (const JobId id : ids) {
    const auto found = tables_.jobs.find(id);
    if (found == tables_.jobs.end()) return NotFound("there is no job " + std::to_string(id.value));
    // A task of an array has the manifest of its array.
    const auto own = found->second.manifest.empty()
                         ? tables_.jobs.find(ArrayOf(*found->second.record))
                         : found;
    if (own == tables_.jobs.end()) return NotFound("there is no job " + std::to_string(id.value));
    manifests.push_back(own->second.manifest);
  }
  return manifests;
}

std::vector<ArrayEnds> MemoryStore::EndsOf(const std::set<JobId>& arrays) const {
  std::map<JobId, ArrayEnds> ends;
  for (const auto& [id, job] : tables_.jobs) {
    const JobRecord& record = *job.record;
    if (!IsTerminal(record.state) || !arrays.contains(ArrayOf(record))) continue;
    ArrayEnds& one = ends[ArrayOf(record)];
    one.array = ArrayOf(record);
    if (record.state == JobState::kSucceeded) {
      ++one.ok;
    } else {
      one.failed += IsArrayRecord(record) ? CountOf(BatchStateOf(record).waiting_tasks) : 1;
    }
  }
  std::vector<ArrayEnds> out;
  for (const auto& [array, one] : ends) out.push_back(one);
  return out;
}

Result<std::vector<ArrayEnds>> MemoryStore::ReadArrayEnds(const std::vector<JobId>& arrays) {
  MutexLock lock(mutex_);
  const Status readable = CheckReadable();
  if (!readable.ok()) return readable.error();
  return EndsOf({arrays.begin(), arrays.end()});
}

// Pages in the order of the ids, from the first id above query.after.
Result<std::vector<JobPtr>> MemoryStore::ReadJobs(const JobQuery& query) {
  MutexLock lock(mutex_);
  const Status readable = CheckReadable();
  if (!readable.ok()) return readable.error();
  std::vector<JobPtr> jobs;
  for (auto job = tables_.jobs.upper_bound(query.after); job != tables_.jobs.end(); ++job) {
    if (jobs.size() >= query.limit) break;
    if (Selects(query, *job->second.record, job->second.deleted))
      jobs.push_back(job->second.record);
  }
  return jobs;
}

Result<JobPtr> MemoryStore::ReadJob(JobId id) {
  MutexLock lock(mutex_);
  const Status readable = CheckReadable();
  if (!readable.ok()) return readable.error();
  const auto found = tables_.jobs.find(id);
  if (found == tables_.jobs.end()) return NotFound("there is no job " + std::to_string(id.value));
  return found->second.record;
}

// Deleted jobs have no entry in live_names.
Result<JobId> MemoryStore::FindJob(const std::string& ns, ShapeKind shape,
                                   const std::string& name) {
  MutexLock lock(mutex_);
  const Status readable = CheckReadable();
  if (!readable.ok()) return readable.error();
  const auto found = tables_.live_names.find(NameKey(ns, shape, name));
  if (found == tables_.live_names.end()) {
    return NotFound("there is no " + std::string(ShapeKindName(shape)) + " named \"" + name +
                    "\" in namespace \"" + ns + "\"");
  }
  return found->second;
}

Result<JobId> MemoryStore::FindJob(Uid uid) {
  MutexLock lock(mutex_);
  const Status readable = CheckReadable();
  if (!readable.ok()) return readable.error();
  const auto found = tables_.uids.find(uid);
  if (found == tables_.uids.end()) return NotFound("there is no job " + uid.ToString());
  return found->second;
}

// Events and acceptances are merged by their number and cut at `limit` afterwards.
Result<std::vector<Event>> MemoryStore::ReadEvents(std::int64_t since, JobId job,
                                                   std::size_t limit) {
  MutexLock lock(mutex_);
  const Status readable = CheckReadable();
  if (!readable.ok()) return readable.error();
  std::vector<Event> events;
  for (auto event = tables_.events.upper_bound(since); event != tables_.events.end(); ++event) {
    if (job.value == 0 || event->second.job == job) events.push_back(event->second);
  }
  for (const auto& [id, stored] : tables_.jobs) {
    if (stored.record->accept_seq > since && (job.value == 0 || id == job)) {
      events.push_back(AcceptedEvent(*stored.record));
    }
  }
  std::sort(events.begin(), events.end(),
            [](const Event& a, const Event& b) { return a.seq < b.seq; });
  if (events.size() > limit) events.resize(limit);
  return events;
}

Result<std::vector<AttemptRecord>> MemoryStore::ReadAttempts(const std::vector<JobId>& ids) {
  MutexLock lock(mutex_);
  const Status readable = CheckReadable();
  if (!readable.ok()) return readable.error();
  std::vector<JobId> sorted = ids;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::vector<AttemptRecord> attempts;
  for (const JobId id : sorted) {
    for (auto row = tables_.attempts.lower_bound({id, 0});
         row != tables_.attempts.end() && row->first.first == id; ++row) {
      attempts.push_back(row->second);
    }
  }
  return attempts;
}

// The last rows are found from the end, the first ones from the beginning.
Result<std::vector<AuditRow>> MemoryStore::ReadAudit(const AuditQuery& query) {
  MutexLock lock(mutex_);
  const Status readable = CheckReadable();
  if (!readable.ok()) return readable.error();
  const bool below = query.object.ends_with('/');
  const auto matches = [&](const AuditRow& row) {
    return row.id > query.after && (!query.since.set() || row.time >= query.since) &&
           (!query.until.set() || row.time < query.until) &&
           (query.user.empty() || row.user == query.user) &&
           (query.verb.empty() || row.verb == query.verb) &&
           (query.object.empty() || row.object == query.object ||
            (below && row.object.starts_with(query.object)));
  };
  std::vector<AuditRow> rows;
  const auto take = [&](auto begin, auto end) {
    for (auto row = begin; row != end && rows.size() < query.limit; ++row) {
      if (matches(*row)) rows.push_back(*row);
    }
  };
  if (query.last) {
    take(tables_.audit.rbegin(), tables_.audit.rend());
    std::reverse(rows.begin(), rows.end());
  } else {
    take(tables_.audit.begin(), tables_.audit.end());
  }
  return rows;
}

Result<AuditAnchor> MemoryStore::ReadAuditAnchor() {
  MutexLock lock(mutex_);
  const Status readable = CheckReadable();
  if (!readable.ok()) return readable.error();
  return tables_.audit_anchor;
}

Result<std::vector<ObjectPtr>> MemoryStore::ReadObjects(ObjectKind kind) {
  MutexLock lock(mutex_);
  const Status readable = CheckReadable();
  if (!readable.ok()) return readable.error();
  std::vector<ObjectPtr> objects;
  for (const auto& [id, object] : tables_.objects) {
    if (object->kind == kind) objects.push_back(object);
  }
  return objects;
}

Result<std::string> MemoryStore::InstanceId() {
  MutexLock lock(mutex_);
  const Status readable = CheckReadable();
  if (!readable.ok()) return readable.error();
  return options_.instance_id;
}

Status MemoryStore::Ping() {
  MutexLock lock(mutex_);
  return CheckReadable();
}

}  // namespace muster
