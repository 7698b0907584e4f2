// The writing half of MemoryStore; memory_reads.cc has the reads.
//
// A commit changes the tables row by row in the order of the SQL statements of the store on
// PostgreSQL, and checks the same constraints with the same sentences. Each change appends a step
// to an undo log; when a later row is refused, the steps run backwards and the commit has changed
// nothing. An Accept needs no undo log, because each of its jobs succeeds or fails on its own.
//
// Writes are numbered. The number of the last successful write of an epoch stands in for
// PostgreSQL's table ended_epochs: a commit whose answer was lost is durable exactly if its number
// is that one.
#include "schedd/store/memory/memory_store.h"

#include <algorithm>
#include <utility>

#include "schedd/base/fault_points.h"
#include "schedd/base/limits.h"
#include "schedd/base/mutex.h"
#include "schedd/store/new_job.h"

namespace muster {
namespace {

// The answer of PostgreSQL to a broken constraint; the sentences are those of pq.cc.
Error Refused(std::string detail) { return {Code::kFailedPrecondition, std::move(detail)}; }

Error NameTaken(const JobRecord& record) {
  return AlreadyExists("a " + std::string(ShapeKindName(record.shape)) + " named \"" + record.name +
                       "\" already exists in namespace \"" + record.ns + "\"");
}

// Sets one entry and records how to restore the old one.
template <class Map>
void Put(Map* map, const typename Map::key_type& key, typename Map::mapped_type value,
         std::vector<std::function<void()>>* undo) {
  const auto found = map->find(key);
  if (found == map->end()) {
    undo->push_back([map, key] { map->erase(key); });
    map->emplace(key, std::move(value));
  } else {
    undo->push_back([map, key, old = found->second] { (*map)[key] = old; });
    found->second = std::move(value);
  }
}

// Removes one entry, if it exists, and records how to restore it.
template <class Map>
void Erase(Map* map, const typename Map::key_type& key, std::vector<std::function<void()>>* undo) {
  const auto found = map->find(key);
  if (found == map->end()) return;
  undo->push_back([map, key, old = found->second] { map->emplace(key, old); });
  map->erase(found);
}

// Rows that release a name or a job come before rows that take one, as in the statement of the
// store on PostgreSQL: both may be in one commit.
int Claim(DispatchState state) {
  if (state == DispatchState::kGone) return 0;
  return IsLive(state) ? 2 : 1;
}

}  // namespace

MemoryStore::MemoryStore(MemoryStoreOptions options) : options_(std::move(options)) {}

void MemoryStore::InjectFault(std::size_t nth, StoreFault fault) {
  MutexLock lock(mutex_);
  faults_[writes_ + nth] = fault;
}

void MemoryStore::LoseAnswer(std::size_t nth, LostAnswer how) {
  MutexLock lock(mutex_);
  lost_[writes_ + nth] = std::move(how);
}

void MemoryStore::SetAway(bool away) {
  MutexLock lock(mutex_);
  away_ = away;
  if (away) leading_ = false;  // the leader's session is gone with the database
}

void MemoryStore::RefuseLead(bool refuse) {
  MutexLock lock(mutex_);
  refuses_lead_ = refuse;
}

void MemoryStore::LoseLead() {
  MutexLock lock(mutex_);
  leading_ = false;
}

// The write runs without the lock: it takes the lock itself, and its callback may call the store.
bool MemoryStore::DrainOne() {
  std::function<void()> write;
  {
    MutexLock lock(mutex_);
    if (waiting_.empty()) return false;
    write = std::move(waiting_.front());
    waiting_.pop_front();
  }
  write();
  return true;
}

std::size_t MemoryStore::waiting() const {
  MutexLock lock(mutex_);
  return waiting_.size();
}

std::size_t MemoryStore::accepted_jobs() const {
  MutexLock lock(mutex_);
  return tables_.jobs.size();
}

void MemoryStore::Carry(std::function<void()> write) {
  if (!options_.manual) {
    write();
    return;
  }
  MutexLock lock(mutex_);
  waiting_.push_back(std::move(write));
}

// The order of the checks is that of a real session: no connection, no lead, then the write itself.
// An unknown outcome ends the session and with it the lead.
template <class T>
Result<T> MemoryStore::Write(Epoch epoch, const std::function<Result<T>()>& write,
                             const std::function<Result<T>(bool last)>& find) {
  MutexLock lock(mutex_);
  ++writes_;
  const auto fault = faults_.find(writes_);
  if (away_ || (fault != faults_.end() && fault->second == StoreFault::kUnavailable)) {
    return Unavailable("the database cannot be reached");
  }
  if (!leading_ || (epoch != epoch_ && !MUSTER_PLANTED(stale_epoch_accepted)))
    return Aborted("this daemon no longer leads; its epoch has passed");
  if (const auto lost = lost_.find(writes_); lost != lost_.end())
    return Resolve<T>(lost->second, epoch, write, find);
  if (fault != faults_.end() && fault->second == StoreFault::kRefused)
    return Refused("a constraint would be broken");
  if (fault == faults_.end() || fault->second == StoreFault::kUnknownApplied) {
    Result<T> outcome = write();
    if (outcome.ok()) last_write_ = writes_;
    if (fault == faults_.end()) return outcome;
  }
  leading_ = false;  // the session broke
  return Error{
      Code::kUnknown, "the database went away during the commit; ask before you retry", {}, 1000};
}

// `meanwhile` runs without the lock, because it may call the store. The epoch is ended before
// `find` judges, unless `meanwhile` has ended it, so that no late write can change the verdict.
template <class T>
Result<T> MemoryStore::Resolve(const LostAnswer& how, Epoch epoch,
                               const std::function<Result<T>()>& write,
                               const std::function<Result<T>(bool last)>& find) {
  const std::size_t number = writes_;
  if (how.written && write().ok()) last_write_ = number;
  leading_ = false;
  const std::function<void()> meanwhile = how.meanwhile;
  if (meanwhile) {
    const MutexUnlock free(mutex_);
    meanwhile();
  }
  if (epoch == epoch_) EndEpoch();
  return find(ended_.at(epoch) == number);
}

// Only the last successful write of the ending epoch must be known later.
void MemoryStore::EndEpoch() {
  ended_[epoch_] = last_write_;
  ++epoch_.value;
}

void MemoryStore::EndLead(Epoch epoch) {
  MutexLock lock(mutex_);
  if (epoch == epoch_) leading_ = false;
}

Result<Lease> MemoryStore::Lead(const std::string&, std::chrono::milliseconds) {
  MutexLock lock(mutex_);
  if (away_) return Unavailable("the database cannot be reached");
  if (refuses_lead_) return Unavailable("another daemon leads");
  EndEpoch();
  leading_ = true;
  return Lease{epoch_};
}

// An Accept as a whole is one write for InjectFault and LoseAnswer; its jobs are answered one by
// one.
void MemoryStore::Accept(Epoch epoch, std::vector<NewJob> batch, std::vector<AuditRow> audit,
                         Callback<std::vector<Result<AcceptedJob>>> done) {
  using Answers = std::vector<Result<AcceptedJob>>;
  auto jobs = std::make_shared<const std::vector<NewJob>>(std::move(batch));
  auto rows = std::make_shared<const std::vector<AuditRow>>(std::move(audit));
  Carry([this, epoch, jobs, rows, done = std::move(done)] {
    const auto write = [&]() MUSTER_REQUIRES(mutex_) -> Result<Answers> {
      AppendAudit(*rows);
      Answers all;
      for (const NewJob& job : *jobs) all.push_back(AcceptOne(job));
      return all;
    };
    Result<Answers> answers = Write<Answers>(
        epoch, write, [&](bool last) MUSTER_REQUIRES(mutex_) { return FindAccepted(*jobs, last); });
    done(std::move(answers));
  });
}

// A job was written if its uid is stored: another leader may have given the same id to another job.
// If one job of the batch was written, or if the batch was the last write of its epoch, then the
// whole batch was carried out, and a job that is not stored was refused.
Result<std::vector<Result<AcceptedJob>>> MemoryStore::FindAccepted(const std::vector<NewJob>& jobs,
                                                                   bool last) {
  const auto there = [this](const NewJob& job) MUSTER_REQUIRES(mutex_) {
    const auto found =
        job.record == nullptr ? tables_.uids.end() : tables_.uids.find(job.record->uid);
    return found != tables_.uids.end() && found->second == job.record->id;
  };
  if (!last && std::none_of(jobs.begin(), jobs.end(), there))
    return Unavailable("the connection to the database was lost; nothing was written");
  std::vector<Result<AcceptedJob>> answers;
  for (const NewJob& job : jobs) {
    if (there(job)) {
      answers.push_back(AcceptedJob{job.record->id, false});
    } else {
      answers.push_back(HeldKey(job).value_or(NameTaken(*job.record)));
    }
  }
  return answers;
}

std::optional<Result<AcceptedJob>> MemoryStore::HeldKey(const NewJob& job) const {
  if (!job.idempotency.has_value()) return std::nullopt;
  const auto held = tables_.keys.find({job.idempotency->scope, job.idempotency->key});
  if (held == tables_.keys.end()) return std::nullopt;
  if (held->second.fingerprint != job.idempotency->fingerprint)
    return InvalidArgument("the idempotency key was already used by another request");
  return AcceptedJob{held->second.job, true};
}

// The order of the checks decides which sentence a client reads: a used key before a taken name.
Result<AcceptedJob> MemoryStore::AcceptOne(const NewJob& job) {
  const Status sound = CheckNewJob(job);
  if (!sound.ok()) return sound.error();
  const JobRecord& record = *job.record;
  if (auto held = HeldKey(job)) return std::move(*held);
  const NameKey name(record.ns, record.shape, record.name);
  if (tables_.live_names.contains(name)) return NameTaken(record);
  if (tables_.jobs.contains(record.id)) return Refused("the job number is taken");
  if (tables_.uids.contains(record.uid)) return Refused("the job's uid is taken");
  if (!tables_.accept_seqs.emplace(record.accept_seq, record.id).second) {
    return Refused("the event number is taken");
  }
  tables_.jobs.emplace(record.id, StoredJob{job.record, job.manifest});
  tables_.live_names.emplace(name, record.id);
  tables_.uids.emplace(record.uid, record.id);
  if (job.idempotency.has_value())
    tables_.keys.emplace(std::pair(job.idempotency->scope, job.idempotency->key),
                         StoredKey{job.idempotency->fingerprint, record.id});
  return AcceptedJob{record.id, false};
}

// A lost commit is durable exactly if it was the last write of its epoch.
void MemoryStore::Commit(Epoch epoch, PlanCommit commit, Callback<CommitVersion> done) {
  auto plan = std::make_shared<const PlanCommit>(std::move(commit));
  Carry([this, epoch, plan, done = std::move(done)] {
    const auto find = [&](bool last) MUSTER_REQUIRES(mutex_) -> Result<CommitVersion> {
      if (last) return CommitVersion{last_seq_};
      return Unavailable("the connection to the database was lost; nothing was written");
    };
    Result<CommitVersion> version = Write<CommitVersion>(
        epoch, [&]() MUSTER_REQUIRES(mutex_) { return CommitAll(*plan); }, find);
    // Later commits of this epoch may depend on the failed one, so none of them is written.
    if (!version.ok()) EndLead(epoch);
    done(std::move(version));
  });
}

// All or nothing: a refusal undoes the changes made so far.
Result<CommitVersion> MemoryStore::CommitAll(const PlanCommit& commit) {
  UndoLog undo;
  const Status status = Apply(commit, &undo);
  if (!status.ok()) {
    for (auto step = undo.rbegin(); step != undo.rend(); ++step) (*step)();
    return status.error();
  }
  for (const Event& event : commit.events) last_seq_ = std::max(last_seq_, event.seq);
  return CommitVersion{last_seq_};
}

// The order of the tables is that of QueueCommit in commit_encoding.cc. The audit log needs no undo
// step, because no refusal can follow it.
Status MemoryStore::Apply(const PlanCommit& commit, UndoLog* undo) {
  Status status = ApplyNewJobs(commit, undo);
  if (!status.ok()) return status;
  status = ApplyJobs(commit, undo);
  if (!status.ok()) return status;
  for (const UsageRow& row : commit.usage) {
    if (row.amount < 0) return Refused("quota usage cannot be negative");
    Put(&tables_.usage, UsageKey(row.cluster_queue, row.flavor, row.resource), row.amount, undo);
  }
  status = ApplyAttempts(commit, undo);
  if (!status.ok()) return status;
  status = ApplySteps(commit, undo);
  if (!status.ok()) return status;
  CloseSteps(commit, undo);
  status = ApplyDispatches(commit, undo);
  if (!status.ok()) return status;
  ApplyObjects(commit, undo);
  status = ApplyEvents(commit, undo);
  if (!status.ok()) return status;
  AppendAudit(commit.audit);
  for (const FairUseRow& row : commit.fair_use) {
    const std::pair key(row.ns, row.local_queue);
    if (row.remove) {
      Erase(&tables_.fair_use, key, undo);
    } else {
      Put(&tables_.fair_use, key, row, undo);
    }
  }
  for (const SetAsideWrite& write : commit.set_aside) {
    const std::pair key(write.object.cluster, write.object.remote_uid);
    if (write.remove) {
      Erase(&tables_.set_aside, key, undo);
    } else {
      Put(&tables_.set_aside, key, write.object, undo);
    }
  }
  for (const WorkKey& key : commit.ended_works) Erase(&tables_.works, key, undo);
  for (const SnapshotKey& key : commit.ended_snapshots) Erase(&tables_.snapshots, key, undo);
  for (const WorkPtr& work : commit.works) Put(&tables_.works, KeyOf(*work), work, undo);
  for (const SnapshotPtr& one : commit.snapshots) Put(&tables_.snapshots, KeyOf(*one), one, undo);
  if (commit.forget_keys_before.set()) ForgetKeys(commit.forget_keys_before, undo);
  if (commit.forget_audit_before.set()) ForgetAudit(commit.forget_audit_before);
  return Done{};
}

void MemoryStore::AppendAudit(const std::vector<AuditRow>& rows) {
  for (const AuditRow& row : rows) {
    AuditRow& linked = tables_.audit.emplace_back(row);
    BoundAuditRow(&linked);
    tables_.audit_head.Link(&linked);
  }
}

// The database's clock decides what the last day is; here it is the time of the newest row.
void MemoryStore::ForgetAudit(WallTime before) {
  if (tables_.audit.empty()) return;
  constexpr std::int64_t kDayUs = 86'400 * kMicrosPerSecond;
  std::int64_t until = std::min(before.us, tables_.audit.back().time.us - kDayUs);
  until -= until % kDayUs;
  for (std::size_t gone = 0; gone < limits::kForgottenAuditRows && !tables_.audit.empty(); ++gone) {
    const AuditRow& oldest = tables_.audit.front();
    if (oldest.time.us >= until) return;
    tables_.audit_anchor = {oldest.id, oldest.hash};
    tables_.audit.pop_front();
  }
}

// Jobs get their ids in the order of submission, so the lowest ids have the oldest keys.
void MemoryStore::ForgetKeys(WallTime before, UndoLog* undo) {
  std::map<JobId, std::pair<std::string, std::string>> by_age;
  for (const auto& [key, held] : tables_.keys) {
    if (tables_.jobs.at(held.job).record->submit_time < before) by_age.emplace(held.job, key);
  }
  std::size_t forgotten = 0;
  for (const auto& [job, key] : by_age) {
    if (++forgotten > limits::kForgottenKeys) return;
    Erase(&tables_.keys, key, undo);
  }
}

// The refusals are the check constraints of table job_state.
// Tasks of arrays. A taken name shows as a job that does not exist, as on PostgreSQL.
Status MemoryStore::ApplyNewJobs(const PlanCommit& commit, UndoLog* undo) {
  for (const JobPtr& job : commit.new_jobs) {
    const NameKey name(job->ns, job->shape, job->name);
    if (tables_.live_names.contains(name)) return Refused("a job of this change does not exist");
    if (tables_.jobs.contains(job->id)) return Refused("the job number is taken");
    if (tables_.uids.contains(job->uid)) return Refused("the job's uid is taken");
    if (tables_.accept_seqs.contains(job->accept_seq)) return Refused("the event number is taken");
    if (job->batch == nullptr || job->batch->array_job_id.value == 0)
      return Refused("a job without a manifest is a task of an array");
    Put(&tables_.jobs, job->id, StoredJob{job, ""}, undo);
    Put(&tables_.live_names, name, job->id, undo);
    Put(&tables_.uids, job->uid, job->id, undo);
    Put(&tables_.accept_seqs, job->accept_seq, job->id, undo);
  }
  return Done{};
}

Status MemoryStore::ApplyJobs(const PlanCommit& commit, UndoLog* undo) {
  for (const JobPtr& job : commit.jobs) {
    const auto found = tables_.jobs.find(job->id);
    if (found == tables_.jobs.end()) return Refused("a job of this change does not exist");
    const bool ended = IsTerminal(job->state);
    if (HoldsQuota(job->state) && job->admission == nullptr) {
      return Refused("an admitted job must hold its admission");
    }
    if (!HoldsQuota(job->state) && !ended && job->admission != nullptr) {
      return Refused("a waiting job cannot hold an admission");
    }
    if (!ended && found->second.deleted) return Refused("only what has ended is deleted");
    StoredJob changed = found->second;
    changed.record = job;
    Put(&tables_.jobs, job->id, std::move(changed), undo);
  }
  for (const JobId id : commit.deleted_jobs) {
    const auto found = tables_.jobs.find(id);
    if (found == tables_.jobs.end()) return Refused("a job of this change does not exist");
    const JobRecord& record = *found->second.record;
    if (!IsTerminal(record.state)) return Refused("only what has ended is deleted");
    if (found->second.deleted) continue;
    Erase(&tables_.live_names, NameKey(record.ns, record.shape, record.name), undo);
    StoredJob changed = found->second;
    changed.deleted = true;
    Put(&tables_.jobs, id, std::move(changed), undo);
  }
  return Done{};
}

// Of several records of one attempt the last one counts, as in the upsert on PostgreSQL.
Status MemoryStore::ApplyAttempts(const PlanCommit& commit, UndoLog* undo) {
  std::map<std::pair<JobId, std::int32_t>, const AttemptRecord*> last;
  for (const AttemptRecord& attempt : commit.attempts)
    last[{attempt.job, attempt.attempt}] = &attempt;
  for (const auto& [key, attempt] : last) {
    if (!tables_.jobs.contains(key.first)) return Refused("the attempt's job does not exist");
    if (key.second < 1) return Refused("attempts count from 1");
    const auto found = tables_.attempts.find(key);
    // An attempt with an end time is closed for accounting and never changes again.
    if (found != tables_.attempts.end() && found->second.end_time.set()) continue;
    Put(&tables_.attempts, key, *attempt, undo);
  }
  return Done{};
}

// Of several rows of one attempt the last one counts; Claim orders the rest.
Status MemoryStore::ApplyDispatches(const PlanCommit& commit, UndoLog* undo) {
  std::map<DispatchId, const DispatchRow*> last;
  for (const DispatchRow& row : commit.dispatches) last[{row.key.job_uid, row.key.attempt}] = &row;
  std::vector<const DispatchRow*> rows;
  for (const auto& [key, row] : last) rows.push_back(row);
  std::stable_sort(rows.begin(), rows.end(), [](const DispatchRow* a, const DispatchRow* b) {
    return Claim(a->state) < Claim(b->state);
  });
  for (const DispatchRow* row : rows) {
    const Status status = PutDispatch(*row, undo);
    if (!status.ok()) return status;
  }
  return Done{};
}

// Refuses what the unique indexes of table dispatches refuse: a second live attempt of a job, and
// two attempts that hold one object name on a member cluster.
Status MemoryStore::PutDispatch(const DispatchRow& row, UndoLog* undo) {
  if (!tables_.uids.contains(row.key.job_uid)) return Refused("the dispatch's job does not exist");
  if (row.key.attempt < 1) return Refused("attempts count from 1");
  const DispatchId id(row.key.job_uid, row.key.attempt);
  for (const auto& [other_id, other] : tables_.dispatches) {
    if (other_id == id) {
      if (other.key.cluster != row.key.cluster) {
        return Refused("the attempt was dispatched to another member cluster");
      }
      continue;
    }
    if (other_id.first == id.first && IsLive(other.state) && IsLive(row.state)) {
      return Refused("the job already has a live attempt");
    }
    const bool same_name = other.key.cluster == row.key.cluster &&
                           other.object_kind == row.object_kind && other.ns == row.ns &&
                           other.name == row.name;
    if (same_name && other.state != DispatchState::kGone && row.state != DispatchState::kGone) {
      return Refused("another attempt still holds this object name on the member cluster");
    }
  }
  Put(&tables_.dispatches, id, row, undo);
  return Done{};
}

void MemoryStore::ApplyObjects(const PlanCommit& commit, UndoLog* undo) {
  for (const ObjectWrite& write : commit.objects) {
    const ObjectId id(write.object->kind, write.object->ns, write.object->name);
    if (write.remove) {
      Erase(&tables_.objects, id, undo);
    } else {
      Put(&tables_.objects, id, write.object, undo);
    }
  }
}

Status MemoryStore::ApplyEvents(const PlanCommit& commit, UndoLog* undo) {
  for (const Event& event : commit.events) {
    if (tables_.events.contains(event.seq)) return Refused("the event number is taken");
    Put(&tables_.events, event.seq, event, undo);
  }
  return Done{};
}

}  // namespace muster
