// Cycle: what becomes of an entry that is not admitted, and evictions.
#include "schedd/core/cycle/cycle_impl.h"
#include "schedd/core/queue/workload_class.h"

namespace muster::core {

// Keeps what its queue will do with it once the plan is taken over (PendingQueues::Settle).
void Cycle::Wait(CycleQueue* queue, NotAdmitted verdict) {
  if (verdict.second_pass) {
    plan_.not_admitted.push_back(std::move(verdict));
    return;
  }
  const bool pending = verdict.last != nullptr && verdict.last->Pending();
  // A search that went on where an earlier one had ended starts over next time, on what others have
  // left since; once one has gone from the first flavor to its end, the head has tried all there is
  // until something changes.
  const bool misfit = verdict.requeue == RequeueReason::kNoFit ||
                      verdict.requeue == RequeueReason::kPreemptionNoCandidates;
  if (misfit && !pending) AddWhatLacksRoom(*queue, &verdict);
  queue->tried_all = queue->tried_all || (!pending && queue->searched_whole);
  if (pending || RequeuesAtOnce(verdict.requeue, queue->strict())) {
    const bool starts_over = queue->resumed && !queue->searched_whole;
    scans_pending_ = scans_pending_ || (!queue->tried_all && (pending || starts_over));
    queue->tried = true;
    queue->last = verdict.last;
    if (verdict.requeue == RequeueReason::kPendingPreemption ||
        verdict.requeue == RequeueReason::kPendingMigration) {
      queue->preemptor = verdict.job->id;
    }
    queue->waiting = std::move(verdict);
    return;
  }
  progress_ = true;
  queue->tried = false;
  queue->last.reset();
  queue->waiting.reset();
  if (misfit && settings_.equivalence_hashing) {
    queue->parked.insert(queue->head_class->scheduling_key);
  } else if (verdict.requeue == RequeueReason::kGated) {
    queue->head_class->set_aside = true;
  } else {
    ++queue->next;
  }
  plan_.not_admitted.push_back(std::move(verdict));
}

// Only a variant that would move asks.
bool Cycle::RemembersRoom(const CycleQueue& queue) const {
  return settings_.concurrent_admission && queue.spec->concurrent_admission.has_value();
}

// It was short of room alone on a flavor before the last one that it tried: that comes first.
void Cycle::AddWhatLacksRoom(const CycleQueue& queue, NotAdmitted* verdict) const {
  std::string message;
  for (const ShortOfRoom& one : queue.short_of_room) {
    if (one.job->id != verdict->job->id || one.reason == Reason::kNone) continue;
    if (verdict->short_of_room == nullptr && RemembersRoom(queue))
      verdict->short_of_room = one.admission;
    if (one.message == verdict->message) continue;
    if (message.find(one.message) == std::string::npos) message += one.message + "; ";
    if (verdict->reason != Reason::kWaitingForCapacity) verdict->reason = one.reason;
  }
  verdict->message = message + verdict->message;
}

NotAdmitted Cycle::Verdict(const CycleEntry& entry, Reason reason, std::string message,
                           RequeueReason requeue) const {
  NotAdmitted verdict;
  verdict.job = entry.job;
  verdict.reason = reason;
  verdict.message = std::move(message);
  verdict.requeue = requeue;
  verdict.second_pass = entry.second_pass;
  if (input_.keep_assignments) verdict.assignment = entry.assignment;
  if (entry.assignment != nullptr && !entry.second_pass) {
    LastAssignment last;
    last.tried = entry.assignment->last_tried;
    last.generation = entry.queue->heads->generation;
    last.cycle = number_;
    if (entry.resumed != nullptr) {
      last.before = entry.resumed->before;
      last.before.push_back(entry.resumed->tried);
    }
    if (!last.Ended()) {
      verdict.last = std::make_shared<const LastAssignment>(std::move(last));
    }
  }
  return verdict;
}

// One that fitted at first sight did so without a trace; where its search would go on is worked out
// only when it is needed.
void Cycle::TraceScan(CycleEntry* entry) const {
  if (entry->choice == nullptr || entry->second_pass) return;
  AssignRequest request;
  if (entry->resumed != nullptr) request.resume = &entry->resumed->tried;
  entry->assignment = entry->of->plan->Assign(nominated_on_, *entry->job, request);
}

// Another entry came first; it has its next turn at once.
void Cycle::Skip(CycleEntry* entry, Reason reason, const char* message) {
  TraceScan(entry);
  NotAdmitted verdict = Verdict(*entry, reason, message, RequeueReason::kFailedAfterNomination);
  verdict.skipped_preemption = entry->mode == FlavorMode::kPreempt;
  Wait(entry->queue, std::move(verdict));
}

void Cycle::Evict(Eviction eviction) {
  if (!evicted_.insert(eviction.victim->id).second) return;
  progress_ = true;
  plan_.evictions.push_back(std::move(eviction));
}

std::string EvictionMessage(const Eviction& eviction, const std::string& preemptor_uid,
                            const std::string& preemptor_job_uid) {
  switch (eviction.reason) {
    case Reason::kPreempted:
      return PreemptionMessage(preemptor_uid, preemptor_job_uid, eviction.preemption_reason,
                               eviction.preemptor_path, eviction.victim_path);
    case Reason::kFlavorMigration:
      return "Evicted to accommodate a workload (UID: " +
             (preemptor_uid.empty() ? std::string("UNKNOWN") : preemptor_uid) +
             ") due to migration to more favorable resource flavor";
    default:
      break;
  }
  std::string nodes;
  if (eviction.victim->admission_state) {
    for (const auto& node : eviction.victim->admission_state->unhealthy_nodes) {
      nodes += (nodes.empty() ? "" : ",") + node;
    }
  }
  return "Workload was evicted as there was no replacement for unhealthy node(s): " + nodes;
}

}  // namespace muster::core
