// The dispatch state machine as a pure function (rules D4 to D18): a row and an input give the next
// row, an action, and what it means for the job. Used by the engine, which makes the row durable
// before any action leaves.
#pragma once

#include <string>
#include <variant>

#include "schedd/model/dispatch.h"

namespace muster::dispatch {

struct EnsureSucceeded {
  std::string remote_uid, incarnation;
  /// The object exists and waits for its release.
  bool suspended = false;
};
struct EnsureFailed {
  Code code = Code::kInternal;
  std::string detail;
};
struct Observed {
  Observation observation;
};
/// The attempt should end: by cancel (the object and its logs stay) or by requeue, eviction or
/// delete (the object is removed, because the next attempt needs its name).
struct RevokeRequested {
  bool keep_logs = true;
};
struct RemoveSucceeded {};
struct RemoveFailed {
  Code code = Code::kInternal;
  std::string detail;
};
/// A complete list of the member does not have the object.
struct MissingFromList {};
/// The answer to kConfirm: the object is gone, and no pod of it runs. `note`: what it had left
/// behind.
struct ProvenGone {
  std::string note;
};
/// It is not known yet whether the object is gone, or pods of it still run.
struct ConfirmFailed {
  std::string detail;
};
/// Under the member's name there is another cluster than before.
struct ClusterRecreated {
  std::string incarnation;
};
/// The member has not answered for a while.
struct MemberAway {
  std::string since;  // RFC 3339
};
/// The attempt is not waited for any more, whatever it does on a member that does not answer.
struct GivenUp {
  std::string why;
};
/// An ended attempt runs again: the member's own store was set back.
struct Resurrected {};
/// An administrator has looked at the objects that are ahead of the database.
struct QuarantineReleased {};
/// A later attempt takes over the name of one that is over.
struct Superseded {};
/// The job's object is deleted: the remote one is removed too.
struct CleanRequested {};
/// The daemon restarted and loaded this row.
struct Recovered {};

using StepInput = std::variant<EnsureSucceeded, EnsureFailed, Observed, RevokeRequested,
                               RemoveSucceeded, RemoveFailed, MissingFromList, ProvenGone,
                               ConfirmFailed, ClusterRecreated, MemberAway, GivenUp, Resurrected,
                               QuarantineReleased, Superseded, CleanRequested, Recovered>;

enum class Action : std::uint8_t {
  kNone,
  kEnsure,          // create the object, or adopt it
  kEnsureLater,     // the same after a back-off
  kRelease,         // let the object that exists suspended run, and only that one
  kRemove,          // stop the attempt and remove the object
  kRemoveLater,     // remove as before, after a back-off
  kRemoveKeepLogs,  // stop the attempt; the object and its logs stay
  kConfirm,         // ask for the object by name and uid: is it gone?
  kAcknowledge,     // the result is recorded: the member may let the object go
  kList,            // list all objects of the member
};

/// What the step means for the attempt's job.
enum class Effect : std::uint8_t {
  kNone,
  kStarted,   // pods run
  kProgress,  // counts changed
  kSucceeded,
  kFailed,
  kStopped,  // revoked and proven gone: quota may be released, the next attempt may come
  kRefused,  // the member will never run it (conflict, invalid there)
  kLost,
  kRecreated,  // lost with the whole cluster: no pod of it can run
  kGivenUp,    // written off; pods of it may run
  kWaiting,    // the attempt cannot go on now: the message says why
  kForeign,    // the observed object carries its labels and is another one
};

struct StepResult {
  DispatchRow row;  // unchanged if the input means nothing in this state
  Action action = Action::kNone;
  Effect effect = Effect::kNone;
  std::string message;
};

/// True for a live row whose object somebody deletes on the member: it is not released any more.
bool IsDeletedThere(const DispatchRow& row);

/// True in states in which a missing object is asked for (kConfirm).
bool IsMissed(DispatchState state);
/// True in states in which the member may run the attempt and nothing was asked to end it.
bool IsRunningOn(DispatchState state);

/// True while a removal is under way that keeps the logs.
bool KeepsLogs(const DispatchRow& row);

/// False for a failure that is final: another try would fail in the same way.
bool MayBeMended(Code code);

/// True if an object whose labels name the row's attempt may be the row's own. With a uid on
/// record: if it has that uid. Without: if it is under the row's kind, namespace and name and has
/// the marks of an object that Muster made.
bool IsOurs(const DispatchRow& row, const Observation& seen);
/// True if the object has the marks that Muster makes beside labels: its finalizer and a dispatch
/// sequence. Anybody may copy labels. Reports of a member without addressable objects count as its
/// own.
bool HasOurMarks(const Observation& seen);

/// Terminal and Gone rows absorb late observations; the end of a Terminal row is acknowledged again
/// as long as its object is held. Absence is never a reason to create: only Intent is, and only
/// because a decision is durable there. Only an object whose uid is in the row is released. A live
/// row ends as Gone only after a proven removal (or a refusal, which proves that nothing was
/// created). An object that is missing from reports or a list may only have lost its labels: it is
/// asked for by name and uid, and the row is Lost when it is proven gone.
StepResult Step(const DispatchRow& row, const StepInput& input);

}  // namespace muster::dispatch
