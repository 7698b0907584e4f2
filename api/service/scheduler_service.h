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
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/auth/authorizer.h"
#include "api/service/job_explanation.h"
#include "api/service/list_jobs.h"
#include "api/service/pod_set_cache.h"
#include "backends/backend.h"
#include "backends/member_probe.h"
#include "backends/member_queues.h"
#include "schedd/engine/engine.h"
#include "schedd/shapes/config/queue_objects.h"
#include "schedd/shapes/kinds/containers.h"
#include "schedd/shapes/kinds/shape.h"

namespace muster::api {

struct SubmitRequest {
  /// The path's namespace; "" = `default`. A manifest that names another one is refused.
  std::string ns;
  json::value body;             // a manifest, or {"script": ...}
  std::string idempotency_key;  // "" = none
};

/// What one document of `muster apply` did, or with dry_run would do.
struct DocumentOutcome {
  std::string kind, ns, name;
  ApplyOutcome outcome = ApplyOutcome::kUnchanged;
  JobPtr job;                              // set for job shapes
  std::vector<std::string> warnings = {};  // accepted, but probably mistakes
};

struct QuotaKey {
  std::string cluster_queue, flavor, resource;
};
struct QuotaView {
  QuotaKey key;
  Quota quota;
  std::int64_t used = 0, reserved = 0, borrowed = 0, available = 0;
  std::string etag;  // resourceVersion of its ClusterQueue
};
/// An unset amount stays as it is; `clear_*` removes a limit.
struct QuotaEdit {
  QuotaKey key;
  std::optional<std::int64_t> nominal, borrowing_limit, lending_limit;
  bool clear_borrowing_limit = false, clear_lending_limit = false;
  std::string etag;  // "" = any
  bool dry_run = false;
};
struct QuotaEditResult {
  QuotaView quota;
  EditEffect effect;  // filled for dry_run
};

/// A member cluster to be added.
struct NewMember {
  MemberDeclaration declaration;
  LabelMap labels;
  bool force = false;  // add it even if it cannot be reached or lacks permissions
};
struct AddedMember {
  std::string name;
  MemberReport report;
};
/// Configuration objects that placements brought to a removed member stay there, as KubeFleet's do.
struct RemovedMember {
  std::size_t objects = 0;
  std::size_t placements = 0;  // placements that brought them
};

/// Finds the backend that runs a cluster's attempts (Dispatcher::BackendOf).
using BackendLookup = std::function<Backend*(const std::string& cluster)>;

class SchedulerService {
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

  /// `id` is a number, a uid, or "NAMESPACE/NAME" for any shape.
  Result<JobPtr> GetJob(const auth::Principal& who, const std::string& id) const;
  Result<JobPtr> GetJobByName(const auth::Principal& who, const std::string& ns, ShapeKind shape,
                              const std::string& name) const;
  /// The job whose Workload has this name (workload_name.h).
  Result<JobPtr> GetJobByWorkload(const auth::Principal& who, const std::string& ns,
                                  const std::string& workload) const;
  Result<JobPage> ListJobs(const auth::Principal& who, const JobFilter& filter,
                           const std::string& page_token, std::size_t limit) const;
  void ChangeJob(const auth::Principal& who, const std::string& id, JobVerb verb,
                 Callback<JobPtr> done);
  /// Members whose own queues are asked to admit the job, in order; they replace the earlier ones.
  /// kInvalidArgument names each member that runs no queue; kFailedPrecondition unless the job
  /// waits in a ClusterQueue that leaves the choice to others (dispatch mode External).
  void NominateClusters(const auth::Principal& who, const std::string& id,
                        std::vector<std::string> clusters, Callback<JobPtr> done);
  /// Computed from the published view within the limits::kExplain* bounds.
  Result<JobExplanation> Explain(const auth::Principal& who, const std::string& id) const;
  Result<std::vector<Event>> JobEvents(const auth::Principal& who, const std::string& id) const;
  Result<std::vector<Event>> EventsSince(const auth::Principal& who, std::int64_t since,
                                         std::size_t limit) const;
  /// The last `limit` entries of the audit trail, oldest first, none before `since` if it is set.
  Result<std::vector<AuditRow>> Audit(const auth::Principal& who, WallTime since,
                                      std::size_t limit) const;
  Result<std::vector<AttemptRecord>> Attempts(const auth::Principal& who,
                                              const std::vector<JobId>& ids) const;
  Result<std::vector<PodStatus>> Pods(const auth::Principal& who, const std::string& id) const;
  Result<shapes::ContainersBySet> Containers(const auth::Principal& who,
                                             const std::string& id) const;
  /// Kubernetes events of the latest attempt on its member; empty if the job has not run.
  Result<std::vector<MemberEvent>> MemberEvents(const auth::Principal& who,
                                                const std::string& id) const;
  Result<LogChunk> ReadLog(const auth::Principal& who, const std::string& id,
                           const LogQuery& query) const;
  /// The manifest as submitted, with the job's name and the changes since.
  Result<json::value> JobManifest(const auth::Principal& who, JobId id) const;

