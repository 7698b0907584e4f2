#include "schedd/store/memory/memory_store.h"

#include <algorithm>
#include <utility>

#include "schedd/base/limits.h"
#include "schedd/store/new_job.h"

namespace muster {
namespace {

Error Refused(std::string detail) { return {Code::kFailedPrecondition, std::move(detail)}; }

Error NameTaken(const JobRecord& record) {
  return AlreadyExists("a " + std::string(ShapeKindName(record.shape)) + " named \"" + record.name +
                       "\" already exists in namespace \"" + record.ns + "\"");
}

// Sets one entry and notes how to take it back.
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

template <class Map>
void Erase(Map* map, const typename Map::key_type& key, std::vector<std::function<void()>>* undo) {
  const auto found = map->find(key);
  if (found == map->end()) return;
  undo->push_back([map, key, old = found->second] { map->emplace(key, old); });
  map->erase(found);
}

// Rows that give something up come first, as in PostgreSQL's statement.
int Claim(DispatchState state) {
  if (state == DispatchState::kGone) return 0;
  return IsLive(state) ? 2 : 1;
}

}  // namespace

MemoryStore::MemoryStore(MemoryStoreOptions options) : options_(std::move(options)) {}

void MemoryStore::InjectFault(std::size_t nth, StoreFault fault) {
  std::lock_guard lock(mutex_);
  faults_[writes_ + nth] = fault;
}

void MemoryStore::LoseAnswer(std::size_t nth, LostAnswer how) {
  std::lock_guard lock(mutex_);
  lost_[writes_ + nth] = std::move(how);
}

void MemoryStore::SetAway(bool away) {
  std::lock_guard lock(mutex_);
  away_ = away;
  if (away) leading_ = false;  // its session is gone
}

void MemoryStore::LoseLead() {
  std::lock_guard lock(mutex_);
  leading_ = false;
}

bool MemoryStore::DrainOne() {
  std::function<void()> write;
  {
    std::lock_guard lock(mutex_);
    if (waiting_.empty()) return false;
    write = std::move(waiting_.front());
    waiting_.pop_front();
  }
  write();
  return true;
}

std::size_t MemoryStore::waiting() const {
  std::lock_guard lock(mutex_);
  return waiting_.size();
}

std::size_t MemoryStore::accepted_jobs() const {
  std::lock_guard lock(mutex_);
  return tables_.jobs.size();
}

void MemoryStore::Carry(std::function<void()> write) {
  if (!options_.manual) {
    write();
    return;
  }
  std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(write));
}

