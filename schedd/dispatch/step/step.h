// The dispatch state machine as a pure function (rules D4 to D18): a row and what happened give
// the next row and what to do. Used by the engine, which makes the row durable before any
// action leaves.
#pragma once

#include <string>
#include <variant>

#include "schedd/model/dispatch.h"

namespace muster::dispatch {

struct EnsureSucceeded {
  std::string remote_uid, incarnation;
  bool suspended = false;  // it exists and waits for its release
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
struct MissingFromList {};  // a complete list of the member does not have it
/// Asked for by name and uid: it is gone, and nothing of it runs. `note`: what it had left behind.
struct ProvenGone {
  std::string note;
};
/// Whether it is gone is not known yet, or what it has left behind still runs.
struct ConfirmFailed {
  std::string detail;
};
/// The member is another cluster than before, under the same name.
struct ClusterRecreated {
  std::string incarnation;
};
/// The member has not answered for a while.
struct MemberAway {
  std::string since;  // RFC 3339
};
/// Whatever it does on a member that does not answer, it is not waited for any more.
struct GivenUp {
  std::string why;
};
struct Resurrected {};         // an ended attempt runs again: the member's own store was set back
struct QuarantineReleased {};  // an administrator has looked at what is ahead of the database
struct Superseded {};          // a later attempt takes over the name of one that is over
struct CleanRequested {};      // the job's object is deleted: remove the remote one too
struct Recovered {};           // the daemon restarted and loaded this row

using StepInput =
    std::variant<EnsureSucceeded, EnsureFailed, Observed, RevokeRequested, RemoveSucceeded,
                 RemoveFailed, MissingFromList, ProvenGone, ConfirmFailed, ClusterRecreated,
                 MemberAway, GivenUp, Resurrected, QuarantineReleased, Superseded, CleanRequested,
                 Recovered>;

enum class Action : std::uint8_t {
  kNone,
  kEnsure,          // create it, running, or adopt it
  kEnsureLater,     // the same after a back-off
  kRelease,         // let an object that exists suspended run, and only that one
  kRemove,          // stop it and remove the object
  kRemoveLater,     // remove as before, after a back-off
  kRemoveKeepLogs,  // stop it; the object and its logs stay
  kConfirm,         // ask for that object by name and uid: is it gone?
  kAcknowledge,     // nothing is to be learnt from the object any more: its member may let it go
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
  kRecreated,  // lost with all that its member had: no pod of it can run
  kGivenUp,    // written off; pods of it may run
  kWaiting,    // it cannot go on now: the message says why
  kForeign,    // what was seen carries its labels and is not it
};

struct StepResult {
  DispatchRow row;  // unchanged if the input means nothing in this state
  Action action = Action::kNone;
  Effect effect = Effect::kNone;
  std::string message;
};

/// True of a live row whose object somebody deletes on the member: it is not released any more.
bool IsDeletedThere(const DispatchRow& row);

/// True in states in which an object that is not seen any more is asked for (kConfirm).
bool IsMissed(DispatchState state);

/// True while a removal is under way that keeps the logs.
bool KeepsLogs(const DispatchRow& row);

/// False for a failure that is a member's last word: another try would end as this one.
bool MayBeMended(Code code);

/// True if an object whose labels name the row's attempt may be the row's: it has its uid, or the
/// row has none yet and it is under the row's name with the marks of an object that Muster made.
bool IsOurs(const DispatchRow& row, const Observation& seen);
/// True if the object has the marks that Muster makes beside labels, which anybody may copy: its
/// finalizer and a dispatch sequence. What a member without objects to address reports is its own.
bool HasOurMarks(const Observation& seen);

/// Terminal and Gone rows absorb late observations; of a Terminal one the end is acknowledged again
/// as long as its object is held. Absence is never a reason to create: only Intent is, and only
/// because a decision is durable there. Only an object whose uid is in the row is released. A live
/// row ends as Gone only after a proven removal (or a refusal, which proves that nothing was made).
/// An object that is missing from reports or a list may only have lost its labels: it is asked for,
/// and the row is Lost when it is proven gone.
StepResult Step(const DispatchRow& row, const StepInput& input);

}  // namespace muster::dispatch
