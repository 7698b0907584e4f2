// Engine::Impl: the engine's state and what it does, by file. Runs on the engine thread only.
#pragma once

#include <atomic>

#include "schedd/base/bounded_queue.h"
#include "schedd/engine/engine.h"
#include "schedd/engine/engine_metrics.h"
#include "schedd/engine/engine_state.h"
#include "schedd/engine/object_names.h"
#include "schedd/engine/published.h"
#include "schedd/lifecycle/holder_of.h"
#include "schedd/lifecycle/job_changes.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster {

struct Engine::Impl : EngineState {
  using OnEvents = std::function<void(const std::vector<Event>&)>;
  Impl(Store& store_in, const Clock& clock_in, Random& random_in, OrderSink& orders_in,
       Metrics& metrics_in, EngineOptions options_in, OnEvents on_events_in);
  ~Impl();

  // engine.cc: the loop.
  bool Step(std::chrono::nanoseconds wait);
  void Dispatch(Envelope envelope);
  std::chrono::nanoseconds IdleTime() const;
  bool Outstanding() const { return !accepts.empty() || !commits.empty(); }
  void Run(std::stop_token stop);
  // submissions.cc
  void Handle(SubmitCommand command);
  std::size_t RoomFor(const SubmitCommand& command) const;
  void SendAccepts();
  void Complete(AcceptDone done);
  Result<Submitted> AdoptAccepted(const JobPtr& record, const Result<Accepted>& outcome,
                                  bool stale_config);
  // job_commands.cc
  void Handle(JobCommand command);
  Result<JobPtr> ChangeJob(const JobCommand& command, const JobPtr& job);
  Result<JobPtr> Cancel(const JobCommand& command, const JobPtr& job);
  Result<JobPtr> Hold(const JobPtr& job);
  Result<JobPtr> Release(const JobPtr& job);
  Result<JobPtr> Requeue(const JobCommand& command, const JobPtr& job);
  JobPtr Delete(const JobPtr& job, const std::string& by);
  Result<JobPtr> FindOrLoad(JobId id);  // from the store if it has left memory; or kNotFound

  // attempts.cc: what becomes of the current attempt.
  void Admit(const core::Admit& admit);
  void StopAttempt(const JobPtr& job, Reason reason, const std::string& message, bool keep_logs);
  JobPtr EndJob(const JobPtr& job, JobEvent how, Reason reason, const std::string& message,
                const Observation* seen);
  void RequeueStopped(const JobPtr& job);
  void StartAttempt(const JobPtr& job);
  void CleanUp(const JobPtr& job);
  bool HasRows(const Uid& uid) const;
  void FinishDeletion(const JobPtr& job);

  // evictions.cc: quota is taken away in two steps (rule A50).
  using Mark = std::function<void(JobRecord*)>;
  JobPtr Evict(const JobPtr& job, Reason reason, const Mark& mark);
  JobPtr EvictFor(const JobPtr& job, Reason reason, const EvictionNote& note);
  void Evict(const core::Eviction& eviction);
  void Deactivate(const JobPtr& job, const std::string& cause);
  JobPtr Requeued(const JobPtr& job, std::string_view reason, const std::string& message);
  WallTime NextTry(const JobRecord& evicted, WallTime now);

  // alarms.cc: what time alone changes of one job: back-offs, pods that are not ready, time limits.
  void SetAlarm(const JobRecord& job);
  bool FireAlarms();
  void OnAlarm(const JobPtr& job);

