#include "schedd/dispatch/step/step.h"

#include <utility>

namespace muster::dispatch {
namespace {

// Value of DispatchRow::detail of a Revoking row whose object must go altogether.
constexpr const char* kRemoveObject = "remove";
constexpr const char* kKeepLogs = "keep logs";

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

StepResult Stay(const DispatchRow& row) { return {row, Action::kNone, Effect::kNone, ""}; }

StepResult To(const DispatchRow& row, DispatchState state, Action action = Action::kNone,
              Effect effect = Effect::kNone, std::string message = "") {
  StepResult result{row, action, effect, std::move(message)};
  result.row.state = state;
  return result;
}

StepResult Apply(const DispatchRow& row, const EnsureSucceeded& input) {
  if (row.state == DispatchState::kIntent) {
    StepResult result = To(row, DispatchState::kCreated);
    result.row.remote_uid = input.remote_uid;
    result.row.incarnation = input.incarnation;
    result.row.detail.clear();
    return result;
  }
  return Stay(row);
}

StepResult Apply(const DispatchRow& row, const EnsureFailed& input) {
  if (row.state == DispatchState::kReleasing && MayBeMended(input.code)) {
    return To(row, DispatchState::kReleasing, Action::kRelease);
  }
  if (row.state != DispatchState::kIntent) return Stay(row);
  if (MayBeMended(input.code)) {
    StepResult result = To(row, DispatchState::kIntent, Action::kEnsureLater);
    result.message = input.detail;
    return result;
  }
  // A foreign object has the name: it must survive, so there is nothing to remove.
  const bool conflict = input.code == Code::kAlreadyExists;
  StepResult result = To(row, conflict ? DispatchState::kConflict : DispatchState::kGone,
                         Action::kNone, Effect::kRefused, input.detail);
  result.row.detail = input.detail;
  return result;
}

StepResult ApplyPhase(const DispatchRow& row, const Observation& seen) {
  const bool fresh = row.state != DispatchState::kRunning && row.state != DispatchState::kFinishing;
  switch (seen.phase) {
    case RemotePhase::kSuspended:
      // Only an object that was never let run is released; a later suspension is somebody's
      // decision.
      if (row.state == DispatchState::kCreated || row.state == DispatchState::kIntent) {
        return To(row, DispatchState::kReleasing, Action::kRelease);
      }
      return Stay(row);
    case RemotePhase::kPending:
      return To(row, row.state == DispatchState::kIntent ? DispatchState::kCreated : row.state,
                Action::kNone, Effect::kProgress);
    case RemotePhase::kRunning:
      return To(row, DispatchState::kRunning, Action::kNone,
                fresh ? Effect::kStarted : Effect::kProgress);
    case RemotePhase::kSucceeded:
      return To(row, DispatchState::kTerminal, Action::kNone, Effect::kSucceeded, seen.message);
    case RemotePhase::kFailed:
      return To(row, DispatchState::kTerminal, Action::kNone, Effect::kFailed, seen.message);
    case RemotePhase::kMissing:
      if (row.state == DispatchState::kIntent) return Stay(row);
      return To(row, DispatchState::kLost, Action::kNone, Effect::kLost, seen.message);
  }
  return Stay(row);
}

StepResult Apply(const DispatchRow& row, const Observed& input) {
  const Observation& seen = input.observation;
  if (row.state == DispatchState::kLost) {
    // It came back after its job was told lost: fence it.
    const bool may_run = seen.phase == RemotePhase::kSuspended ||
                         seen.phase == RemotePhase::kPending || seen.phase == RemotePhase::kRunning;
    return may_run ? To(row, DispatchState::kCleaning, Action::kRemove) : Stay(row);
  }
  if (row.state != DispatchState::kIntent && !IsRunningOn(row.state)) return Stay(row);
  // Another object of our name is not our attempt.
  if (!row.remote_uid.empty() && !seen.remote_uid.empty() && row.remote_uid != seen.remote_uid)
    return Stay(row);
  StepResult result = ApplyPhase(row, seen);
  if (result.row.remote_uid.empty() && seen.phase != RemotePhase::kMissing) {
    result.row.remote_uid = seen.remote_uid;
  }
  return result;
}

StepResult Apply(const DispatchRow& row, const RevokeRequested& input) {
  if (row.state == DispatchState::kConflict) {
    return To(row, DispatchState::kGone, Action::kNone, Effect::kStopped);
  }
  // A removal under way is not changed: whoever wants the object gone too asks to clean when it has
  // stopped.
  if (row.state != DispatchState::kIntent && !IsRunningOn(row.state)) return Stay(row);
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
  if (row.state == DispatchState::kCleaning) return To(row, DispatchState::kGone);
  return Stay(row);
}

StepResult Apply(const DispatchRow& row, const RemoveFailed& input) {
  if (input.code == Code::kNotFound) return Apply(row, RemoveSucceeded{});
  if (row.state != DispatchState::kRevoking && row.state != DispatchState::kCleaning)
    return Stay(row);
  return To(row, row.state, Action::kRemoveLater, Effect::kNone, input.detail);
}

StepResult Apply(const DispatchRow& row, const MissingFromList&) {
  if (!IsRunningOn(row.state)) return Stay(row);
  return To(row, DispatchState::kLost, Action::kNone, Effect::kLost,
            "member cluster " + row.key.cluster + " no longer has it");
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

bool KeepsLogs(const DispatchRow& row) {
  return row.state == DispatchState::kRevoking && row.detail != kRemoveObject;
}

StepResult Step(const DispatchRow& row, const StepInput& input) {
  return std::visit([&row](const auto& one) { return Apply(row, one); }, input);
}

}  // namespace muster::dispatch