template <class T>
Result<T> MemoryStore::Write(Epoch epoch, const std::function<Result<T>()>& write,
                             const std::function<Result<T>(bool last)>& find) {
  std::unique_lock lock(mutex_);
  ++writes_;
  const auto fault = faults_.find(writes_);
  if (away_ || (fault != faults_.end() && fault->second == StoreFault::kUnavailable)) {
    return Unavailable("the database cannot be reached");
  }
  if (!leading_ || epoch != epoch_)
    return Aborted("this daemon no longer leads; its epoch has passed");
  if (const auto lost = lost_.find(writes_); lost != lost_.end())
    return Resolve<T>(&lock, lost->second, epoch, write, find);
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

template <class T>
Result<T> MemoryStore::Resolve(std::unique_lock<std::mutex>* lock, const LostAnswer& how,
                               Epoch epoch, const std::function<Result<T>()>& write,
                               const std::function<Result<T>(bool last)>& find) {
  const std::size_t number = writes_;
  if (how.written && write().ok()) last_write_ = number;
  leading_ = false;
  const std::function<void()> meanwhile = how.meanwhile;
  lock->unlock();
  if (meanwhile) meanwhile();
  lock->lock();
  if (epoch == epoch_) EndEpoch();
  return find(ended_.at(epoch) == number);
}

void MemoryStore::EndEpoch() {
  ended_[epoch_] = last_write_;
  ++epoch_.value;
}

void MemoryStore::EndLead(Epoch epoch) {
  std::lock_guard lock(mutex_);
  if (epoch == epoch_) leading_ = false;
}

Result<Lease> MemoryStore::Lead(const std::string&, std::chrono::milliseconds) {
  std::lock_guard lock(mutex_);
  if (away_) return Unavailable("the database cannot be reached");
  EndEpoch();
  leading_ = true;
  return Lease{epoch_};
}

void MemoryStore::Accept(Epoch epoch, std::vector<NewJob> batch,
                         Callback<std::vector<Result<Accepted>>> done) {
  using Answers = std::vector<Result<Accepted>>;
  auto jobs = std::make_shared<const std::vector<NewJob>>(std::move(batch));
  Carry([this, epoch, jobs, done = std::move(done)] {
    const auto write = [&]() -> Result<Answers> {
      Answers all;
      for (const NewJob& job : *jobs) all.push_back(AcceptOne(job));
      return all;
    };
    Result<Answers> answers =
        Write<Answers>(epoch, write, [&](bool last) { return FindAccepted(*jobs, last); });
    done(std::move(answers));
  });
}

// A job is there if its uid is: its number may be another's. With one of them, or as the last write
// of its epoch, the whole batch was written, and each of the others has its refusal.
Result<std::vector<Result<Accepted>>> MemoryStore::FindAccepted(const std::vector<NewJob>& jobs,
                                                                bool last) {
  const auto there = [this](const NewJob& job) {
    const auto found =
        job.record == nullptr ? tables_.uids.end() : tables_.uids.find(job.record->uid);
    return found != tables_.uids.end() && found->second == job.record->id;
  };
  if (!last && std::none_of(jobs.begin(), jobs.end(), there))
    return Unavailable("the connection to the database was lost; nothing was written");
  std::vector<Result<Accepted>> answers;
  for (const NewJob& job : jobs) {
    if (there(job)) {
      answers.push_back(Accepted{job.record->id, false});
    } else {
      answers.push_back(HeldKey(job).value_or(NameTaken(*job.record)));
    }
  }
  return answers;
}

// The answer to a job whose idempotency key was used before.
std::optional<Result<Accepted>> MemoryStore::HeldKey(const NewJob& job) const {
  if (!job.idempotency.has_value()) return std::nullopt;
  const auto held = tables_.keys.find({job.idempotency->scope, job.idempotency->key});
  if (held == tables_.keys.end()) return std::nullopt;
  if (held->second.fingerprint != job.idempotency->fingerprint)
    return InvalidArgument("the idempotency key was already used by another request");
  return Accepted{held->second.job, true};
}

Result<Accepted> MemoryStore::AcceptOne(const NewJob& job) {
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
  return Accepted{record.id, false};
}

void MemoryStore::Commit(Epoch epoch, PlanCommit commit, Callback<CommitVersion> done) {
  auto plan = std::make_shared<const PlanCommit>(std::move(commit));
  Carry([this, epoch, plan, done = std::move(done)] {
    const auto find = [&](bool last) -> Result<CommitVersion> {
      if (last) return CommitVersion{last_seq_};
      return Unavailable("the connection to the database was lost; nothing was written");
    };
    Result<CommitVersion> version =
        Write<CommitVersion>(epoch, [&] { return CommitAll(*plan); }, find);
    if (!version.ok()) EndLead(epoch);  // nothing that was based on it may be written
    done(std::move(version));
  });
}

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

Status MemoryStore::Apply(const PlanCommit& commit, UndoLog* undo) {
  Status status = ApplyJobs(commit, undo);
  if (!status.ok()) return status;
  for (const UsageRow& row : commit.usage) {
    if (row.amount < 0) return Refused("quota usage cannot be negative");
    Put(&tables_.usage, UsageKey(row.cluster_queue, row.flavor, row.resource), row.amount, undo);
  }
  status = ApplyAttempts(commit, undo);
  if (!status.ok()) return status;
  status = ApplyDispatches(commit, undo);
  if (!status.ok()) return status;
  ApplyObjects(commit, undo);
  status = ApplyEvents(commit, undo);
  if (!status.ok()) return status;
  tables_.audit.insert(tables_.audit.end(), commit.audit.begin(), commit.audit.end());
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
  return Done{};
}

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

Status MemoryStore::ApplyAttempts(const PlanCommit& commit, UndoLog* undo) {
  std::map<std::pair<JobId, std::int32_t>, const AttemptRecord*> last;
  for (const AttemptRecord& attempt : commit.attempts)
    last[{attempt.job, attempt.attempt}] = &attempt;
  for (const auto& [key, attempt] : last) {
    if (!tables_.jobs.contains(key.first)) return Refused("the attempt's job does not exist");
    if (key.second < 1) return Refused("attempts count from 1");
    const auto found = tables_.attempts.find(key);
    if (found != tables_.attempts.end() && found->second.end_time.set())
      continue;  // closed for good
    Put(&tables_.attempts, key, *attempt, undo);
  }
  return Done{};
}

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