  // admission_commands.cc: checks, priorities, activity, from outside.
  void Handle(SetCheckStatusCommand command);
  void Handle(SetCheckActiveCommand command);
  void Handle(ChangeJobCommand command);
  Result<JobPtr> SetCheck(const SetCheckStatusCommand& command);
  Result<JobPtr> ChangeSpec(const ChangeJobCommand& command);
  void GoOn(const JobPtr& reserved);
  void AnswerJob(Callback<JobPtr> done, const Result<JobPtr>& outcome);
  void Handle(ReplaceJobCommand command);  // elastic.cc
  void Handle(NominateCommand command);    // nominations.cc: members with queues of their own
  void Handle(ChooseMemberCommand command);
  void Handle(RecordWorksCommand command);  // works.cc
  struct StandIns;  // stand_ins_impl.h: entries of queues that are no jobs of their own
  struct Leaving;   // leaving_impl.h: jobs that leave members
  // machines.cc: topology aware flavors, second passes.
  core::TopologyForestPtr ForestOf(const ConfigView& config) const;
  core::TopologyUsage MachinesOf(const ConfigView& config, const core::TopologyForestPtr& trees,
                                 const core::Holders& holders, const core::QuotaTree& tree,
                                 MachineCharges* each = nullptr) const;
  void RefreshMachines();
  void TrackMachines(const JobRecord& before, const JobPtr& after, bool holds);
  void OfferSecondPass(const JobPtr& job);
  bool SecondPassDue() const;
  void Complete(const core::Admit& admit);
  // node_failures.cc: machines that went away under pods (rule A48).
  void CheckMachines();
  void NoteMachines(const JobPtr& job, const std::vector<std::string>& failed);
  // resource_checks.cc: waiting jobs are measured anew against LimitRanges and RuntimeClasses.
  void RecheckWaiting(const std::set<std::string>& namespaces, bool all);
  void RecheckAfterRecovery();
  void RecheckNew(const JobRecord& job);
  bool Recheck();
  void TakeRequests(const JobPtr& job, const std::string& manifest);
  // pace.cc: how much of the writer scheduling may take while clients wait for submissions.
  bool Crowded() const { return inflight_submissions > 0 || clock.Now() < crowded_until; }
  bool Resting() const;  // nothing is to be sent or decided, for the sake of submissions
  Monotonic RestEnds() const;
  void RestAfter(Monotonic sent);
  void NoteWriterIdle();
  std::size_t CommitDepth() const;
  std::size_t CommitRoom() const;
  bool HandleReports();
  // reports.cc: what the members say.
  void Handle(ObservedCommand command);
  void Handle(EnsuredCommand command);
  void Handle(RemovedCommand command);
  void Handle(ConfirmedCommand command);
  void Handle(ListedCommand command);
  dispatch::Effect StepRow(const DispatchKey& key, const dispatch::StepInput& input,
                           const Observation* seen);
  void ApplyEffect(const dispatch::StepResult& result, const Observation* seen);
  void Reclaim(JobId id, const Observation& seen);
  void Account(const Observation& seen, std::set<DispatchKey>* accounted);
  void EndSucceeded(const JobPtr& job, const Observation& seen);
  void ShowStuck(const JobPtr& job, const dispatch::StepResult& result);
  // orphans.cc: objects on members that no attempt accounts for.
  bool FireStrayLists();
  void HandleOrphan(const Observation& seen, const DispatchRow* row);
  bool IsOfKnownAttempt(const Observation& seen);
  bool StrayLongEnough(const Observation& seen);
  void FenceResurrected(const DispatchRow& row, const Observation& seen);
  bool IsQuarantined(const std::string& cluster) const;
  void PutAside(const Observation& seen, SetAsideReason reason);
  void WriteAside(const SetAsideObject& object, bool remove);
  void HoldAhead(const JobPtr& job, const Observation& seen);
  void ForgetAbsent(const std::string& cluster, const std::set<std::string>& uids);
  void Handle(CollectCommand command);
  // lost_members.cc: members that do not answer, or are not what they were.
  void Handle(FactsCommand command);
  void Handle(FenceCommand command);
  bool TakeFacts(ClusterFacts told);
  void RefuseSecondName(ClusterFacts* told);
  bool IsOnLostMember(const JobRecord& job) const;
  void ReturnHolders(const std::string& cluster);
  bool AwaitsLists();
  void RestoreLost();
  void LoseRecreated(const std::string& cluster);
  OnClusterLost PolicyOf(const DispatchRow& row) const;
  bool IsWrittenOff(const DispatchRow& row, Monotonic since) const;
  bool FireLosses();
  void LeaveMember(const JobPtr& job, const dispatch::StepResult& result);