  /// Configuration objects with status, as a Kubernetes API server answers them. `version` is one
  /// of the kind's served versions ("v1beta2"); "" answers in the stored version.
  Result<json::value> GetObject(const auth::Principal& who, ObjectKind kind, const std::string& ns,
                                const std::string& name, const std::string& version = "") const;
  Result<std::vector<json::value>> ListObjects(const auth::Principal& who, ObjectKind kind,
                                               const std::string& ns,
                                               const std::string& version = "") const;
  /// The same for an object that the caller already has, such as the outcome of a change.
  json::value ObjectWithStatus(const StoredObject& object, const std::string& version = "") const;
  /// Validates every change, normalises its manifest, and posts all of them as one command. Of
  /// members that the daemon's flags declare only some fields may change.
  void ChangeObjects(const auth::Principal& who, std::vector<ObjectChange> changes, bool dry_run,
                     Callback<std::vector<AppliedObject>> done);
  std::vector<std::string> Warnings(const ObjectChange& change) const;  // config_warnings.h
  /// A job as its own kind's object: manifest, metadata and status.
  json::value JobObject(const JobRecord& job, const json::value& manifest) const;
  /// Any job as Kueue's Workload in version "v1beta1" or "v1beta2".
  json::value WorkloadObject(const JobRecord& job, const std::string& version) const;

  /// Edits a job's object from `now`, which shows `job`, to `wanted`: priority class and boost,
  /// activity of a Workload, size of an elastic Job, fewer admission gates (replace_job.h). Any
  /// other difference is refused by its field. A resourceVersion in `wanted` that is not the job's
  /// is kAborted.
  void ReplaceJob(const auth::Principal& who, const JobPtr& job, const json::value& now,
                  const json::value& wanted, Callback<JobPtr> done);
  /// Edits a Workload's status for a controller: admissionChecks or reclaimablePods.
  void ReplaceWorkloadStatus(const auth::Principal& who, const JobPtr& job, const json::value& now,
                             const json::value& wanted, Callback<JobPtr> done);
  /// Sets the condition Active of an AdmissionCheck to what its controller wrote in `wanted`.
  void ReplaceCheckStatus(const auth::Principal& who, const std::string& name,
                          const json::value& wanted, Callback<ObjectPtr> done);

  Result<std::vector<QuotaView>> ListQuotas(const auth::Principal& who,
                                            const std::string& cluster_queue) const;
  void SetQuota(const auth::Principal& who, QuotaEdit edit, Callback<QuotaEditResult> done);

  Result<json::value> ClusterFactsOf(const auth::Principal& who, const std::string& cluster) const;
  /// Every member cluster with its free room, in name order.
  Result<std::vector<core::ClusterView>> Clusters(const auth::Principal& who) const;
  void Cordon(const auth::Principal& who, const std::string& cluster, bool cordon,
              Callback<ObjectPtr> done);
  /// Evicts the jobs of a member so that they run elsewhere. Calling again returns what is left
  /// there.
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
  /// Before the first request; null: no member can be added.
  void SetProbe(MemberProbe* probe) { probe_ = probe; }
  /// Before the first request; null: no member has a queue of its own.
  void SetMemberQueues(const MemberQueues* queues) { queues_ = queues; }
  /// Lets the collection of orphans continue on a member in quarantine. Answers with the number of
  /// objects released.
  void Collect(const auth::Principal& who, const std::string& cluster, Callback<std::size_t> done);

  WorldViewPtr View() const { return engine_.View(); }
  /// Done while the daemon has recovered and leads, else kUnavailable with the reasons. REST and
  /// gRPC ask before every method that reads or changes the world.
  Status Ready() const;

 private:
  /// The current view if the daemon is ready, else kUnavailable with the reasons.
  Result<WorldViewPtr> ReadyView() const;
  Status Allow(const auth::Principal& who, auth::Verb verb, std::string_view kind,
               std::string_view ns, std::string_view name) const;
  void PostSubmissions(const auth::Principal& who, std::vector<Submission> jobs,
                       Callback<std::vector<Result<SubmittedJob>>> done);
  Result<JobPtr> FindJob(const std::string& id) const;
  Result<JobPtr> FindJobById(JobId id) const;
  Result<JobPtr> FindJobByName(const std::string& ns, const std::string& name) const;
  /// Asks the member that has the job's latest attempt; empty if no attempt reached a member.
  template <class Item>
  Result<std::vector<Item>> OfMember(
      const auth::Principal& who, const std::string& id,
      Result<std::vector<Item>> (Backend::*read)(const DispatchKey&)) const;
  /// The attempt whose pods and logs a caller means: the current or the last one.
  Result<DispatchKey> LatestAttempt(const JobRecord& job) const;
  Result<Backend*> BackendOf(const DispatchKey& key) const;

  Engine& engine_;
  Store& store_;
  Random& random_;
  const auth::Authorizer& authorizer_;
  BackendLookup backends_;
  PodSetCache pod_sets_;
  MemberProbe* probe_ = nullptr;
  const MemberQueues* queues_ = nullptr;
  std::mutex probing_;  // held while a member is probed
  // Incarnations of the members that this process added, by name; guarded by probing_.
  std::map<std::string, std::string> added_;
};

}  // namespace muster::api
