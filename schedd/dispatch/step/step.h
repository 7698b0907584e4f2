// The dispatch state machine as a pure function (placement.md 4.3): a row, what happened, and the
// time give the next row and what to do. Used by the engine, which makes the row durable before any
// action leaves.
#pragma once

#include <string>
#include <variant>

#include "schedd/model/dispatch.h"

namespace muster::dispatch {

struct EnsureSucceeded {
  std::string remote_uid, incarnation;
};
struct EnsureFailed {
  Code code = Code::kInternal;
  std::string detail;
};
struct Observed {
  Observation observation;
};
/// Cancel (logs stay) or requeue, eviction and delete (the object goes: the next attempt needs its
/// name).
struct RevokeRequested {
  bool keep_logs = true;
};
struct RemoveSucceeded {};
struct RemoveFailed {
  Code code = Code::kInternal;
  std::string detail;
};
struct MissingFromList {};  // a complete list of the same incarnation does not have it
struct CleanRequested {};   // the job's object is deleted: remove the remote one too
struct Recovered {};        // the daemon restarted and loaded this row

using StepInput =
    std::variant<EnsureSucceeded, EnsureFailed, Observed, RevokeRequested, RemoveSucceeded,
                 RemoveFailed, MissingFromList, CleanRequested, Recovered>;

enum class Action : std::uint8_t {
  kNone,
  kEnsure,          // create it, running, or adopt it
  kEnsureLater,     // the same after a back-off
  kRelease,         // let an object that exists suspended run
  kRemove,          // stop it and remove the object
  kRemoveLater,     // remove as before, after a back-off
  kRemoveKeepLogs,  // stop it; the object and its logs stay
  kList,            // ask the member what it has
};

/// What the step means for the attempt's job.
enum class Effect : std::uint8_t {
  kNone,
  kStarted,   // pods run
  kProgress,  // counts changed
  kSucceeded,
  kFailed,
  kStopped,  // revoked and proven gone: quota may go, the next attempt may come
  kRefused,  // the member will never run it (conflict, invalid there)
  kLost,
};

struct StepResult {
  DispatchRow row;  // unchanged if the input means nothing in this state
  Action action = Action::kNone;
  Effect effect = Effect::kNone;
  std::string message;
};

/// True while a removal is under way that keeps the logs.
bool KeepsLogs(const DispatchRow& row);

/// False for a failure that is a member's last word: another try would end as this one.
bool MayBeMended(Code code);

/// Terminal and Gone rows absorb late observations. Absence is never a reason to create: only
/// Intent is, and only because a decision is durable there. A live row ends as Gone only after a
/// proven removal (or a refusal, which proves that nothing was made); a missing object makes it
/// Lost.
StepResult Step(const DispatchRow& row, const StepInput& input);

}  // namespace muster::dispatch
