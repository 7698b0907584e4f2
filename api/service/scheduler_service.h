// SchedulerService: the use cases, independent of the transport. REST and gRPC are thin layers over
// it.
//
// Thread-safe. Reads answer from Engine::View() and, for jobs that have left memory, from the store
// (blocking). Writes validate against the view, post one command and call back on the engine thread
// after the commit. Every refusal is an Error with the field's path; overload is kResourceExhausted
// with retry_after_ms.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/auth/audit_sink.h"
#include "api/auth/rate_limiter.h"
#include "api/service/array_ids.h"
#include "api/service/job_explanation.h"
#include "api/service/list_jobs.h"
#include "api/service/pod_set_cache.h"
#include "api/service/service_parts.h"
#include "api/service/service_types.h"
#include "backends/backend.h"
#include "backends/member_queues.h"
#include "schedd/engine/engine.h"
#include "schedd/shapes/config/queue_objects.h"
#include "schedd/shapes/kinds/containers.h"
#include "schedd/shapes/kinds/shape.h"

namespace muster::api {

/// A question about a job.
using JobTest = std::function<bool(const JobRecord& job)>;

class SchedulerService : public ServiceParts {
 public:
  SchedulerService(Engine& engine, Store& store, Random& random, const auth::Authorizer& authorizer,
                   BackendLookup backends);

  /// Answers with the first task of an array script.
  void SubmitJob(const auth::Principal& who, SubmitRequest request, Callback<SubmittedJob> done);
  /// The same, but answers with every task of an array script in order; one element for other jobs.
  void SubmitAll(const auth::Principal& who, SubmitRequest request,
                 Callback<std::vector<SubmittedJob>> done);
  /// One answer per item, in order. The whole call fails only if no item can be accepted.
  void SubmitBatch(const auth::Principal& who, std::string ns, std::vector<json::value> bodies,
                   Callback<std::vector<Result<SubmittedJob>>> done);
  /// Documents of any accepted kinds; one bad document changes nothing. Errors name documents[i]
  /// and the field. `ns` is the namespace of documents without one. Objects are judged against the
  /// configuration that all documents make, then committed together; then the jobs are submitted
  /// together.
  void Apply(const auth::Principal& who, std::string ns, std::vector<json::value> documents,
             bool dry_run, Callback<std::vector<DocumentOutcome>> done);

  /// The current view if the daemon is ready, or else its copy of the database if it has one, else
  /// kUnavailable with the reasons. Changes are refused before (Ready), and by the engine.
  Result<WorldViewPtr> ReadyView() const;
  /// `id` is a number, a uid, or "NAMESPACE/NAME" for any shape. A job that the caller may not see
  /// is answered as one that does not exist, here and in all use cases that take an id (rule U21).
  Result<JobPtr> GetJob(const auth::Principal& who, const std::string& id) const;
  /// Of Kubernetes paths: kPermissionDenied, before anything is looked up, without the right.
  Result<JobPtr> GetJobByName(const auth::Principal& who, const std::string& ns, ShapeKind shape,
                              const std::string& name, PathAsk ask = {}) const;
  /// The job whose Workload has this name (workload_name.h); asks for the Workload.
  Result<JobPtr> GetJobByWorkload(const auth::Principal& who, const std::string& ns,
                                  const std::string& workload, PathAsk ask = {}) const;
  Result<JobPage> ListJobs(const auth::Principal& who, const JobFilter& filter,
                           const std::string& page_token, std::size_t limit) const;
  /// kPermissionDenied besides for what only operators may (rule B33): suspend, resume, and a hold
  /// that only they release.
  void ChangeJob(const auth::Principal& who, const std::string& id, JobVerb verb,
                 Callback<JobPtr> done, VerbOptions options = {});
  /// Changes a batch script after its submission (scontrol update; rule B33). `fields` is an object
  /// of the fields that change. Errors name the field. Blocking.
  void UpdateJob(const auth::Principal& who, const std::string& id, const json::object& fields,
                 Callback<JobPtr> done);
  /// Members whose own queues are asked to admit the job, in order; they replace the earlier ones.
  /// kInvalidArgument names each member that runs no queue; kFailedPrecondition unless the job
  /// waits in a ClusterQueue that leaves the choice to others (dispatch mode External).
  void NominateClusters(const auth::Principal& who, const std::string& id,
                        std::vector<std::string> clusters, Callback<JobPtr> done);
  /// When a job, of an array its first task, would start if it were submitted now; submits nothing.
  Result<SubmissionEstimate> EstimateSubmission(const auth::Principal& who,
                                                SubmitRequest request) const;
  /// Computed from the published view within the limits::kExplain* bounds.
  Result<JobExplanation> Explain(const auth::Principal& who, const std::string& id) const;
  /// The jobs of a ClusterQueue that wait and may be tried, in its order, without the first
  /// `offset` of them; asks to get the ClusterQueue.
  Result<QueueLine> QueueOrder(const auth::Principal& who, const std::string& cluster_queue,
                               std::size_t offset, std::size_t limit) const;
  Result<std::vector<Event>> JobEvents(const auth::Principal& who, const std::string& id) const;
  /// The events that the caller may see (event_filter.h) of the first `limit` after `since`.
  Result<EventPage> EventsSince(const auth::Principal& who, std::int64_t since,
                                std::size_t limit) const;
  /// kPermissionDenied if the caller may list events in no namespace.
  Status MayFollowEvents(const auth::Principal& who) const;
  /// A page of the audit trail, oldest first, of at most limits::kAuditPageMax rows.
  Result<std::vector<AuditRow>> Audit(const auth::Principal& who, const AuditQuery& query) const;
  /// Where the chain of the trail begins, for those who verify it.
  Result<AuditAnchor> AuditBegin(const auth::Principal& who) const;
  /// Of jobs that a list of ListRule::kAccounting or GetJob has answered with.
  Result<std::vector<AttemptRecord>> Attempts(const auth::Principal& who,
                                              const std::vector<JobPtr>& jobs) const;
  Result<std::vector<PodStatus>> Pods(const auth::Principal& who, const std::string& id) const;
  Result<shapes::ContainersBySet> Containers(const auth::Principal& who,
                                             const std::string& id) const;
  /// Kubernetes events of the latest attempt on its member; empty if the job has not run.
  Result<std::vector<MemberEvent>> MemberEvents(const auth::Principal& who,
                                                const std::string& id) const;
  /// The job of an id, if the caller may read its log.
  Result<JobPtr> JobToLog(const auth::Principal& who, const std::string& id,
                          LogAsk ask = LogAsk::kFirst) const;
  Result<LogChunk> ReadLog(const auth::Principal& who, const std::string& id, const LogQuery& query,
                           LogAsk ask = LogAsk::kFirst) const;
  /// False of a script that `who` may not change and whose log `who` may not read (rule U21).
  bool MayReadScript(const auth::Principal& who, const JobRecord& job) const;
  /// ManifestOf for an answer to `who`: without `script`, `environment` and `arguments` of a script
  /// that `who` may not read.
  Result<json::value> ManifestFor(const auth::Principal& who, const JobRecord& job) const;
  /// The manifest as submitted, with the job's name and the changes since; as ManifestFor.
  Result<json::value> JobManifest(const auth::Principal& who, JobId id) const;
  /// The same of a job that the caller has been answered with; asks for nothing.
  Result<json::value> ManifestOf(const JobRecord& job) const;

