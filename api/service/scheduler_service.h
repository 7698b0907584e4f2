// SchedulerService: the use cases, transport-neutral. REST and gRPC are two skins over this.
//
// Thread-safe. Reads answer from Engine::View() and, for what has left memory, from the store
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
#include "api/service/explained.h"
#include "api/service/job_filter.h"
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
  std::string ns;               // of the path; "" = `default`; a manifest naming another is refused
  json::value body;             // a manifest, or {"script": ...}
  std::string idempotency_key;  // "" = none
};

/// One document of `muster apply`, after it took effect (or would, with dry_run).
struct DocumentOutcome {
  std::string kind, ns, name;
  ApplyOutcome outcome = ApplyOutcome::kUnchanged;
  JobPtr job;                              // set for job shapes
  std::vector<std::string> warnings = {};  // what was taken but is probably a mistake
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
/// Fields with nullopt stay; a limit is cleared with `clear_*`.
struct QuotaEdit {
  QuotaKey key;
  std::optional<std::int64_t> nominal, borrowing_limit, lending_limit;
  bool clear_borrowing_limit = false, clear_lending_limit = false;
  std::string etag;  // "" = any
  bool dry_run = false;
};
struct QuotaEdited {
  QuotaView quota;
  EditEffect effect;  // filled for dry_run
};

/// A member cluster to be added, and what was found out about it.
struct NewMember {
  MemberDeclaration declaration;
  LabelMap labels;
  bool force = false;  // also if it cannot be reached or lacks permissions
};
struct AddedMember {
  std::string name;
  MemberReport report;
};
/// Configuration objects that placements brought to a member stay when it goes, as KubeFleet's do.
struct RemovedMember {
  std::size_t objects = 0;
  std::size_t placements = 0;  // that brought them
};

/// Finds the backend that runs a cluster's attempts (Dispatcher::BackendOf).
using BackendLookup = std::function<Backend*(const std::string& cluster)>;

class SchedulerService {
 public:
  SchedulerService(Engine& engine, Store& store, Random& random, const auth::Authorizer& authorizer,
                   BackendLookup backends);

  /// An array script gives its first task.
  void SubmitJob(const auth::Principal& who, SubmitRequest request, Callback<Submitted> done);
  /// The same for every task of an array script, in order; one element for anything else.
  void SubmitAll(const auth::Principal& who, SubmitRequest request,
                 Callback<std::vector<Submitted>> done);
  /// Per item, in order. The whole call fails only if it cannot be taken at all.
  void SubmitBatch(const auth::Principal& who, std::string ns, std::vector<json::value> bodies,
                   Callback<std::vector<Result<Submitted>>> done);
  /// Any accepted kinds together; a bad document changes nothing. Errors name documents[i] and the
  /// field. `ns` is the default namespace of documents without one. Objects are judged against the
  /// configuration as it would be after all documents, then committed together, then the jobs are
  /// submitted together.
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
  /// Members whose own queues are asked to admit a job, in order; they replace those that were
  /// asked. kInvalidArgument names each that cannot take it; kFailedPrecondition unless its
  /// ClusterQueue leaves that to others (dispatch mode External) and it waits for them.
  void NominateClusters(const auth::Principal& who, const std::string& id,
                        std::vector<std::string> clusters, Callback<JobPtr> done);
  /// Computed from the published view; takes no longer than limits::kExplain* allow.
  Result<Explained> Explain(const auth::Principal& who, const std::string& id) const;
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
  /// What the member's own components said of the latest attempt; none where it has not run.
  Result<std::vector<MemberEvent>> MemberEvents(const auth::Principal& who,
                                                const std::string& id) const;
  Result<LogChunk> ReadLog(const auth::Principal& who, const std::string& id,
                           const LogQuery& query) const;
  /// The manifest under the job's name: as submitted, but for what was changed since.
  Result<json::value> JobManifest(const auth::Principal& who, JobId id) const;

  /// Configuration objects with status, as Kubernetes would answer them. `version` is one of the
  /// kind's served versions ("v1beta2"); "" answers as stored.
  Result<json::value> GetObject(const auth::Principal& who, ObjectKind kind, const std::string& ns,
                                const std::string& name, const std::string& version = "") const;
  Result<std::vector<json::value>> ListObjects(const auth::Principal& who, ObjectKind kind,
                                               const std::string& ns,
                                               const std::string& version = "") const;
  /// The same of objects already in hand (the outcome of a change).
  json::value ObjectWithStatus(const StoredObject& object, const std::string& version = "") const;
  /// Validates every change (manifests may come as the user wrote them; they are normalised here),
  /// then posts them as one. Member clusters are refused: the daemon's own flags declare them.
  void ChangeObjects(const auth::Principal& who, std::vector<ObjectChange> changes, bool dry_run,
                     Callback<std::vector<ObjectApplied>> done);
  std::vector<std::string> Warnings(const ObjectChange& change) const;  // config_warnings.h
  /// A job as its own kind's object: manifest, metadata and status.
  json::value JobObject(const JobRecord& job, const json::value& manifest) const;
  /// Any job as Kueue's Workload in version "v1beta1" or "v1beta2".
  json::value WorkloadObject(const JobRecord& job, const std::string& version) const;

