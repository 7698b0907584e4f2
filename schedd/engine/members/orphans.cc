// Objects on members that are not the object of their row (rules D13, D14, D18). Note sorts each
// one, by its marks and numbers:
//
// 1. Without our marks somebody else made it: set aside, never touched.
// 2. With marks, but its attempt goes on with another object: it is a copy. Set aside, and looked
//    at again with each list, because the attempt may be over by then.
// 3. With a sequence, attempt or job that the database never gave out, or gave out in a history
//    that is lost: the database is older than the member (a restored backup, a promoted standby).
//    Set aside as ahead; while a member has such an object nothing there is collected, and a
//    waiting job of it is held. An administrator lets the collection go on (CollectCommand).
// 4. Of an attempt that is over: a stray. It is removed, by uid, once two lists at least
//    EngineOptions::orphan_grace_ms apart have it; one list proves nothing, because it may be older
//    than an end that was seen meanwhile. The second list is asked for as soon as the time is over.
//
// What is set aside is stored, so that it survives restarts and administrators see it; strays are
// in memory alone.
#include "schedd/engine/members/orphans.h"

#include <algorithm>

#include "schedd/base/limits.h"
#include "schedd/telemetry/log.h"

namespace muster {
namespace {

// For sentences; some backends report objects without a name.
std::string NameOf(const Observation& seen) {
  if (seen.object.kind.empty()) return "object " + seen.remote_uid;
  return seen.object.kind + " " + seen.object.ns + "/" + seen.object.name;
}

// True if pods of the object run or may still start.
bool MayRun(RemotePhase phase) {
  return phase == RemotePhase::kSuspended || phase == RemotePhase::kPending ||
         phase == RemotePhase::kRunning;
}

// True if nothing more is expected of the row's own object, so that another object of its attempt
// is a leftover. A row that is being removed or is missing comes to its own end first: the answer
// to this removal would be taken for its own.
bool IsOver(const DispatchRow& row) {
  return row.state == DispatchState::kTerminal || row.state == DispatchState::kConflict;
}

}  // namespace

void Orphans::Reset(std::vector<SetAsideObject> set_aside, std::vector<LostNumbers> lost_numbers) {
  lost_numbers_ = std::move(lost_numbers);
  strays_.clear();
  stray_lists_.clear();
  set_aside_.clear();
  for (SetAsideObject& object : set_aside) {
    const std::pair key(object.cluster, object.remote_uid);
    set_aside_[key] = std::move(object);
  }
}

// True if the attempt goes on at another member. An attempt is on one member, so somebody copied
// the object here; or it is the same object, and this member is the other one under a second name.
bool Orphans::IsElsewhere(const Observation& seen) const {
  const DispatchKey& key = seen.key;
  const auto& rows = rows_.all();
  for (auto row = rows.lower_bound(DispatchKey{key.job_uid, key.attempt, ""});
       row != rows.end() && row->first.job_uid == key.job_uid && row->first.attempt == key.attempt;
       ++row) {
    if (row->first.cluster != key.cluster &&
        (IsLive(row->second.state) || row->second.remote_uid == seen.remote_uid))
      return true;
  }
  return false;
}

// The object was set aside while its uid was not on record; it is its row's object now.
void Orphans::NoteOwn(const Observation& seen) {
  const auto aside = set_aside_.find({seen.key.cluster, seen.remote_uid});
  if (aside != set_aside_.end()) Write(SetAsideObject(aside->second), true);
}

// Sorts one object; see the top of this file. An administrator's release (`let_go`) skips the
// questions that set objects aside as ahead, and the grace.
void Orphans::Note(const Observation& seen, const DispatchRow* row) {
  const auto known = set_aside_.find({seen.key.cluster, seen.remote_uid});
  const bool let_go = known != set_aside_.end() && known->second.released;
  // A copy is looked at again: the attempt that it copies may be over by now.
  if (known != set_aside_.end() && !let_go && known->second.reason != SetAsideReason::kCopy) return;
  if (!dispatch::HasOurMarks(seen)) return PutAside(seen, SetAsideReason::kUnowned);
  if (row != nullptr ? !IsOver(*row) : IsElsewhere(seen))
    return PutAside(seen, SetAsideReason::kCopy);
  if (!let_go) {
    if (!IsGivenOut(seen.sequence)) return PutAhead(seen, JobOf(seen));
    if (row == nullptr && !IsOfKnownAttempt(seen)) return;
    if (IsQuarantined(seen.key.cluster) || !StrayLongEnough(seen)) return;
  }
  context_.metrics.corrections.Add();
  commits_.tx().orders.push_back(
      {dispatch::Action::kRemove, seen.key, nullptr, seen.remote_uid, seen.object});
}

// True if the history that this database has gave the number out: it is not above the last one, and
// not one of those of a history that is lost (rules D25 and D26).
bool Orphans::IsGivenOut(std::int64_t sequence) const {
  return sequence <= commits_.last_seq() &&
         std::none_of(lost_numbers_.begin(), lost_numbers_.end(),
                      [sequence](const LostNumbers& lost) { return lost.Has(sequence); });
}

// Null if the database has no such job, or does not answer.
JobPtr Orphans::JobOf(const Observation& seen) {
  const auto job = context_.store.FindJob(seen.key.job_uid);
  if (!job.ok()) return nullptr;
  const Result<JobPtr> loaded = commands_.FindOrLoad(*job);
  return loaded.ok() ? *loaded : nullptr;
}

// `job`: the one that the object's labels name; null if the database has none of it.
void Orphans::PutAhead(const Observation& seen, const JobPtr& job) {
  PutAside(seen, SetAsideReason::kAhead);
  if (job != nullptr && seen.key.attempt > job->attempt) HoldAhead(job, seen);
}

// True if the database gave the attempt out. False if it did not, and then the object is set aside
// as ahead; or if the database does not answer, and then the next list asks again.
bool Orphans::IsOfKnownAttempt(const Observation& seen) {
  const auto job = context_.store.FindJob(seen.key.job_uid);
  if (!job.ok()) {
    if (job.error().code == Code::kNotFound) PutAhead(seen, nullptr);
    return false;
  }
  const Result<JobPtr> loaded = commands_.FindOrLoad(*job);
  if (!loaded.ok()) return false;
  if (seen.key.attempt <= (*loaded)->attempt) return true;
  PutAhead(seen, *loaded);
  return false;
}

// Notes when the object was first listed as a stray; true once the grace is over. The first note
// schedules the next list.
bool Orphans::StrayLongEnough(const Observation& seen) {
  const Monotonic now = context_.clock.Now();
  const std::int64_t grace = MillisToNanos(context_.options.orphan_grace_ms);
  const auto [first, fresh] = strays_.try_emplace({seen.key.cluster, seen.remote_uid}, now);
  if (fresh) stray_lists_.try_emplace(seen.key.cluster, now + grace);
  return now - first->second >= grace;
}

// Orders the lists that prove strays for a second time.
bool Orphans::FireLists() {
  bool fired = false;
  std::erase_if(stray_lists_, [&](const auto& one) {
    if (one.second > context_.clock.Now()) return false;
    commits_.OrderList(one.first);
    fired = true;
    return true;
  });
  return fired;
}

std::optional<Monotonic> Orphans::NextList() const {
  std::optional<Monotonic> first;
  for (const auto& [cluster, due] : stray_lists_) first = first ? std::min(*first, due) : due;
  return first;
}

// The row has ended, and its object may run again: the member's own store was set back. The end on
// record stands (rule D20, I3), so the object is removed after the same grace as a stray. An object
// of a row that was stopped before it was created has no result and no logs, and goes too.
void Orphans::FenceResurrected(const DispatchRow& row, const Observation& seen) {
  // Of an attempt that was stopped before it was created there is no result and nothing to keep.
  const bool never_made = row.remote_uid.empty() && seen.object != RemoteObject{};
  if (!MayRun(seen.phase) && !never_made) return;
  if (!dispatch::IsOurs(row, seen) || IsQuarantined(row.key.cluster)) return;
  if (!StrayLongEnough(seen)) return;
  Log(LogLevel::kError, "engine", "ended_attempt_runs_again",
      {{"cluster", row.key.cluster},
       {"job", row.job.value},
       {"attempt", std::int64_t{row.key.attempt}}});
  context_.metrics.corrections.Add();
  attempts_.Step(DispatchKey(row.key), dispatch::Resurrected{}, nullptr);
}

// True while the member has an object ahead of the database that no administrator has released
// (rule D14).
bool Orphans::IsQuarantined(const std::string& cluster) const {
  for (auto one = set_aside_.lower_bound({cluster, ""});
       one != set_aside_.end() && one->first.first == cluster; ++one) {
    if (one->second.reason == SetAsideReason::kAhead && !one->second.released) return true;
  }
  return false;
}

// Once for each object, and at most limits::kSetAsidePerMember of each reason on a member: anybody
// there can make objects with our labels.
void Orphans::PutAside(const Observation& seen, SetAsideReason reason) {
  const std::pair key(seen.key.cluster, seen.remote_uid);
  const auto known = set_aside_.find(key);
  if (known != set_aside_.end()) return;
  std::size_t of_member = 0;
  for (auto one = set_aside_.lower_bound({key.first, ""});
       one != set_aside_.end() && one->first.first == key.first; ++one) {
    if (one->second.reason == reason) ++of_member;
  }
  if (of_member >= limits::kSetAsidePerMember) return;
  const SetAsideObject object{
      key.first,     key.second, seen.object, seen.key.job_uid,        seen.key.attempt,
      seen.sequence, reason,     false,       context_.clock.WallNow()};
  const bool ahead = reason == SetAsideReason::kAhead;
  const std::string text = NameOf(seen) + " is left alone: it is " +
                           std::string(SetAsideReasonText(reason)) +
                           (ahead ? "; nothing is collected on this member until an administrator "
                                    "has looked at it"
                                  : "");
  Log(LogLevel::kError, "engine", ahead ? "object_quarantined" : "object_left_alone",
      {{"cluster", key.first},
       {"attempt", std::int64_t{seen.key.attempt}},
       {"reason", std::string(SetAsideReasonText(reason))},
       {"err", text}});
  commits_.AddEvent(ahead ? "MemberObjectQuarantined" : "MemberObjectLeftAlone", JobId{},
                    "membercluster/" + key.first, std::string(SetAsideReasonText(reason)), text);
  Write(object, false);
}

// Memory and the open transaction together.
void Orphans::Write(const SetAsideObject& object, bool remove) {
  const std::pair key(object.cluster, object.remote_uid);
  commits_.tx().set_aside[key] = {object, remove};
  if (remove) {
    set_aside_.erase(key);
  } else {
    set_aside_[key] = object;
  }
}

// The database says that the job waits, and a member has an attempt of it that the database does
// not know. It must not run twice, so it is held until a user releases it; one that is held
// already says so from now on.
void Orphans::HoldAhead(const JobPtr& job, const Observation& seen) {
  if (job->state != JobState::kPending && job->state != JobState::kHeld) return;
  changes::Draft held =
      job->state == JobState::kPending ? changes::Held(*job) : std::make_shared<JobRecord>(*job);
  held->message = "Held: member cluster " + seen.key.cluster + " has attempt " +
                  std::to_string(seen.key.attempt) +
                  " of it, which the database does not know; release the job to run it again";
  jobs_.Put(job, std::move(held), "JobHeld");
}

// An object ahead of the database stays on record, though it is gone, until an administrator has
// seen it.
void Orphans::ForgetAbsent(const std::string& cluster, const std::set<std::string>& uids) {
  std::vector<SetAsideObject> gone;
  for (auto one = set_aside_.lower_bound({cluster, ""});
       one != set_aside_.end() && one->first.first == cluster; ++one) {
    const bool stays = one->second.reason == SetAsideReason::kAhead && !one->second.released;
    if (!stays && !uids.contains(one->first.second)) gone.push_back(one->second);
  }
  for (const SetAsideObject& object : gone) Write(object, true);
  std::erase_if(strays_, [&](const auto& stray) {
    return stray.first.first == cluster && !uids.contains(stray.first.second);
  });
}

// Releases the member's objects that are ahead, and the rows that wait in Quarantined; the list
// that is ordered then removes what is left over.
void Orphans::Handle(CollectCommand command) {
  if (!config_.view()->member_clusters.contains(command.cluster)) {
    commits_.Answer([done = std::move(command.done), name = command.cluster] {
      done(NotFound("member cluster " + name + " does not exist"));
    });
    return;
  }
  std::vector<SetAsideObject> ahead;
  for (const auto& [key, object] : set_aside_) {
    if (key.first == command.cluster && object.reason == SetAsideReason::kAhead && !object.released)
      ahead.push_back(object);
  }
  for (SetAsideObject& object : ahead) {
    object.released = true;
    Write(object, false);
  }
  std::vector<DispatchKey> waiting;
  for (const auto& [key, row] : rows_.all()) {
    if (key.cluster == command.cluster && row.state == DispatchState::kQuarantined)
      waiting.push_back(key);
  }
  for (const DispatchKey& key : waiting)
    attempts_.Step(key, dispatch::QuarantineReleased{}, nullptr);
  const std::size_t count = ahead.size() + waiting.size();
  commits_.AddEvent("MemberCollected", JobId{}, "membercluster/" + command.cluster, "",
                    "Collection goes on: " + std::to_string(count) + " objects were quarantined");
  commits_.AddAudit(command.actor, "collect", "membercluster/" + command.cluster,
                    std::to_string(count));
  commits_.OrderList(command.cluster);
  commits_.AnswerOutcome(std::move(command.done), Result<std::size_t>(count));
}

}  // namespace muster
