// Command: everything that can be asked of the engine, as a closed variant; there is no other way
// to change its state. Callbacks run on the engine thread after the commit and after the change is
// visible in View(); they must be quick and must not block.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "backends/backend.h"
#include "schedd/store/store.h"
#include "schedd/world/actor.h"
#include "schedd/world/job_update.h"
#include "schedd/world/job_verb.h"
#include "schedd/world/object_change.h"
#include "schedd/world/report_commands.h"
#include "schedd/world/world_view.h"

namespace muster {

/// A validated submission. The engine gives it id, event number and times. A submission without a
/// name (a batch script) gets the name `job-<id>`, which its manifest does not carry.
struct Submission {
  /// All fields but id, accept_seq, resource_version, submit_time and state.
  std::shared_ptr<JobRecord> draft;
  std::string manifest;
  std::optional<IdempotencyKey> idempotency;
  /// Of the configuration by which the draft was made.
  std::int64_t config_version = 0;
};
/// `replayed`: the job was there already, under the same idempotency key.
struct SubmittedJob {
  JobPtr job;
  bool replayed = false;
};

struct SubmitCommand {
  Actor actor;
  std::vector<Submission> jobs;
  Callback<std::vector<Result<SubmittedJob>>> done;
};

/// kDelete cancels a running job and, once it has ended, ends its object, so that the name is free.
struct JobCommand {
  Actor actor;
  JobVerb verb = JobVerb::kCancel;
  JobId id;
  /// kNotFound; kFailedPrecondition if the job's state does not allow the verb; kPermissionDenied
  /// for the release of an operator's hold by somebody else.
  Callback<JobPtr> done;
  /// kHold: only an operator releases it; kRelease: the caller is one.
  bool by_operator = false;
  /// kRequeue: it comes back held, and is marked (State=SpecialExit).
  bool hold = false, special_exit = false;
  /// If set, these tasks of array `id`, waiting or not, instead of job `id`.
  TaskRanges tasks = {};
};

/// kNotFound; kAborted for a stale version; kFailedPrecondition or kInvalidArgument, naming the
/// field, for what may not change in the job's state.
struct UpdateJobCommand {
  Actor actor;
  JobId job;
  JobUpdate update;
  /// If set, `job` is a record of waiting tasks, and these of them alone are changed.
  TaskRanges tasks = {};
  /// The names of the fields, for the audit trail.
  std::string fields;
  Callback<JobPtr> done;
};

/// All changes or none. Fields of an error name the change's index as `documents[i]`.
struct ApplyCommand {
  Actor actor;
  std::vector<ObjectChange> changes;
  bool dry_run = false;
  Callback<std::vector<AppliedObject>> done;
};

/// What an edit of a queue would do at once, and once its victims are gone: for `quota set
/// --dry-run`.
struct EditEffect {
  std::vector<JobPtr> would_admit;
  /// Victims of jobs that cannot be admitted otherwise.
  std::vector<JobPtr> would_preempt;
};
/// Decides on the world as it would be after `changes`, and changes nothing.
struct PreviewCommand {
  std::vector<ObjectChange> changes;
  Callback<EditEffect> done;
};

/// Cordons or uncordons a member: a cordoned member gets no new job.
struct CordonCommand {
  Actor actor;
  std::string cluster;
  bool cordon = true;
  Callback<ObjectPtr> done;
};

/// How far a member is drained: its jobs that hold quota.
struct DrainProgress {
  std::size_t evicting = 0;          // being evicted
  std::size_t blocked = 0;           // kept by a disruption budget for now
  std::size_t waiting = 0;           // their own end, or their member's answer, is waited for
  std::vector<std::string> reasons;  // why the first of the blocked and waiting jobs stay
};

/// Cordons a member and evicts its jobs, as fast as disruption budgets allow, until it is
/// uncordoned. Jobs that may not be requeued are waited for unless `force` is set. A repeated
/// command answers with what is left.
struct DrainCommand {
  Actor actor;
  std::string cluster;
  bool force = false;
  Callback<DrainProgress> done;
};

/// An administrator confirms that nothing runs any more on a member that does not answer. Its
/// attempts are given up where their queue's policy waits for that (rule D16). kFailedPrecondition
/// while the member answers; the answer is how many attempts were given up.
struct FenceCommand {
  Actor actor;
  std::string cluster;
  Callback<std::size_t> done;
  /// Also gives up attempts whose queue's policy would wait: the member is to be removed.
  bool whatever_policy = false;
};

/// Lets the collection of orphans on a member go on after objects ahead of the database were found
/// there; they are then removed like any orphan. The answer is how many objects that concerns.
struct CollectCommand {
  Actor actor;
  std::string cluster;
  Callback<std::size_t> done;
};

/// The changes that a new manifest under the name of a job makes; absent fields stay. kAborted for
/// a stale version; kFailedPrecondition or kInvalidArgument, with a sentence, for a field that may
/// not change.
struct ReplaceJobCommand {
  Actor actor;
  JobId job;
  /// The size of an elastic job: a smaller one takes effect at once, a larger one when it has quota
  /// (KEP-77).
  std::optional<JobSize> size;
  /// The size in the job's manifest; it counts until the size is changed first.
  JobSize submitted;
  /// The gates that are left; "": no gate keeps the job out of its queue any more (KEP-6915).
  std::optional<std::string> admission_gated_by;
  /// 0: any; otherwise kAborted if stale.
  std::int64_t expected_resource_version = 0;
  bool dry_run = false;  // only says whether the change would be accepted
  Callback<JobPtr> done;
};

/// What the controllers of admission checks say of one job: status.admissionChecks[] (rule A49);
/// all entries or none. Of each entry: name, state, message, requeue_after_s (of kRetry: the job is
/// not tried again before) and updates (what its pods get when it starts). kFailedPrecondition
/// unless the job holds quota and waits for these checks.
struct SetCheckStatusCommand {
  Actor actor;
  JobId job;
  std::vector<AdmissionCheckStatus> checks;
  std::int64_t expected_resource_version = 0;  // 0: any; otherwise kAborted if stale
  Callback<JobPtr> done;
};

/// Sets the condition Active of an AdmissionCheck object, which its controller writes.
struct SetCheckActiveCommand {
  Actor actor;
  std::string check;
  bool active = false;
  std::string reason, message;
  std::int64_t expected_resource_version = 0;  // 0: any; otherwise kAborted if stale
  /// The object with its status; kNotFound.
  Callback<ObjectPtr> done;
};

/// Changes of a job's spec after its submission; absent fields stay. kFailedPrecondition once it
/// has ended; kInvalidArgument, naming the field, for an object that does not exist.
struct ChangeJobCommand {
  Actor actor;
  JobId job;
  /// False: the job is evicted and not tried again; true: it is tried again.
  std::optional<bool> active;
  /// A WorkloadPriorityClass; it sets the priority too.
  std::optional<std::string> priority_class;
  std::optional<std::int32_t> priority_boost;
  std::optional<std::vector<ReclaimablePods>> reclaimable;  // by pod set; never fewer than before
  std::int64_t expected_resource_version = 0;               // 0: any; otherwise kAborted if stale
  Callback<JobPtr> done;
};

/// Rows of configuration objects on members, as they will be from now on. Their one author is
/// schedd/propagation; the engine only records them.
struct RecordWorksCommand {
  std::vector<WorkPtr> works;
  std::vector<WorkKey> ended_works;
  std::vector<SnapshotPtr> snapshots;
  std::vector<SnapshotKey> ended_snapshots;
  Callback<Done> done;
};

/// The members that are asked to admit a job of a queue with a dispatch mode, in order; they
/// replace those that were asked before. kFailedPrecondition unless the job holds quota and waits
/// for a member.
struct NominateCommand {
  Actor actor;
  JobId job;
  /// The attempt that it is for; -1: whichever.
  std::int32_t attempt = 0;
  std::vector<std::string> clusters;
  Callback<JobPtr> done;
};

/// A nominated member has admitted the job: the job goes there. kFailedPrecondition if the job does
/// not wait for a member.
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
                 NominateCommand, ChooseMemberCommand, UpdateJobCommand, AuditCommand>;

}  // namespace muster
