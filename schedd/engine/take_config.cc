// A configuration becomes the world: amounts are counted anew, jobs follow their queues, what is
// stopped is drained, what was stopped wakes, priorities are pushed.
#include <algorithm>

#include "schedd/engine/leaving_impl.h"
#include "schedd/engine/stand_ins_impl.h"

namespace muster {
namespace {

// As it is with what it reported: a flavor may go by a label that only the member tells.
void WakeForMember(const ConfigView& before, const std::string& name, EngineState* state) {
  const ConfigView& config = *state->live.config;
  state->tx.wakes.insert(state->waits_for_room.begin(), state->waits_for_room.end());
  const auto was = before.member_clusters.find(name);
  const auto is = config.member_clusters.find(name);
  if (was == before.member_clusters.end() || is == config.member_clusters.end()) return;
  const MemberCluster known = WithFacts(was->second, state->facts);
  state->tx.wakes.merge(WokenByMember(&known, WithFacts(is->second, state->facts), config));
}

// A member that was removed is nobody's: the same cluster may come again under any name.
void ForgetMember(const std::string& name, EngineState* state) {
  if (state->live.config->member_clusters.contains(name)) {
    state->removed_members.erase(name);
    return;
  }
  state->removed_members.insert(name);
  state->facts.erase(name);
  state->lost_members.erase(name);
  state->second_names.erase(name);
  state->held_ends.ForgetMember(name);
}

}  // namespace

void Engine::Impl::TakeConfig(ConfigEdit edit) {
  const ConfigPtr before = live.config;
  const std::vector<ObjectKey> changed = std::move(edit.changed);
  live.config = tx.config = std::move(edit.config);
  live.objects = tx.object_table = std::move(edit.objects);
  leaving->Configure();
  if (!edit.matters) {
    // Placements change no amounts: what is charged to whom stays as it is.
    if (before->placements == live.config->placements) return;
    live.pending.TakePlacements(live.config);
    FollowPlacements(*before, changed);
    return;
  }
  tx.other_quotas = true;
  const core::QuotaTreePtr tree_before = live.planned.usage().tree_ptr();
  const core::QuotaTreePtr tree = core::QuotaTree::Build(*live.config);
  tx.wakes.merge(WokenBy({*before, *tree_before}, {*live.config, *tree}, changed));
  for (const auto& [kind, ns, name] : changed) {
    if (kind != ObjectKind::kMemberCluster) continue;
    WakeForMember(*before, name, this);
    ForgetMember(name, this);
  }
  RebuildCharges(tree);
  live.pending.Configure(live.config, tree, options.settings);
  ResolveQueues();
  stand_ins->Resync();
  FollowPlacements(*before, changed);
  PushPriorities(*before);
  SyncReserved();
  DrainStopped();
  WakeRestarted();
  CheckMachines();
  fair.Configure(*live.config, clock.WallNow());
  PutFairUse();
}

void Engine::Impl::RebuildCharges(const core::QuotaTreePtr& tree) {
  Ledger planned(tree, options.settings);
  core::Holders holders(tree);
  for (const auto& [id, job] : live.jobs) {
    planned.Move(nullptr, job.get());
    if (!HoldsQuota(job->state) || job->admission == nullptr) continue;
    holders.Put(HolderOf(*tree, *options.settings, job));
    tx.Touch(*job->admission);  // pairs that left the quota, or came into it
  }
  live.planned = std::move(planned);
  live.holders = std::move(holders);
  forest_known = false;
}

void Engine::Impl::ResolveQueues() {
  std::vector<JobPtr> moved;
  for (const auto& [id, job] : live.jobs) {
    if (job->state != JobState::kPending && job->state != JobState::kHeld) continue;
    const auto queue = live.config->local_queues.find({job->ns, job->local_queue});
    if (queue != live.config->local_queues.end() &&
        queue->second.cluster_queue != job->cluster_queue) {
      moved.push_back(job);
    }
  }
  std::sort(moved.begin(), moved.end(),
            [](const JobPtr& a, const JobPtr& b) { return a->id < b->id; });
  for (const JobPtr& job : moved) {
    auto draft = std::make_shared<JobRecord>(*job);
    draft->cluster_queue = live.config->local_queues.at({job->ns, job->local_queue}).cluster_queue;
    ChangeState(draft.get(), [](AdmissionState*) {});  // another queue than at acceptance is stored
    Put(job, std::move(draft), "JobMoved");
  }
}

// The value of a class is that of all jobs that name it, waiting or running (rule A9).
void Engine::Impl::PushPriorities(const ConfigView& before) {
  std::map<std::string, std::int32_t> changed;
  for (const auto& [name, one] : live.config->priority_classes) {
    const auto was = before.priority_classes.find(name);
    if (was != before.priority_classes.end() && was->second.value != one.value)
      changed[name] = one.value;
  }
  if (changed.empty()) return;
  std::map<JobId, JobPtr> named;
  for (const auto& [id, job] : live.jobs) {
    if (!IsTerminal(job->state) && changed.contains(job->priority_class)) named[id] = job;
  }
  for (const auto& [id, job] : named) {
    auto draft = std::make_shared<JobRecord>(*job);
    draft->priority = changed.at(job->priority_class);
    ChangeState(draft.get(), [](AdmissionState*) {});  // another priority than at acceptance
    WakeTreeAfterCommit(Put(job, std::move(draft), "JobPriorityChanged")->cluster_queue);
  }
}

// A queue with other admission checks than before: those that wait for checks wait for these.
void Engine::Impl::SyncReserved() {
  std::map<JobId, JobPtr> reserved;
  for (const auto& [id, job] : live.jobs) {
    if (job->state == JobState::kReserved && !IsTrue(*job, "Evicted")) reserved[id] = job;
  }
  for (const auto& [id, job] : reserved) {
    const auto queue = live.config->cluster_queues.find(job->admission->cluster_queue);
    if (queue == live.config->cluster_queues.end()) continue;
    auto draft = std::make_shared<JobRecord>(*job);
    const auto checks = RequiredChecks(queue->second, job->admission.get());
    if (SyncChecks(draft.get(), checks, clock.WallNow()))
      GoOn(Put(job, std::move(draft), "JobCheckUpdated"));
  }
}

// HoldAndDrain: what holds quota is evicted. Hold: what was not dispatched yet gives it back
// (rule A54).
void Engine::Impl::DrainStopped() {
  std::map<JobId, JobPtr> holding;
  for (const auto& [id, job] : live.jobs) {
    if (!HoldsQuota(job->state) || job->admission == nullptr) continue;
    if (!changes::IsCancelling(*job) && !changes::IsRequeuing(*job)) holding[id] = job;
  }
  for (const auto& [id, job] : holding) {
    const auto queue = live.config->cluster_queues.find(job->admission->cluster_queue);
    const auto local = live.config->local_queues.find({job->ns, job->local_queue});
    DrainQueue(job, queue == live.config->cluster_queues.end() ? nullptr : &queue->second,
               local == live.config->local_queues.end() ? nullptr : &local->second);
  }
}

void Engine::Impl::DrainQueue(const JobPtr& job, const ClusterQueue* queue,
                              const LocalQueue* local) {
  const StopPolicy of_queue = queue == nullptr ? StopPolicy::kNone : queue->stop_policy;
  const StopPolicy of_local = local == nullptr ? StopPolicy::kNone : local->stop_policy;
  if (of_queue == StopPolicy::kHoldAndDrain) {
    EvictFor(job, Reason::kClusterQueueStopped,
             {"ClusterQueueStopped", "", "The ClusterQueue is stopped"});
  } else if (of_local == StopPolicy::kHoldAndDrain) {
    EvictFor(job, Reason::kLocalQueueStopped,
             {"LocalQueueStopped", "", "The LocalQueue is stopped"});
  } else if (job->state == JobState::kReserved &&
             (of_queue != StopPolicy::kNone || of_local != StopPolicy::kNone)) {
    const std::string name =
        of_queue != StopPolicy::kNone ? "ClusterQueue " + queue->name : "LocalQueue " + local->name;
    Put(job,
        changes::Unreserved(*job, Reason::kSuspended, name + " is stopped", *options.settings,
                            clock.WallNow()),
        kPendingEvent);
  }
}

void Engine::Impl::WakeRestarted() {
  std::map<JobId, JobPtr> waiting;
  for (const auto& [id, job] : live.jobs) {
    const Condition* requeued = FindCondition(*job, "Requeued");
    if (job->state == JobState::kPending && requeued != nullptr && !requeued->status &&
        (requeued->reason == "ClusterQueueStopped" || requeued->reason == "LocalQueueStopped")) {
      waiting[id] = job;
    }
  }
  for (const auto& [id, job] : waiting) {
    const bool of_local = FindCondition(*job, "Requeued")->reason == "LocalQueueStopped";
    if (of_local) {
      const auto local = live.config->local_queues.find({job->ns, job->local_queue});
      if (local == live.config->local_queues.end() ||
          local->second.stop_policy != StopPolicy::kNone) {
        continue;
      }
      Requeued(job, "LocalQueueRestarted", "The LocalQueue was restarted after being stopped");
      continue;
    }
    const auto queue = live.config->cluster_queues.find(job->cluster_queue);
    if (queue == live.config->cluster_queues.end() ||
        queue->second.stop_policy != StopPolicy::kNone) {
      continue;
    }
    Requeued(job, "ClusterQueueRestarted", "The ClusterQueue was restarted after being stopped");
  }
}

}  // namespace muster
