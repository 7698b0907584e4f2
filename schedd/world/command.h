// Command: everything that can be asked of the engine; a closed variant, without a side door.
// Callbacks run on the engine thread after the commit and after the change is visible in View();
// they must be quick and must not block.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "backends/backend.h"
#include "schedd/store/store.h"
#include "schedd/world/object_change.h"
#include "schedd/world/world_view.h"

namespace muster {

/// Who asked, for the audit trail.
struct Actor {
  std::string user, method;  // method: "loopback", later "jwt", "mtls"
};

/// A validated submission; the engine gives it id, event number and times, and to one without a
/// name (a batch script) the name `job-<id>`, which its manifest does not carry.
struct Submission {
  std::shared_ptr<JobRecord> draft;  // all but id, accept_seq, resource_version, submit_time, state
  std::string manifest;
  std::optional<IdempotencyKey> idempotency;
  std::int64_t config_version = 0;  // of the configuration that its draft was made by
  /// Tasks of one array share the id of the first submission of the command when set.
  bool array_task = false;
};
struct Submitted {
  JobPtr job;
  bool replayed = false;
};

struct SubmitCommand {
  Actor actor;
  std::vector<Submission> jobs;
  Callback<std::vector<Result<Submitted>>> done;
};

enum class JobVerb : std::uint8_t { kCancel, kHold, kRelease, kRequeue, kDelete };

/// kDelete cancels what runs and ends the object (frees its name) once it has ended.
struct JobCommand {
  Actor actor;
  JobVerb verb = JobVerb::kCancel;
  JobId id;
  Callback<JobPtr> done;  // kNotFound; kFailedPrecondition if its state does not allow it
};

/// All or none. Fields of the error name the change's index as `documents[i]`.
struct ApplyCommand {
  Actor actor;
  std::vector<ObjectChange> changes;
  bool dry_run = false;
  Callback<std::vector<ObjectApplied>> done;
};

/// What an edit of a queue would do at once, and once its victims are gone: for `quota set
/// --dry-run`.
struct EditEffect {
  std::vector<JobPtr> would_admit;
  std::vector<JobPtr> would_preempt;  // the victims of what cannot be admitted otherwise
};
/// Decides on the world as it would be after `changes`, and changes nothing.
struct PreviewCommand {
  std::vector<ObjectChange> changes;
  Callback<EditEffect> done;
};

struct ObservedCommand {
  Observation observation;
};
struct FactsCommand {
  ClusterFacts facts;
};
/// Outcome of Backend::Ensure.
struct EnsuredCommand {
  DispatchKey key;
  Result<RemoteRef> outcome;
};
/// Outcome of Backend::Remove.
struct RemovedCommand {
  DispatchKey key;
  Result<Removed> outcome;
};
/// Outcome of Backend::Confirm.
struct ConfirmedCommand {
  DispatchKey key;
  std::string uid;  // that was asked for
  Result<Presence> outcome;
};
/// A complete list of one cluster: what is live in the database and missing here is asked for.
struct ListedCommand {
  std::string cluster;
  std::vector<Observation> observations;
  /// Attempts whose Ensure was under way while the list was taken: their absence proves nothing.
  std::vector<DispatchKey> unsure;
};
/// Member clusters declared by flags at start; put like any object.
struct CordonCommand {
  Actor actor;
  std::string cluster;
  bool cordon = true;
  Callback<ObjectPtr> done;
};

/// How far a member is drained: its jobs that hold quota.
struct DrainProgress {
  std::size_t evicting = 0;          // on their way out
  std::size_t blocked = 0;           // kept by a disruption budget for now
  std::size_t waiting = 0;           // their end, or their member's answer, is waited for
  std::vector<std::string> reasons;  // of the first of those that stay
};

/// Cordons a member and sends its jobs elsewhere, as fast as disruption budgets allow, until it is
/// uncordoned. Jobs that may not be requeued are waited for unless it is forced. Asked again, it
/// answers with what is left.
struct DrainCommand {
  Actor actor;
  std::string cluster;
  bool force = false;
  Callback<DrainProgress> done;
};

/// Nothing runs any more on a member that does not answer: an administrator has seen to it. Its
/// attempts are given up where their queue's policy waits for that (rule D16).
/// kFailedPrecondition while the member answers; answers with how many attempts were given up.
struct FenceCommand {
  Actor actor;
  std::string cluster;
  Callback<std::size_t> done;
  bool whatever_policy = false;  // also what its queue would wait for: the member is to go
};

/// Lets the collection of orphans on a member go on after objects were found there that are ahead
/// of the database; they are removed like any orphan. Answers with how many objects that concerns.
struct CollectCommand {
  Actor actor;
  std::string cluster;
  Callback<std::size_t> done;
};

/// What a new manifest under the name of a job changes of it; absent fields stay. kAborted for a
/// stale version; kFailedPrecondition or kInvalidArgument, with a sentence, for what may not
/// change.
struct ReplaceJobCommand {
  Actor actor;
  JobId job;
  /// Of an elastic job: a smaller size takes effect at once, a larger one when it has quota
  /// (KEP-77).
  std::optional<JobSize> size;
  JobSize submitted;  // as its manifest had it; counts until the size is changed first
  /// The gates that are left; "": none keeps it out of its queue any more (KEP-6915).
  std::optional<std::string> admission_gated_by;
  std::int64_t expected_resource_version = 0;  // 0: any
  bool dry_run = false;                        // whether it would be taken; changes nothing
  Callback<JobPtr> done;
};

/// What the controllers of admission checks say of one job: status.admissionChecks[] (rule
/// A49); all or none. Of each: name, state, message, requeue_after_s (of kRetry: not tried again
/// before) and updates (what its pods get when it starts). Refused with kFailedPrecondition unless
/// the job holds quota and waits for these checks.
struct SetCheckStatusCommand {
  Actor actor;
  JobId job;
  std::vector<AdmissionCheckStatus> checks;
  std::int64_t expected_resource_version = 0;  // 0: any; otherwise kAborted if stale
  Callback<JobPtr> done;
};

/// The condition Active of an AdmissionCheck object, which its controller writes.
struct SetCheckActiveCommand {
  Actor actor;
  std::string check;
  bool active = false;
  std::string reason, message;
  std::int64_t expected_resource_version = 0;  // 0: any; otherwise kAborted if stale
  Callback<ObjectPtr> done;                    // the object with its status; kNotFound
};

/// Changes of a job's spec after its submission; absent fields stay. kFailedPrecondition once it
/// has ended, kInvalidArgument naming the field for what does not exist.
struct ChangeJobCommand {
  Actor actor;
  JobId job;
  std::optional<bool> active;                 // false: evicted and not tried; true: tried again
  std::optional<std::string> priority_class;  // a WorkloadPriorityClass; sets the priority too
  std::optional<std::int32_t> priority_boost;
  std::optional<std::vector<ReclaimablePods>> reclaimable;  // never fewer than before, by pod set
  std::int64_t expected_resource_version = 0;               // 0: any; otherwise kAborted if stale
  Callback<JobPtr> done;
};

/// Rows of configuration objects on members, as they are to be from now on. Their one author is
/// schedd/propagation; nothing is decided here.
struct RecordWorksCommand {
  std::vector<WorkPtr> works;
  std::vector<WorkKey> ended_works;
  std::vector<SnapshotPtr> snapshots;
  std::vector<SnapshotKey> ended_snapshots;
  Callback<Done> done;
};

/// Members that are asked to admit a job of a queue with a dispatch mode, in order; they replace
/// those that were asked. kFailedPrecondition unless it holds quota and waits for them.
struct NominateCommand {
  Actor actor;
  JobId job;
  std::int32_t attempt = 0;  // it is for; -1: whichever
  std::vector<std::string> clusters;
  Callback<JobPtr> done;
};

/// One of them has admitted it: the job goes there. kFailedPrecondition if it is not waited for.
struct ChooseMemberCommand {
  JobId job;
  std::int32_t attempt = 0;
  std::string cluster;
  Callback<JobPtr> done;
};

using Command =
    std::variant<SubmitCommand, JobCommand, ApplyCommand, PreviewCommand, ObservedCommand,
                 FactsCommand, EnsuredCommand, RemovedCommand, ConfirmedCommand, ListedCommand,
                 CordonCommand, DrainCommand, FenceCommand, CollectCommand, ReplaceJobCommand,
                 SetCheckStatusCommand, SetCheckActiveCommand, ChangeJobCommand, RecordWorksCommand,
                 NominateCommand, ChooseMemberCommand>;

}  // namespace muster
