#include "schedd/dispatch/step/step.h"

#include <utility>

namespace muster::dispatch {
namespace {

// Value of DispatchRow::detail of a Revoking row whose object must go altogether.
constexpr const char* kRemoveObject = "remove";
constexpr const char* kKeepLogs = "keep logs";
// Of a live row: why its object is about to be missing.
constexpr const char* kDeletedOnMember = "deleted on the member";

// States in which the member may be running the attempt and nothing was asked to end it.
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

StepResult Apply(const DispatchRow& row, const ClusterRecreated& input);

StepResult Stay(const DispatchRow& row) { return {row, Action::kNone, Effect::kNone, ""}; }

StepResult To(const DispatchRow& row, DispatchState state, Action action = Action::kNone,
              Effect effect = Effect::kNone, std::string message = "") {
  StepResult result{row, action, effect, std::move(message)};
  result.row.state = state;
  return result;
}

StepResult Lose(const DispatchRow& row, std::string message, Effect effect = Effect::kLost) {
  StepResult result = To(row, DispatchState::kLost, Action::kNone, effect, std::move(message));
  result.row.detail = result.message;
  return result;
}

StepResult Apply(const DispatchRow& row, const EnsureSucceeded& input) {
  if (row.state != DispatchState::kIntent) return Stay(row);
  StepResult result = input.suspended ? To(row, DispatchState::kReleasing, Action::kRelease)
                                      : To(row, DispatchState::kCreated);
  result.row.remote_uid = input.remote_uid;
  result.row.incarnation = input.incarnation;
  result.row.detail.clear();
  return result;
}

StepResult ReleaseFailed(const DispatchRow& row, const EnsureFailed& input) {
  // An earlier try may have let it run.
  if (input.code == Code::kNotFound) return To(row, row.state, Action::kConfirm);
  if (MayBeMended(input.code)) {
    return To(row, DispatchState::kReleasing, Action::kRelease, Effect::kWaiting, input.detail);
  }
  // Never released, so nothing of it ran: the job may end before its object is gone.
  StepResult result =
      To(row, DispatchState::kCleaning, Action::kRemove, Effect::kRefused, input.detail);
  result.row.detail = input.detail;
  return result;
}

StepResult Apply(const DispatchRow& row, const EnsureFailed& input) {
  if (row.state == DispatchState::kReleasing) return ReleaseFailed(row, input);
  if (row.state != DispatchState::kIntent) return Stay(row);
  if (input.code == Code::kAborted) {
    // A later attempt exists than the database knows of: it lost writes, or somebody else leads.
    StepResult result = To(row, DispatchState::kQuarantined, Action::kNone, Effect::kWaiting,
                           input.detail + "; it is quarantined");
    result.row.detail = input.detail;
    return result;
  }
  if (MayBeMended(input.code)) {
    return To(row, DispatchState::kIntent, Action::kEnsureLater, Effect::kWaiting, input.detail);
  }
  // A foreign object has the name: it must survive, so there is nothing to remove.
  const bool conflict = input.code == Code::kAlreadyExists;
  StepResult result = To(row, conflict ? DispatchState::kConflict : DispatchState::kGone,
                         Action::kNone, Effect::kRefused, input.detail);
  result.row.detail = input.detail;
  return result;
}

// Where a row is whose object was seen before any of its pods ran.
DispatchState Waits(DispatchState state) {
  return state == DispatchState::kIntent || state == DispatchState::kUnknown
             ? DispatchState::kCreated
             : state;
}

StepResult Ended(const DispatchRow& row, const Observation& seen, Effect effect) {
  return To(row, DispatchState::kTerminal, seen.held ? Action::kAcknowledge : Action::kNone, effect,
            seen.message);
}

StepResult ApplyPhase(const DispatchRow& row, const Observation& seen) {
  const bool fresh = row.state != DispatchState::kRunning && row.state != DispatchState::kFinishing;
  switch (seen.phase) {
    case RemotePhase::kSuspended:
      // Only what was never let run is released; a later suspension is somebody's decision.
      if (row.state == DispatchState::kIntent && !seen.deleting)
        return To(row, DispatchState::kReleasing, Action::kRelease);
      if (row.state == DispatchState::kReleasing) return Stay(row);
      return To(row, Waits(row.state), Action::kNone, Effect::kProgress);
    case RemotePhase::kPending:
      return To(row, Waits(row.state), Action::kNone, Effect::kProgress);
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

bool MayRun(RemotePhase phase) {
  return phase == RemotePhase::kSuspended || phase == RemotePhase::kPending ||
         phase == RemotePhase::kRunning;
}

// Of a row whose attempt is over for Muster.
StepResult SeenAfterwards(const DispatchRow& row, const Observation& seen) {
  if (row.state == DispatchState::kLost && MayRun(seen.phase)) {
    // It came back after its job was told lost: fence it.
    return To(row, DispatchState::kCleaning, Action::kRemove);
  }
  const bool over =
      row.state == DispatchState::kTerminal || (row.state == DispatchState::kLost && seen.deleting);
  // What was made of an attempt that has none on record is not let go of but removed.
  if (!over || !seen.held || row.remote_uid.empty()) return Stay(row);
  return To(row, row.state, Action::kAcknowledge);
}

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
    result.row.detail.clear();  // it said since when the member was away
  }
  if (seen.phase != RemotePhase::kMissing) {
    if (result.row.remote_uid.empty()) result.row.remote_uid = seen.remote_uid;
    if (result.row.incarnation.empty()) result.row.incarnation = seen.incarnation;
  }
  if (seen.deleting && MayRun(seen.phase)) {
    // Somebody deletes it there: it is let go, and its absence will end the attempt.
    result.row.detail = kDeletedOnMember;
    result.action = seen.held ? Action::kAcknowledge : Action::kNone;
  }
  return result;
}

StepResult Apply(const DispatchRow& row, const RevokeRequested& input) {
  if (row.state == DispatchState::kConflict) {
    return To(row, DispatchState::kGone, Action::kNone, Effect::kStopped);
  }
  // A removal under way is not changed: whoever wants the object gone too asks to clean when it has
  // stopped.
  if (row.state != DispatchState::kIntent && row.state != DispatchState::kQuarantined &&
      !IsRunningOn(row.state)) {
    return Stay(row);
  }
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

StepResult Apply(const DispatchRow& row, const RemoveFailed& input) {
  if (input.code == Code::kNotFound) return Apply(row, RemoveSucceeded{});
  if (row.state != DispatchState::kRevoking && row.state != DispatchState::kCleaning)
    return Stay(row);
  return To(row, row.state, Action::kRemoveLater, Effect::kWaiting, input.detail);
}

StepResult Apply(const DispatchRow& row, const MissingFromList&) {
  if (!IsMissed(row.state)) return Stay(row);
  return To(row, row.state, Action::kConfirm);
}

StepResult Apply(const DispatchRow& row, const ProvenGone& input) {
  // Nothing of a lost attempt is left: its name is free.
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
  return To(row, row.state, Action::kConfirm, Effect::kWaiting, input.detail);
}

StepResult Apply(const DispatchRow& row, const ClusterRecreated& input) {
  if (row.incarnation.empty() || row.incarnation == input.incarnation) return Stay(row);
  if (row.state == DispatchState::kLost) return To(row, DispatchState::kGone);
  if (!IsRunningOn(row.state)) return Stay(row);  // a removal proves its absence by itself
  return Lose(row, "member cluster " + row.key.cluster + " was created anew", Effect::kRecreated);
}

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
  // A removal takes the place of calls that were to make it or to let it run.
  StepResult result = To(row, DispatchState::kLost, asked ? Action::kRemove : Action::kNone,
                         Effect::kGivenUp, input.why);
  result.row.detail = input.why;
  return result;
}

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

// The member removes what is left of it before it makes the later one.
StepResult Apply(const DispatchRow& row, const Superseded&) {
  return IsLive(row.state) ? Stay(row) : To(row, DispatchState::kGone);
}

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

StepResult Apply(const DispatchRow& row, const Recovered&) {
  switch (row.state) {
    case DispatchState::kIntent:
      return To(row, row.state, Action::kEnsure);
    case DispatchState::kReleasing:
      return To(row, row.state, Action::kRelease);
    case DispatchState::kRevoking:
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

bool IsMissed(DispatchState state) { return state == DispatchState::kLost || IsRunningOn(state); }

bool IsDeletedThere(const DispatchRow& row) { return row.detail == kDeletedOnMember; }

bool KeepsLogs(const DispatchRow& row) {
  return row.state == DispatchState::kRevoking && row.detail != kRemoveObject;
}

StepResult Step(const DispatchRow& row, const StepInput& input) {
  return std::visit([&row](const auto& one) { return Apply(row, one); }, input);
}

}  // namespace muster::dispatch
