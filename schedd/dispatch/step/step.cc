// The state machine, one overload of Apply for each input. Each overload says what the input means
// in each state; in all other states the row stays as it is (Stay). To gives the next state, the
// action and the effect.
//
// The happy path is Intent -> (Releasing ->) Created -> Running -> Terminal -> Cleaning -> Gone.
// Only Intent creates, because only there the decision to create is durable. Absence never creates:
// it leads to kConfirm, and only a proven absence makes a running attempt Lost. A revoked attempt
// is over when its removal is proven, not when it looks ended.
//
// Two steps: a member that creates attempts suspended answers with the object's uid; the row
// becomes Releasing with it, and only when that is durable does kRelease leave, for that uid and no
// other. So pods exist only for a uid on record. A release that finds no object, or another one, is
// followed by kConfirm; a release that is refused for good removes the object, which never ran.
// Once it is seen released the row is Created. An object that is suspended later was suspended by
// somebody else: that is shown and not fought. Members that create in one call go from Intent to
// Created.
//
// Ends: a result is durable first; then the member may let its object go (kAcknowledge), again as
// long as the object of a Terminal row is seen held. An object that somebody deletes while it is
// live is let go too, and its absence makes the attempt Lost.
#include "schedd/dispatch/step/step.h"

#include <utility>

#include "schedd/base/fault_points.h"