  /// A job as an object, edited from `now` to `wanted`: its priority class and boost, of a
  /// Workload its activity, of an elastic Job its size, and fewer gates of admission
  /// (replace_job.h). Every other difference is refused by its field. `job` is what `now` shows; a
  /// resourceVersion in `wanted` that is not the job's is kAborted.
  void ReplaceJob(const auth::Principal& who, const JobPtr& job, const json::value& now,
                  const json::value& wanted, Callback<JobPtr> done);
  /// Its Workload's status edited by a controller: admissionChecks or reclaimablePods.
  void ReplaceWorkloadStatus(const auth::Principal& who, const JobPtr& job, const json::value& now,
                             const json::value& wanted, Callback<JobPtr> done);
  /// The condition Active of an AdmissionCheck, as its controller wants it in `wanted`.
  void ReplaceCheckStatus(const auth::Principal& who, const std::string& name,
                          const json::value& wanted, Callback<ObjectPtr> done);

  Result<std::vector<QuotaView>> ListQuotas(const auth::Principal& who,
                                            const std::string& cluster_queue) const;
  void SetQuota(const auth::Principal& who, QuotaEdit edit, Callback<QuotaEdited> done);

  Result<json::value> ClusterFactsOf(const auth::Principal& who, const std::string& cluster) const;
  /// Every member cluster with its free room, in name order.
  Result<std::vector<core::ClusterView>> Clusters(const auth::Principal& who) const;
  void Cordon(const auth::Principal& who, const std::string& cluster, bool cordon,
              Callback<ObjectPtr> done);
  /// Sends the jobs of a member elsewhere; asked again, it says what is left there.
  void Drain(const auth::Principal& who, const std::string& cluster, bool force,
             Callback<DrainProgress> done);
  /// An administrator says that nothing runs any more on a member that does not answer; answers
  /// with how many attempts were given up.
  void Fence(const auth::Principal& who, const std::string& cluster, Callback<std::size_t> done);
  /// Asks the cluster what it is and what we may do there (blocking, some seconds), then stores its
  /// kubeconfig as a Secret and the member; the daemon takes it up within a second or two.
  /// kInvalidArgument with all that is wrong, and nothing is stored.
  void AddMember(const auth::Principal& who, const NewMember& wanted, Callback<AddedMember> done);
  /// One that was added, runs nothing and holds no ended job for Muster (kFailedPrecondition); with
  /// `force`, what a member that does not answer runs is given up first, and what any holds is
  /// left.
  void RemoveMember(const auth::Principal& who, const std::string& cluster, bool force,
                    Callback<RemovedMember> done);
  /// Before the first request; null: no member can be added.
  void SetProbe(MemberProbe* probe) { probe_ = probe; }
  /// Before the first request; null: no member has a queue of its own.
  void SetMemberQueues(const MemberQueues* queues) { queues_ = queues; }
  /// Lets the collection of orphans go on where it was stopped; answers with how many objects that
  /// concerns.
  void Collect(const auth::Principal& who, const std::string& cluster, Callback<std::size_t> done);

  WorldViewPtr View() const { return engine_.View(); }
  /// Done while the daemon has recovered and leads, else kUnavailable with what is waited for. The
  /// skins ask before whatever reads or changes the world.
  Status Ready() const;

 private:
  /// The current view if the daemon is ready, else kUnavailable with the reasons.
  Result<WorldViewPtr> ReadyView() const;
  Status Allow(const auth::Principal& who, auth::Verb verb, std::string_view kind,
               std::string_view ns, std::string_view name) const;
  void PostSubmissions(const auth::Principal& who, std::vector<Submission> jobs,
                       Callback<std::vector<Result<Submitted>>> done);
  Result<JobPtr> FindJob(const std::string& id) const;
  Result<JobPtr> FindJobById(JobId id) const;
  Result<JobPtr> FindJobByName(const std::string& ns, const std::string& name) const;
  // What a member tells of the job's latest attempt.
  template <class Item>
  Result<std::vector<Item>> OfMember(
      const auth::Principal& who, const std::string& id,
      Result<std::vector<Item>> (Backend::*read)(const DispatchKey&)) const;
  /// The attempt whose pods and logs a reader of `job` means: the current or the last one.
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
  std::mutex probing_;                        // one member is added at a time
  std::map<std::string, std::string> added_;  // incarnations, by member; guarded by probing_
};

}  // namespace muster::api