  /// Configuration objects with status, as a Kubernetes API server answers them. `version` is one
  /// of the kind's served versions ("v1beta2"); "" answers in the stored version.
  Result<json::value> GetObject(const auth::Principal& who, ObjectKind kind, const std::string& ns,
                                const std::string& name, const std::string& version = "",
                                PathAsk ask = {}) const;
  /// With `ns` "" those of all namespaces: of those that the caller may list, or with `whole` none
  /// (kPermissionDenied) unless it may list all.
  Result<std::vector<json::value>> ListObjects(const auth::Principal& who, ObjectKind kind,
                                               const std::string& ns,
                                               const std::string& version = "",
                                               bool whole = false) const;
  /// The same for an object that the caller already has, such as the outcome of a change.
  json::value ObjectWithStatus(const StoredObject& object, const std::string& version = "") const;
  /// Validates every change, normalises its manifest, and posts all of them as one command. Of
  /// members that the daemon's flags declare only some fields may change. A change of an object
  /// that must exist asks `replace` (update or patch), any other what it does (object_rights.h).
  void ChangeObjects(const auth::Principal& who, std::vector<ObjectChange> changes, bool dry_run,
                     Callback<std::vector<AppliedObject>> done,
                     auth::Verb replace = auth::Verb::kUpdate);
  std::vector<std::string> Warnings(const ObjectChange& change) const;  // config_warnings.h
  /// A job as its own kind's object: manifest, metadata and status.
  json::value JobObject(const JobRecord& job, const json::value& manifest) const;
  /// Any job as Kueue's Workload in version "v1beta1" or "v1beta2".
  json::value WorkloadObject(const JobRecord& job, const std::string& version) const;

  /// Edits a job's object from `now`, which shows `job`, to `wanted`: priority class and boost,
  /// activity of a Workload, size of an elastic Job, fewer admission gates (replace_job.h). Any
  /// other difference is refused by its field. A resourceVersion in `wanted` that is not the job's
  /// is kAborted.
  /// Asks `verb` (update or patch) for what `now` is: the job or its Workload.
  void ReplaceJob(const auth::Principal& who, auth::Verb verb, const JobPtr& job,
                  const json::value& now, const json::value& wanted, Callback<JobPtr> done);
  /// Edits a Workload's status for a controller: admissionChecks or reclaimablePods.
  void ReplaceWorkloadStatus(const auth::Principal& who, auth::Verb verb, const JobPtr& job,
                             const json::value& now, const json::value& wanted,
                             Callback<JobPtr> done);
  /// Sets the condition Active of an AdmissionCheck to what its controller wrote in `wanted`.
  void ReplaceCheckStatus(const auth::Principal& who, auth::Verb verb, const std::string& name,
                          const json::value& wanted, Callback<ObjectPtr> done);

