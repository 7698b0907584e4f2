// Preemption gates of variants (KEP-8691, rule A57): methods of StandInQueue.
//
// All variants of a job wait at once, but not all may preempt: victims would be evicted for several
// flavors of one job. So each variant has a gate, closed at first. A variant that could be admitted
// only by preemption is blocked at its gate. Then the gate of the best blocked flavor is opened; if
// the job is still not admitted after kGateWaitUs, the next one is. Which gates are open is in
// memory alone: after a restart they are closed and the sequence begins again.
//
// NoteVariant also makes the job's sentence of the findings of all its variants: the reason of the
// best flavor, and the different messages joined.
#include "schedd/engine/context/object_names.h"
#include "schedd/engine/jobs/stand_in_queue.h"

namespace muster {
namespace {

// Five minutes between the opening of two gates of one job.
constexpr std::int64_t kGateWaitUs = 5 * 60 * kMicrosPerSecond;

}  // namespace

// Gates that were opened while the job waited are closed for a job that runs and wants to move, and
// the other way round; an ended job has none.
std::set<std::size_t> StandInQueue::OpenGates(const JobRecord& job) {
  const auto notes = variant_notes_.find(job.id);
  if (notes == variant_notes_.end()) return {};
  if (notes->second.holds == HoldsQuota(job.state) && !IsTerminal(job.state))
    return notes->second.open;
  variant_notes_.erase(notes);
  return {};
}

// Keeps the finding of one variant and, while the job waits, shows all findings together.
void StandInQueue::NoteVariant(const JobPtr& job, const core::UnadmittedWorkload& waiting) {
  VariantNotes& notes = variant_notes_[job->id];
  notes.holds = HoldsQuota(job->state);
  const std::size_t slot = SlotOf(waiting.job->id);
  notes.found[slot] = {waiting.reason, waiting.message};
  if (waiting.preemption_gated) {
    notes.blocked.insert(slot);
    OpenNextGate(job);
  } else {
    notes.blocked.erase(slot);
  }
  if (job->state != JobState::kPending) return;
  Reason reason = Reason::kNone;
  std::string message;
  for (const auto& [position, found] : variant_notes_[job->id].found) {
    if (reason == Reason::kNone) reason = found.first;
    if (message.find(found.second) == std::string::npos)
      message += (message.empty() ? "" : "; ") + found.second;
  }
  const WallTime at = context_.clock.WallNow();
  jobs_.PutSoft(
      job,
      [&](const JobRecord& one) {
    return changes::Waiting(one, reason, message, context_.settings(), at);
      },
      true);
}

// Entries of a batch script in other partitions have gates too, so that it preempts in one
// partition at a time: its own goes first, and the first of the others kGateWaitUs after it was
// blocked. The job shows the reason that its own partition gives.
void StandInQueue::NotePartition(const JobPtr& job, const core::UnadmittedWorkload& waiting) {
  if (!waiting.preemption_gated) return;
  VariantNotes& notes = variant_notes_[job->id];
  notes.holds = HoldsQuota(job->state);
  notes.blocked.insert(SlotOf(waiting.job->id));
  if (!notes.next.set()) {
    notes.next = WallTime{context_.clock.WallNow().us + kGateWaitUs};
    gate_times_.emplace(notes.next, job->id);
  }
  OpenNextGate(job);
}

// Opens one gate, that of the best blocked flavor whose gate is closed, unless the last one was
// opened less than kGateWaitUs ago. Sync gives the queue the variant with its open gate.
void StandInQueue::OpenNextGate(const JobPtr& job) {
  VariantNotes& notes = variant_notes_[job->id];
  const WallTime now = context_.clock.WallNow();
  if (notes.next.set() && now < notes.next) return;
  for (const std::size_t slot : notes.blocked) {
    if (!notes.open.insert(slot).second) continue;
    notes.next = WallTime{now.us + kGateWaitUs};
    gate_times_.emplace(notes.next, job->id);
    commits_.AddEvent(
        "JobPreemptionGateOpened", job->id, ObjectName(*job), "",
        "An entry may preempt: the one of flavor or partition number " + std::to_string(slot));
    Sync(job);
    return;
  }
}

// A time may be left over from gates that were closed since; then OpenNextGate finds nothing to do.
bool StandInQueue::FireGates() {
  bool fired = false;
  const WallTime now = context_.clock.WallNow();
  while (!gate_times_.empty() && gate_times_.begin()->first <= now) {
    const JobId id = gate_times_.begin()->second;
    gate_times_.erase(gate_times_.begin());
    fired = true;
    const JobPtr job = jobs_.Find(id);
    if (job != nullptr && variant_notes_.contains(id)) OpenNextGate(job);
  }
  return fired;
}

}  // namespace muster
