// Cycle: the verdicts of entries that are not admitted, and evictions.
//
// Wait decides what happens to the head for the rest of the plan, as PendingQueues::Settle will do
// after it (rule A15). A head that stays active waits in `waiting` and is tried again in each round
// that something changed before. Any other one is done: its scheduling key, its class, or it alone
// is skipped from now on, and the next head of the queue comes up.
#include "schedd/core/cycle/cycle_impl.h"
#include "schedd/core/queue/workload_class.h"

namespace muster::core {

void Cycle::Wait(CycleQueue* queue, UnadmittedWorkload verdict) {
  if (verdict.second_pass) {
    plan_.not_admitted.push_back(std::move(verdict));
    return;
  }
  const bool pending = verdict.last != nullptr && verdict.last->Pending();
  // A resumed search that came to its end starts over next time, on what others have left since.
  // A search that went from the first flavor to its end has tried all until something changes.
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

// Only queues with concurrent admission remember shortages of room: Yields asks for them.
bool Cycle::RemembersRoom(const CycleQueue& queue) const {
  return settings_.concurrent_admission && queue.spec->concurrent_admission.has_value();
}

// The flavors on which the workload lacked nothing but room come first in its message, and give the
// reason.
void Cycle::AddWhatLacksRoom(const CycleQueue& queue, UnadmittedWorkload* verdict) const {
  std::string message;
  for (const RoomShortage& one : queue.short_of_room) {
    if (one.job->id != verdict->job->id || one.reason == Reason::kNone) continue;
    if (verdict->short_of_room == nullptr && RemembersRoom(queue))
      verdict->short_of_room = one.admission;
    if (one.message == verdict->message) continue;
    if (message.find(one.message) == std::string::npos) message += one.message + "; ";
    if (verdict->reason != Reason::kWaitingForCapacity) verdict->reason = one.reason;
  }
  verdict->message = message + verdict->message;
}

// The verdict, with the place where the flavor search is to go on.
UnadmittedWorkload Cycle::Verdict(const CycleEntry& entry, Reason reason, std::string message,
                                  RequeueReason requeue) const {
  UnadmittedWorkload verdict;
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

// An entry that the quick walk decided has no trace. Where its search would go on is computed here,
// only when it is needed.
void Cycle::TraceScan(CycleEntry* entry) const {
  if (entry->choice == nullptr || entry->second_pass) return;
  AssignRequest request;
  if (entry->resumed != nullptr) request.resume = &entry->resumed->tried;
  entry->assignment = entry->of->plan->Assign(nominated_on_, *entry->job, request);
}

// The entry lost to an earlier one of its round; it goes back as active.
void Cycle::Skip(CycleEntry* entry, Reason reason, const char* message) {
  TraceScan(entry);
  UnadmittedWorkload verdict =
      Verdict(*entry, reason, message, RequeueReason::kFailedAfterNomination);
  verdict.skipped_preemption = entry->mode == FlavorMode::kPreempt;
  Wait(entry->queue, std::move(verdict));
}

// Adds an eviction to the plan, each victim once.
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