  Result<std::vector<QuotaView>> ListQuotas(const auth::Principal& who,
                                            const std::string& cluster_queue) const;
  void SetQuota(const auth::Principal& who, QuotaEdit edit, Callback<QuotaEditResult> done);

  Result<json::value> ClusterFactsOf(const auth::Principal& who, const std::string& cluster) const;
  /// Every member cluster with its free room, in name order.
  Result<std::vector<core::ClusterView>> Clusters(const auth::Principal& who) const;
  void Cordon(const auth::Principal& who, const std::string& cluster, bool cordon,
              Callback<ObjectPtr> done);
  /// Evicts a member's jobs so that they run elsewhere. Calling again tells what is left there.
  void Drain(const auth::Principal& who, const std::string& cluster, bool force,
             Callback<DrainProgress> done);
  /// The administrator states that nothing runs any more on a member that does not answer. Answers
  /// with the number of attempts given up.
  void Fence(const auth::Principal& who, const std::string& cluster, Callback<std::size_t> done);
  /// Probes the cluster (blocking, some seconds), then stores its kubeconfig as a Secret and the
  /// member; the daemon connects within a second or two. kInvalidArgument with all problems; then
  /// nothing is stored.
  void AddMember(const auth::Principal& who, const NewMember& wanted, Callback<AddedMember> done);
  /// Removes a member that was added, runs nothing and holds no ended job (else
  /// kFailedPrecondition). `force` first gives up what a member that does not answer runs, and
  /// leaves what any member holds.
  void RemoveMember(const auth::Principal& who, const std::string& cluster, bool force,
                    Callback<RemovedMember> done);
  /// Counts `cost` requests of the caller (rule U74): kResourceExhausted if it sends too many. REST
  /// and gRPC ask once for every request; methods with many jobs count the others themselves.
  Status TakeRate(const auth::Principal& who, std::size_t cost = 1) const;
  /// What is probably a mistake in the manifest of a job that is accepted: unknown fields
  /// (manifest_warnings.h), and what level `warn` of its namespace does not allow.
  std::vector<std::string> JobWarnings(const std::string& ns, const json::value& manifest) const;
  /// Ends the quarantine of a member's orphans. Answers with the number of objects released.
  void Collect(const auth::Principal& who, const std::string& cluster, Callback<std::size_t> done);

  /// The view that a simulation of jobs of namespace `ns` starts from. With `current` it shows the
  /// daemon's ClusterQueues, so it asks to list those too.
  Result<WorldViewPtr> ViewToSimulate(const auth::Principal& who, const std::string& ns,
                                      bool current) const;
  /// The authorizer's answer, for paths that have no use case of their own.
  Status Allowed(const auth::Principal& who, auth::Verb verb, const auth::ResourceRef& what) const {
    return authorizer_.Authorize(who, verb, what);
  }
  // For use cases that have headers of their own: steps.h, signals.h.
  /// The job of an id if the caller may do this to it. kNotFound if it does not exist or the caller
  /// may not see it, kPermissionDenied if the caller may only see it.
  Result<JobPtr> JobFor(const auth::Principal& who, const std::string& id, auth::Verb verb,
                        std::string_view subresource = {}) const;
  Result<Backend*> BackendOf(const DispatchKey& key) const;
  /// Done while the daemon has recovered and leads, else kUnavailable with the reasons. REST and
  /// gRPC ask before every method that changes the world, and gRPC before every other one.
  Status Ready() const;
  /// Done while the world can be read: as Ready, or from the copy of a daemon that stands by.
  Status Readable() const;

 private:
  /// True if the view is that of a leader whose lease goes on.
  bool IsCurrent(const WorldView& view) const;
  Error NotReady(const WorldView& view) const;
  void PostSubmissions(const auth::Principal& who, std::vector<Submission> jobs,
                       Callback<std::vector<Result<SubmittedJob>>> done);
  /// `seen` tells of which jobs the caller may learn by a name.
  Result<JobPtr> FindJob(const std::string& id, const JobTest& seen) const;
  Result<JobPtr> FindJobById(JobId id) const;
  /// The record that an array's task is in. `id`: as the caller wrote it.
  Result<JobPtr> FindTask(const std::string& id, const TaskIds& ids, const JobTest& seen) const;
  Result<JobPtr> FindJobByName(const std::string& ns, const std::string& name,
                               const JobTest& seen) const;
  Result<JobPtr> FindJobByWorkload(const std::string& ns, const std::string& workload) const;
  void PostVerb(const auth::Principal& who, JobVerb verb, JobId id, Callback<JobPtr> done);
  /// Done if every job that these dependencies name exists and `who` may see it (rule B31).
  Status CheckDependencies(const auth::Principal& who, const BatchState& state) const;
  /// Asks the member that has the job's latest attempt; empty if no attempt reached a member.
  template <class Item>
  Result<std::vector<Item>> OfMember(
      const auth::Principal& who, const std::string& id,
      Result<std::vector<Item>> (Backend::*read)(const DispatchKey&)) const;
  /// The attempt whose pods and logs a caller means: the current or the last one.
  Result<DispatchKey> LatestAttempt(const JobRecord& job) const;
};

}  // namespace muster::api