namespace muster::dispatch {
namespace {

// DispatchRow::detail of a Revoking row: whether the object is removed altogether or its logs are
// kept.
constexpr const char* kRemoveObject = "remove";
constexpr const char* kKeepLogs = "keep logs";
// DispatchRow::detail of a live row whose object somebody deletes on the member.
constexpr const char* kDeletedOnMember = "deleted on the member";

StepResult Apply(const DispatchRow& row, const ClusterRecreated& input);

// The input means nothing in this state.
StepResult Stay(const DispatchRow& row) { return {row, Action::kNone, Effect::kNone, ""}; }

StepResult To(const DispatchRow& row, DispatchState state, Action action = Action::kNone,
              Effect effect = Effect::kNone, std::string message = "") {
  StepResult result{row, action, effect, std::move(message)};
  result.row.state = state;
  return result;
}

// The attempt is over without a result; `message` says why, and is kept in the row.
StepResult Lose(const DispatchRow& row, std::string message, Effect effect = Effect::kLost) {
  StepResult result = To(row, DispatchState::kLost, Action::kNone, effect, std::move(message));
  result.row.detail = result.message;
  return result;
}

StepResult Apply(const DispatchRow& row, const EnsureSucceeded& input) {
  if (row.state != DispatchState::kIntent) return Stay(row);
  StepResult result = input.suspended ? To(row, DispatchState::kReleasing, Action::kRelease)
                                      : To(row, DispatchState::kCreated);
  if (!MUSTER_PLANTED(uid_not_recorded)) result.row.remote_uid = input.remote_uid;
  result.row.incarnation = input.incarnation;
  result.row.detail.clear();
  return result;
}

// An object that exists suspended could not be released.
StepResult ReleaseFailed(const DispatchRow& row, const EnsureFailed& input) {
  // The object is not there. An earlier try may have released it, so its pods may still run.
  if (input.code == Code::kNotFound) return To(row, row.state, Action::kConfirm);
  if (MayBeMended(input.code)) {
    return To(row, DispatchState::kReleasing, Action::kRelease, Effect::kWaiting, input.detail);
  }
  // The object was never released, so no pod of it ran: the job may end before the object is gone.
  StepResult result =
      To(row, DispatchState::kCleaning, Action::kRemove, Effect::kRefused, input.detail);
  result.row.detail = input.detail;
  return result;
}

StepResult Apply(const DispatchRow& row, const EnsureFailed& input) {
  if (row.state == DispatchState::kReleasing) return ReleaseFailed(row, input);
  if (row.state != DispatchState::kIntent) return Stay(row);
  if (input.code == Code::kAborted) {
    // The member has a later attempt than the database knows of: the database lost writes, or
    // another daemon leads.
    StepResult result = To(row, DispatchState::kQuarantined, Action::kNone, Effect::kWaiting,
                           input.detail + "; it is quarantined");
    result.row.detail = input.detail;
    return result;
  }
  if (MayBeMended(input.code)) {
    return To(row, DispatchState::kIntent, Action::kEnsureLater, Effect::kWaiting, input.detail);
  }
  // A foreign object has the name. It must survive, so nothing is removed.
  const bool conflict = input.code == Code::kAlreadyExists;
  StepResult result = To(row, conflict ? DispatchState::kConflict : DispatchState::kGone,
                         Action::kNone, Effect::kRefused, input.detail);
  result.row.detail = input.detail;
  return result;
}

// The state of a row whose object exists and has no running pod yet.
DispatchState Waits(DispatchState state) {
  return state == DispatchState::kIntent || state == DispatchState::kUnknown
             ? DispatchState::kCreated
             : state;
}

// The object has ended with a result.
StepResult Ended(const DispatchRow& row, const Observation& seen, Effect effect) {
  return To(row, DispatchState::kTerminal, seen.held ? Action::kAcknowledge : Action::kNone, effect,
            seen.message);
}

// What the object's phase means for a live row.
StepResult ApplyPhase(const DispatchRow& row, const Observation& seen) {
  const bool fresh = row.state != DispatchState::kRunning && row.state != DispatchState::kFinishing;
  switch (seen.phase) {
    case RemotePhase::kSuspended:
      // Only an object that was never released is released now. A later suspension is the decision
      // of somebody on the member.
      if (row.state == DispatchState::kIntent && !seen.deleting)
        return To(row, DispatchState::kReleasing, Action::kRelease);
      if (row.state == DispatchState::kReleasing) return Stay(row);
      return To(row, Waits(row.state), Action::kNone, Effect::kProgress);
    case RemotePhase::kPending:
      // It has been released: from here on its pods may run, and a release is not repeated.
      return To(row,
                row.state == DispatchState::kReleasing ? DispatchState::kCreated : Waits(row.state),
                Action::kNone, Effect::kProgress);
    case RemotePhase::kRunning:
      return To(row, DispatchState::kRunning, Action::kNone,
                fresh ? Effect::kStarted : Effect::kProgress);
    case RemotePhase::kSucceeded:
      return Ended(row, seen, Effect::kSucceeded);
    case RemotePhase::kFailed:
      return Ended(row, seen, Effect::kFailed);
    case RemotePhase::kMissing:
      if (row.state == DispatchState::kIntent) return Stay(row);
      return To(row, row.state, Action::kConfirm);
  }
  return Stay(row);
}

// True if pods of the object run or may come to run.
bool MayRun(RemotePhase phase) {
  return phase == RemotePhase::kSuspended || phase == RemotePhase::kPending ||
         phase == RemotePhase::kRunning;
}

// An observation of an attempt that is over for Muster.
StepResult SeenAfterwards(const DispatchRow& row, const Observation& seen) {
  if (MUSTER_PLANTED(ended_attempt_taken_up) && row.state == DispatchState::kTerminal &&
      seen.phase == RemotePhase::kRunning)
    return To(row, DispatchState::kRunning, Action::kNone, Effect::kStarted);
  if (row.state == DispatchState::kLost && MayRun(seen.phase)) {
    // The object came back after its attempt was declared lost: it is removed.
    return To(row, DispatchState::kCleaning, Action::kRemove);
  }
  const bool over =
      row.state == DispatchState::kTerminal || (row.state == DispatchState::kLost && seen.deleting);
  // An object whose uid is not on record is not let go here; the engine has it removed.
  if (!over || !seen.held || row.remote_uid.empty()) return Stay(row);
  return To(row, row.state, Action::kAcknowledge);
}

// An observation counts only if the object is the row's (IsOurs) and the member is the same cluster
// as before (incarnation).
StepResult Apply(const DispatchRow& row, const Observed& input) {
  const Observation& seen = input.observation;
  const bool live = row.state == DispatchState::kIntent || IsRunningOn(row.state);
  const bool recreated =
      !row.incarnation.empty() && !seen.incarnation.empty() && row.incarnation != seen.incarnation;
  if (live && recreated) return Apply(row, ClusterRecreated{seen.incarnation});
  if (recreated || !IsOurs(row, seen)) {
    StepResult result = Stay(row);
    if (row.state != DispatchState::kGone && seen.phase != RemotePhase::kMissing)
      result.effect = Effect::kForeign;
    return result;
  }
  if (!live) return SeenAfterwards(row, seen);
  StepResult result = ApplyPhase(row, seen);
  if (row.state == DispatchState::kUnknown && result.row.state != DispatchState::kUnknown &&
      result.row.state != DispatchState::kLost) {
    // In Unknown, detail said since when the member was away.
    result.row.detail.clear();
  }
  if (seen.phase != RemotePhase::kMissing) {
    if (result.row.remote_uid.empty()) result.row.remote_uid = seen.remote_uid;
    if (result.row.incarnation.empty()) result.row.incarnation = seen.incarnation;
  }
  if (seen.deleting && MayRun(seen.phase)) {
    // Somebody deletes the object on the member: it is let go, and its absence ends the attempt.
    result.row.detail = kDeletedOnMember;
    result.action = seen.held ? Action::kAcknowledge : Action::kNone;
  }
  return result;
}

StepResult Apply(const DispatchRow& row, const RevokeRequested& input) {
  if (row.state == DispatchState::kConflict) {
    return To(row, DispatchState::kGone, Action::kNone, Effect::kStopped);
  }
  // A removal under way is not changed. A caller that wants the object gone too sends
  // CleanRequested when it has stopped.
  if (row.state != DispatchState::kIntent && row.state != DispatchState::kQuarantined &&
      !IsRunningOn(row.state)) {
    return Stay(row);
  }
  if (MUSTER_PLANTED(revoked_taken_for_stopped))
    return To(row, DispatchState::kGone, Action::kRemove, Effect::kStopped);
  StepResult result = To(row, DispatchState::kRevoking,
                         input.keep_logs ? Action::kRemoveKeepLogs : Action::kRemove);
  result.row.detail = input.keep_logs ? kKeepLogs : kRemoveObject;
  return result;
}

StepResult Apply(const DispatchRow& row, const RemoveSucceeded&) {
  if (row.state == DispatchState::kRevoking) {
    return To(row, KeepsLogs(row) ? DispatchState::kTerminal : DispatchState::kGone, Action::kNone,
              Effect::kStopped);
  }
  if (row.state == DispatchState::kCleaning || row.state == DispatchState::kLost)
    return To(row, DispatchState::kGone);
  return Stay(row);
}

// A removal that finds nothing has succeeded; any other failure is tried again.
StepResult Apply(const DispatchRow& row, const RemoveFailed& input) {
  if (input.code == Code::kNotFound || MUSTER_PLANTED(failed_removal_taken_for_done))
    return Apply(row, RemoveSucceeded{});
  if (row.state != DispatchState::kRevoking && row.state != DispatchState::kCleaning)
    return Stay(row);
  return To(row, row.state, Action::kRemoveLater, Effect::kWaiting, input.detail);
}

StepResult Apply(const DispatchRow& row, const MissingFromList&) {
  if (!IsMissed(row.state)) return Stay(row);
  if (MUSTER_PLANTED(absence_taken_for_loss)) return Lose(row, "it is missing from a list");
  return To(row, row.state, Action::kConfirm);
}

StepResult Apply(const DispatchRow& row, const ProvenGone& input) {
  // Nothing of a lost attempt is left, so its name is free.
  if (row.state == DispatchState::kLost) return To(row, DispatchState::kGone);
  if (!IsRunningOn(row.state)) return Stay(row);
  std::string message = IsDeletedThere(row)
                            ? "deleted on member cluster " + row.key.cluster
                            : "member cluster " + row.key.cluster + " no longer has it";
  if (!input.note.empty()) message += "; " + input.note;
  return Lose(row, std::move(message));
}

StepResult Apply(const DispatchRow& row, const ConfirmFailed& input) {
  if (!IsMissed(row.state)) return Stay(row);
  if (MUSTER_PLANTED(no_answer_taken_for_gone)) return Apply(row, ProvenGone{});
  return To(row, row.state, Action::kConfirm, Effect::kWaiting, input.detail);
}

StepResult Apply(const DispatchRow& row, const ClusterRecreated& input) {
  if (row.incarnation.empty() || row.incarnation == input.incarnation) return Stay(row);
  if (row.state == DispatchState::kLost) return To(row, DispatchState::kGone);
  // A removal under way proves the absence by itself.
  if (!IsRunningOn(row.state)) return Stay(row);
  return Lose(row, "member cluster " + row.key.cluster + " was created anew", Effect::kRecreated);
}

// An attempt in Intent or Releasing stays there: its call is repeated until the member answers.
StepResult Apply(const DispatchRow& row, const MemberAway& input) {
  switch (row.state) {
    case DispatchState::kCreated:
    case DispatchState::kRunning:
    case DispatchState::kFinishing: {
      StepResult result = To(row, DispatchState::kUnknown, Action::kNone, Effect::kWaiting,
                             "has not answered since " + input.since);
      result.row.detail = input.since;
      return result;
    }
    default:
      return Stay(row);
  }
}

StepResult Apply(const DispatchRow& row, const GivenUp& input) {
  const bool asked = row.state == DispatchState::kIntent || row.state == DispatchState::kReleasing;
  if (!asked && row.state != DispatchState::kRevoking && !IsRunningOn(row.state)) return Stay(row);
  // In the dispatcher a Remove takes the place of a create or release that has not begun.
  StepResult result = To(row, DispatchState::kLost, asked ? Action::kRemove : Action::kNone,
                         Effect::kGivenUp, input.why);
  result.row.detail = input.why;
  return result;
}

// The result stands; the object that runs again is removed.
StepResult Apply(const DispatchRow& row, const Resurrected&) {
  if (row.state != DispatchState::kTerminal) return Stay(row);
  return To(row, DispatchState::kCleaning, Action::kRemove);
}

StepResult Apply(const DispatchRow& row, const QuarantineReleased&) {
  if (row.state != DispatchState::kQuarantined) return Stay(row);
  StepResult result = To(row, DispatchState::kIntent, Action::kEnsure);
  result.row.detail.clear();
  return result;
}

// The member removes what is left of the ended attempt before it creates the later one.
StepResult Apply(const DispatchRow& row, const Superseded&) {
  return IsLive(row.state) ? Stay(row) : To(row, DispatchState::kGone);
}

// A live attempt is revoked without its logs.
StepResult Apply(const DispatchRow& row, const CleanRequested&) {
  switch (row.state) {
    case DispatchState::kTerminal:
    case DispatchState::kLost:
      return To(row, DispatchState::kCleaning, Action::kRemove);
    case DispatchState::kConflict:
      return To(row, DispatchState::kGone);
    default:
      return Apply(row, RevokeRequested{.keep_logs = false});
  }
}

// After a restart each row repeats the action that its state stands for; all actions are
// idempotent.
StepResult Apply(const DispatchRow& row, const Recovered&) {
  switch (row.state) {
    case DispatchState::kIntent:
      return To(row, row.state,
                MUSTER_PLANTED(intent_not_redriven) ? Action::kNone : Action::kEnsure);
    case DispatchState::kReleasing:
      return To(row, row.state, Action::kRelease);
    case DispatchState::kRevoking:
      if (MUSTER_PLANTED(removal_not_redriven)) return Stay(row);
      return To(row, row.state, KeepsLogs(row) ? Action::kRemoveKeepLogs : Action::kRemove);
    case DispatchState::kCleaning:
      return To(row, row.state, Action::kRemove);
    default:
      return IsRunningOn(row.state) ? To(row, row.state, Action::kList) : Stay(row);
  }
}

}  // namespace

bool MayBeMended(Code code) {
  switch (code) {
    case Code::kUnknown:
    case Code::kCancelled:
    case Code::kDeadlineExceeded:
    case Code::kResourceExhausted:
    case Code::kAborted:
    case Code::kInternal:
    case Code::kUnavailable:
    case Code::kUnauthenticated:
      return true;
    default:
      return false;
  }
}

bool HasOurMarks(const Observation& seen) {
  return seen.object == RemoteObject{} || (seen.held && seen.sequence > 0);
}

bool IsOurs(const DispatchRow& row, const Observation& seen) {
  if (!row.remote_uid.empty()) return seen.remote_uid.empty() || row.remote_uid == seen.remote_uid;
  if (seen.object == RemoteObject{}) return true;
  return HasOurMarks(seen) && seen.object.kind == row.object_kind && seen.object.ns == row.ns &&
         seen.object.name == row.name;
}

bool IsRunningOn(DispatchState state) {
  switch (state) {
    case DispatchState::kCreated:
    case DispatchState::kReleasing:
    case DispatchState::kRunning:
    case DispatchState::kFinishing:
    case DispatchState::kUnknown:
      return true;
    default:
      return false;
  }
}

bool IsMissed(DispatchState state) { return state == DispatchState::kLost || IsRunningOn(state); }

bool IsDeletedThere(const DispatchRow& row) { return row.detail == kDeletedOnMember; }

bool KeepsLogs(const DispatchRow& row) {
  return row.state == DispatchState::kRevoking && row.detail != kRemoveObject;
}

StepResult Step(const DispatchRow& row, const StepInput& input) {
  return std::visit([&row](const auto& one) { return Apply(row, one); }, input);
}

}  // namespace muster::dispatch
