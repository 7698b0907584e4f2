// How jobs follow a new configuration (called by Take): their queues, the priorities of their
// classes, the admission checks of their ClusterQueues, and queues that were stopped or go on. Each
// step looks at all jobs in memory, collects those that it concerns, and changes them in id order,
// so that equal edits give equal events. Collecting first is necessary: each Put changes the table
// that is looked through.
#include <algorithm>
#include <map>

#include "schedd/engine/configure/configuration.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster {

// Waiting jobs whose LocalQueue leads to another ClusterQueue move there; jobs that hold quota stay
// charged where they are.
void Configuration::ResolveQueues() {
  std::vector<JobPtr> moved;
  for (const auto& [id, job] : jobs_.all()) {
    if (job->state != JobState::kPending && job->state != JobState::kHeld) continue;
    const auto queue = config_.view()->local_queues.find({job->ns, job->local_queue});
    if (queue != config_.view()->local_queues.end() &&
        queue->second.cluster_queue != job->cluster_queue) {
      moved.push_back(job);
    }
  }
  std::sort(moved.begin(), moved.end(),
            [](const JobPtr& a, const JobPtr& b) { return a->id < b->id; });
  for (const JobPtr& job : moved) {
    auto draft = std::make_shared<JobRecord>(*job);
    draft->cluster_queue =
        config_.view()->local_queues.at({job->ns, job->local_queue}).cluster_queue;
    // Makes the record have an AdmissionState: only then a queue other than at acceptance is
    // stored.
    ChangeState(draft.get(), [](AdmissionState*) {});
    jobs_.Put(job, std::move(draft), "JobMoved");
  }
}

// The value of a class is that of all jobs that name it, waiting or running (rule A9). The tree of
// each job is woken, because the order of victims has changed too. Jobs of a class that was removed
// keep their priority.
void Configuration::PushPriorities(const ConfigView& before) {
  std::map<std::string, std::int32_t> changed;
  for (const auto& [name, one] : config_.view()->priority_classes) {
    const auto was = before.priority_classes.find(name);
    if (was != before.priority_classes.end() && was->second.value != one.value)
      changed[name] = one.value;
  }
  if (changed.empty()) return;
  std::map<JobId, JobPtr> named;
  for (const auto& [id, job] : jobs_.all()) {
    if (!IsTerminal(job->state) && changed.contains(job->priority_class)) named[id] = job;
  }
  for (const auto& [id, job] : named) {
    auto draft = std::make_shared<JobRecord>(*job);
    draft->priority = changed.at(job->priority_class);
    // As above: a priority other than at acceptance is stored with the AdmissionState.
    ChangeState(draft.get(), [](AdmissionState*) {});
    jobs_.WakeTreeAfterCommit(
        jobs_.Put(job, std::move(draft), "JobPriorityChanged")->cluster_queue);
  }
}

// A queue may have other admission checks than before: reserved jobs wait for the present ones, and
// go on if none is open any more. Dispatched jobs are not asked again.
void Configuration::SyncReserved() {
  std::map<JobId, JobPtr> reserved;
  for (const auto& [id, job] : jobs_.all()) {
    if (job->state == JobState::kReserved && !IsTrue(*job, "Evicted")) reserved[id] = job;
  }
  for (const auto& [id, job] : reserved) {
    const auto queue = config_.view()->cluster_queues.find(job->admission->cluster_queue);
    if (queue == config_.view()->cluster_queues.end()) continue;
    auto draft = std::make_shared<JobRecord>(*job);
    const auto checks = RequiredChecks(queue->second, job->admission.get());
    if (SyncChecks(draft.get(), checks, context_.clock.WallNow()))
      attempts_.GoOn(jobs_.Put(job, std::move(draft), "JobCheckUpdated"));
  }
}

// Goes over all holders, whatever the edit was, so it may be repeated at any time.
void Configuration::DrainStopped() {
  std::map<JobId, JobPtr> holding;
  for (const auto& [id, job] : jobs_.all()) {
    if (!HoldsQuota(job->state) || job->admission == nullptr) continue;
    if (!changes::IsCancelling(*job) && !changes::IsRequeuing(*job)) holding[id] = job;
  }
  for (const auto& [id, job] : holding) {
    const auto queue = config_.view()->cluster_queues.find(job->admission->cluster_queue);
    const auto local = config_.view()->local_queues.find({job->ns, job->local_queue});
    DrainQueue(job, queue == config_.view()->cluster_queues.end() ? nullptr : &queue->second,
               local == config_.view()->local_queues.end() ? nullptr : &local->second);
  }
}

// One holder. The ClusterQueue's policy goes before the LocalQueue's. `queue` and `local` are null
// if they do not exist.
void Configuration::DrainQueue(const JobPtr& job, const ClusterQueue* queue,
                               const LocalQueue* local) {
  const StopPolicy of_queue = queue == nullptr ? StopPolicy::kNone : queue->stop_policy;
  const StopPolicy of_local = local == nullptr ? StopPolicy::kNone : local->stop_policy;
  if (of_queue == StopPolicy::kHoldAndDrain) {
    attempts_.EvictFor(job, Reason::kClusterQueueStopped,
                       {"ClusterQueueStopped", "", "The ClusterQueue is stopped"});
  } else if (of_local == StopPolicy::kHoldAndDrain) {
    attempts_.EvictFor(job, Reason::kLocalQueueStopped,
                       {"LocalQueueStopped", "", "The LocalQueue is stopped"});
  } else if (job->state == JobState::kReserved &&
             (of_queue != StopPolicy::kNone || of_local != StopPolicy::kNone)) {
    const std::string name =
        of_queue != StopPolicy::kNone ? "ClusterQueue " + queue->name : "LocalQueue " + local->name;
    jobs_.Put(job,
              changes::Unreserved(*job, Reason::kSuspended, name + " is stopped",
                                  context_.settings(), context_.clock.WallNow()),
              kPendingEvent);
  }
}

// Jobs that a stopped queue evicted wait with Requeued=False until that queue goes on.
void Configuration::WakeRestarted() {
  std::map<JobId, JobPtr> waiting;
  for (const auto& [id, job] : jobs_.all()) {
    const Condition* requeued = FindCondition(*job, "Requeued");
    if (job->state == JobState::kPending && requeued != nullptr && !requeued->status &&
        (requeued->reason == "ClusterQueueStopped" || requeued->reason == "LocalQueueStopped")) {
      waiting[id] = job;
    }
  }
  for (const auto& [id, job] : waiting) WakeRestarted(job);
}

// Retries one such job if the queue that stopped it is not stopped any more.
void Configuration::WakeRestarted(const JobPtr& job) {
  const ConfigView& config = *config_.view();
  if (FindCondition(*job, "Requeued")->reason == "LocalQueueStopped") {
    const auto local = config.local_queues.find({job->ns, job->local_queue});
    if (local != config.local_queues.end() && local->second.stop_policy == StopPolicy::kNone) {
      attempts_.Retry(job, "LocalQueueRestarted",
                      "The LocalQueue was restarted after being stopped");
    }
    return;
  }
  const auto queue = config.cluster_queues.find(job->cluster_queue);
  if (queue != config.cluster_queues.end() && queue->second.stop_policy == StopPolicy::kNone) {
    attempts_.Retry(job, "ClusterQueueRestarted",
                    "The ClusterQueue was restarted after being stopped");
  }
}

}  // namespace muster
