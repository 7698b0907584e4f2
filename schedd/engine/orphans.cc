// Objects on members that no attempt accounts for (rules D14, D18): what an
// attempt left behind is removed after a while, and so is a copy once the attempt is over; what is
// ahead of the database stops the removal of anything on that member; copies of what goes on and
// what Muster did not make are never touched.
#include "schedd/engine/impl.h"
#include "schedd/engine/remote_objects.h"
#include "schedd/telemetry/log.h"

namespace muster {
namespace {

std::string NameOf(const Observation& seen) {
  if (seen.object.kind.empty()) return "object " + seen.remote_uid;
  return seen.object.kind + " " + seen.object.ns + "/" + seen.object.name;
}

bool MayRun(RemotePhase phase) {
  return phase == RemotePhase::kSuspended || phase == RemotePhase::kPending ||
         phase == RemotePhase::kRunning;
}

// Nothing more is expected of the row's own object. What is being removed or is missing comes to
// its own end first: the answer to a removal would be taken for its.
bool IsOver(const DispatchRow& row) {
  return row.state == DispatchState::kTerminal || row.state == DispatchState::kConflict;
}

// An attempt is on one member: where another one shows it while it goes on, somebody has copied it
// there; the same object is that member under a second name.
bool IsElsewhere(const LiveState& live, const Observation& seen) {
  const DispatchKey& key = seen.key;
  for (auto row = live.dispatches.lower_bound(DispatchKey{key.job_uid, key.attempt, ""});
       row != live.dispatches.end() && row->first.job_uid == key.job_uid &&
       row->first.attempt == key.attempt;
       ++row) {
    if (row->first.cluster != key.cluster &&
        (IsLive(row->second.state) || row->second.remote_uid == seen.remote_uid))
      return true;
  }
  return false;
}

}  // namespace

// Who made it is told by its marks, not by its labels: anybody on the member may copy those. `row`:
// of the attempt that it names, which has another object; null if there is none. A daemon that no
// longer leads may have made it after the attempt's end, and nobody else would ever let go of what
// has our finalizer: so it goes with the attempt.
void Engine::Impl::HandleOrphan(const Observation& seen, const DispatchRow* row) {
  const auto known = live.set_aside.find({seen.key.cluster, seen.remote_uid});
  const bool let_go = known != live.set_aside.end() && known->second.released;
  // A copy is looked at again: what it is a copy of may be over by now.
  if (known != live.set_aside.end() && !let_go && known->second.reason != SetAsideReason::kCopy)
    return;
  if (!dispatch::HasOurMarks(seen)) return PutAside(seen, SetAsideReason::kUnowned);
  if (row != nullptr ? !IsOver(*row) : IsElsewhere(live, seen))
    return PutAside(seen, SetAsideReason::kCopy);
  if (!let_go) {
    if (seen.sequence > live.last_seq) return PutAside(seen, SetAsideReason::kAhead);
    if (row == nullptr && !IsOfKnownAttempt(seen)) return;
    if (IsQuarantined(seen.key.cluster) || !StrayLongEnough(seen)) return;
  }
  metrics.corrections.Add();
  tx.orders.push_back({dispatch::Action::kRemove, seen.key, nullptr, seen.remote_uid, seen.object});
}

// False: it is ahead of the database, which is noted, or the database does not answer.
bool Engine::Impl::IsOfKnownAttempt(const Observation& seen) {
  const auto job = store.FindJob(seen.key.job_uid);
  if (!job.ok()) {
    if (job.error().code == Code::kNotFound) PutAside(seen, SetAsideReason::kAhead);
    return false;  // the database is away: asked again with the next list
  }
  const Result<JobPtr> loaded = FindOrLoad(*job);
  if (!loaded.ok()) return false;
  const JobPtr& record = *loaded;
  if (seen.key.attempt <= record->attempt) return true;
  PutAside(seen, SetAsideReason::kAhead);
  HoldAhead(record, seen);
  return false;
}

// A list may be older than an end that was seen meanwhile: one alone proves nothing. The next one
// comes as soon as it does.
bool Engine::Impl::StrayLongEnough(const Observation& seen) {
  const Monotonic now = clock.Now();
  const std::int64_t grace = MillisToNanos(options.orphan_grace_ms);
  const auto [first, fresh] = strays.try_emplace({seen.key.cluster, seen.remote_uid}, now);
  if (fresh) stray_lists.try_emplace(seen.key.cluster, now + grace);
  return now - first->second >= grace;
}

bool Engine::Impl::FireStrayLists() {
  const std::size_t before = tx.orders.size();
  std::erase_if(stray_lists, [this](const auto& one) {
    if (one.second > clock.Now()) return false;
    tx.orders.push_back({dispatch::Action::kList, DispatchKey{{}, 0, one.first}});
    return true;
  });
  return tx.orders.size() > before;
}

// The member's own store was set back, and an attempt whose end is on record runs again.
void Engine::Impl::FenceResurrected(const DispatchRow& row, const Observation& seen) {
  // Of what was stopped before it was made nothing is to be learnt and nothing is kept.
  const bool never_made = row.remote_uid.empty() && seen.object != RemoteObject{};
  if (!MayRun(seen.phase) && !never_made) return;
  if (!dispatch::IsOurs(row, seen) || IsQuarantined(row.key.cluster)) return;
  if (!StrayLongEnough(seen)) return;
  Log(LogLevel::kError, "engine", "ended_attempt_runs_again",
      {{"cluster", row.key.cluster},
       {"job", row.job.value},
       {"attempt", std::int64_t{row.key.attempt}}});
  metrics.corrections.Add();
  StepRow(DispatchKey(row.key), dispatch::Resurrected{}, nullptr);
}

bool Engine::Impl::IsQuarantined(const std::string& cluster) const {
  for (auto one = live.set_aside.lower_bound({cluster, ""});
       one != live.set_aside.end() && one->first.first == cluster; ++one) {
    if (one->second.reason == SetAsideReason::kAhead && !one->second.released) return true;
  }
  return false;
}

void Engine::Impl::PutAside(const Observation& seen, SetAsideReason reason) {
  const std::pair key(seen.key.cluster, seen.remote_uid);
  const auto known = live.set_aside.find(key);
  if (known != live.set_aside.end()) return;
  std::size_t of_member = 0;
  for (auto one = live.set_aside.lower_bound({key.first, ""});
       one != live.set_aside.end() && one->first.first == key.first; ++one) {
    if (one->second.reason == reason) ++of_member;
  }
  if (of_member >= limits::kSetAsidePerMember) return;
  const SetAsideObject object{key.first,        key.second,    seen.object, seen.key.job_uid,
                              seen.key.attempt, seen.sequence, reason,      false,
                              clock.WallNow()};
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
  AddEvent(ahead ? "MemberObjectQuarantined" : "MemberObjectLeftAlone", JobId{},
           "membercluster/" + key.first, std::string(SetAsideReasonText(reason)), text);
  WriteAside(object, false);
}

void Engine::Impl::WriteAside(const SetAsideObject& object, bool remove) {
  const std::pair key(object.cluster, object.remote_uid);
  tx.set_aside[key] = {object, remove};
  if (remove) {
    live.set_aside.erase(key);
  } else {
    live.set_aside[key] = object;
  }
}

// The database says that the job waits, and a member has an attempt of it: it must not run twice.
void Engine::Impl::HoldAhead(const JobPtr& job, const Observation& seen) {
  if (job->state != JobState::kPending) return;
  changes::Draft held = changes::Held(*job);
  held->message = "Held: member cluster " + seen.key.cluster + " has attempt " +
                  std::to_string(seen.key.attempt) +
                  " of it, which the database does not know; release the job to run it again";
  Put(job, std::move(held), "JobHeld");
}

// What a complete list does not have any more is forgotten; what was ahead stays until an
// administrator has looked at it.
void Engine::Impl::ForgetAbsent(const std::string& cluster, const std::set<std::string>& uids) {
  std::vector<SetAsideObject> gone;
  for (auto one = live.set_aside.lower_bound({cluster, ""});
       one != live.set_aside.end() && one->first.first == cluster; ++one) {
    const bool stays = one->second.reason == SetAsideReason::kAhead && !one->second.released;
    if (!stays && !uids.contains(one->first.second)) gone.push_back(one->second);
  }
  for (const SetAsideObject& object : gone) WriteAside(object, true);
  std::erase_if(strays, [&](const auto& stray) {
    return stray.first.first == cluster && !uids.contains(stray.first.second);
  });
}

void Engine::Impl::Handle(CollectCommand command) {
  if (!live.config->member_clusters.contains(command.cluster)) {
    answers.push_back([done = std::move(command.done), name = command.cluster] {
      done(NotFound("member cluster " + name + " does not exist"));
    });
    return;
  }
  std::vector<SetAsideObject> ahead;
  for (const auto& [key, object] : live.set_aside) {
    if (key.first == command.cluster && object.reason == SetAsideReason::kAhead && !object.released)
      ahead.push_back(object);
  }
  for (SetAsideObject& object : ahead) {
    object.released = true;
    WriteAside(object, false);
  }
  std::vector<DispatchKey> waiting;
  for (const auto& [key, row] : live.dispatches) {
    if (key.cluster == command.cluster && row.state == DispatchState::kQuarantined)
      waiting.push_back(key);
  }
  for (const DispatchKey& key : waiting) StepRow(key, dispatch::QuarantineReleased{}, nullptr);
  const std::size_t count = ahead.size() + waiting.size();
  AddEvent("MemberCollected", JobId{}, "membercluster/" + command.cluster, "",
           "Collection goes on: " + std::to_string(count) + " objects were quarantined");
  AddAudit(command.actor, "collect", "membercluster/" + command.cluster, std::to_string(count));
  tx.orders.push_back({dispatch::Action::kList, DispatchKey{{}, 0, command.cluster}});
  AnswerAfterCommit([done = std::move(command.done), count](const Error* error) {
    if (error != nullptr) {
      done(*error);
    } else {
      done(count);
    }
  });
}

}  // namespace muster