  // apply.cc and apply_rules.cc: configuration.
  void Handle(ApplyCommand command);
  void Handle(CordonCommand command);
  void Handle(DrainCommand command);
  void Handle(PreviewCommand command);
  Result<std::vector<ObjectApplied>> Apply(const Actor& actor,
                                           const std::vector<ObjectChange>& changes, bool dry_run);
  Status CheckRemoval(const ConfigView& config, const ObjectChange& change) const;
  void TakeConfig(ConfigEdit edit);
  void ResolveQueues();
  void DrainStopped();
  void DrainQueue(const JobPtr& job, const ClusterQueue* queue, const LocalQueue* local);
  void RebuildCharges(const core::QuotaTreePtr& tree);
  void WakeRestarted();
  void SyncReserved();
  void PushPriorities(const ConfigView& before);
  // placements.cc: what placements make of waiting jobs, and what they are told of placed ones.
  void FollowPlacements(const ConfigView& before, const std::vector<ObjectKey>& changed);
  void NoteOpening(const core::NotAdmitted& waiting);
  bool FireOpenings();
  void AddStarting(std::vector<core::ClusterView>* clusters);

  // cycle.cc: deciding.
  bool Cycle();
  core::Snapshot MakeSnapshot(const ConfigPtr& config, const Ledger& ledger,
                              std::shared_ptr<const core::Holders> holders,
                              std::vector<core::QueueHeads> heads);
  void NoteWaiting(const core::NotAdmitted& waiting);
  void Sweep();
  void FlushReleased();
  void WakeQueues(const QueueNames& names);
  void WakeTreeAfterCommit(const std::string& cluster_queue);
  void FlushAll();
  const Verdict* VerdictOf(const JobRecord& job) const;
  // records.cc: changing records and writing rows.
  JobPtr Put(const JobPtr& before, changes::Draft after, const char* event);
  void PutSoft(const JobPtr& before, const std::function<changes::Draft(const JobRecord&)>& change,
               bool persist);
  std::int64_t AddEvent(const char* type, JobId job, std::string object, std::string reason,
                        std::string message);
  bool ChargesOther(const JobRecord& before, const JobRecord& after) const;
  void PutRow(const DispatchRow& row);
  void PutFairUse();
  void AddAudit(const Actor& actor, const char* verb, std::string object, std::string detail);
  void AnswerAfterCommit(Waiter waiter);

  // followers.cc: a job enters, changes in or leaves memory, and all that is kept in step with it.
  void Enter(const JobPtr& job);
  void Change(const JobPtr& before, const JobPtr& job);
  void Leave(const JobPtr& job);
  void TrackHolder(const JobRecord& before, const JobPtr& after, bool holds);

  // commit_pipeline.cc, publish.cc
  void SendCommit();
  bool SendHeartbeat();
  Monotonic HeartbeatDue() const { return heard_at + options.heartbeat_ms * kNanosPerMilli; }
  void AddLazyRows();
  void Complete(CommitDone done);
  void Absorb(const Transaction& done, std::int64_t last_seq);
  void SendOrder(const Order& order);
  bool IsOnItsWay(const DispatchKey& key) const;  // its newest row is not durable
  [[noreturn]] void StopOnRefusal(const Error& error);
  void StoreFailed(const Error& error);
  void Publish();
  // recovery.cc
  bool Recover();
  void Rebuild(Loaded loaded);
  void RebuildObjects(const std::vector<ObjectPtr>& objects);
  void CorrectUsage(const std::vector<UsageRow>& stored);
  void Redrive();
  void RefuseWhileNotReady(Command& command);
  void FailWaiting(const Error& error);
  // retention.cc: ended jobs leave memory and, with a TTL, the world; idempotency keys expire.
  void ScheduleRetirement(const JobRecord& job);
  bool FireTimers();
  void Retire(JobId id);
  bool AdoptForgotten();
  bool AdoptFinished();

  Store& store;
  const Clock& clock;
  Random& random;
  OrderSink& orders;
  const EngineOptions options;
  const OnEvents on_events;
  std::shared_ptr<Published> published;
  EngineMetrics metrics;

  // Shared with the store's callbacks, of which one may come after the engine has gone.
  std::shared_ptr<BoundedQueue<Envelope>> inbox;
  std::atomic<bool> stopping{false};
  std::unique_ptr<StandIns> stand_ins;
  std::unique_ptr<Leaving> leaving;
};

}  // namespace muster
