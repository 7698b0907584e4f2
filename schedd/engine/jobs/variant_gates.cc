// Whether a variant may preempt is a gate. Gates are opened one after the other, the best flavor
// first, and the next one when the variant before it has had its time (KEP-8691, rule A57).
#include "schedd/engine/context/object_names.h"
#include "schedd/engine/jobs/stand_in_queue.h"

namespace muster {
namespace {

constexpr std::int64_t kGateWaitUs = 5 * 60 * kMicrosPerSecond;

}  // namespace

// Gates that were opened for a job that waited are closed for one that runs, and the other way.
std::set<std::size_t> StandInQueue::OpenGates(const JobRecord& job) {
  const auto notes = variant_notes_.find(job.id);
  if (notes == variant_notes_.end()) return {};
  if (notes->second.holds == HoldsQuota(job.state) && !IsTerminal(job.state))
    return notes->second.open;
  variant_notes_.erase(notes);
  return {};
}

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

// One variant at a time, the best flavor first; the next one when that has had its time.
void StandInQueue::OpenNextGate(const JobPtr& job) {
  VariantNotes& notes = variant_notes_[job->id];
  const WallTime now = context_.clock.WallNow();
  if (notes.next.set() && now < notes.next) return;
  for (const std::size_t slot : notes.blocked) {
    if (!notes.open.insert(slot).second) continue;
    notes.next = WallTime{now.us + kGateWaitUs};
    gate_times_.emplace(notes.next, job->id);
    commits_.AddEvent("JobPreemptionGateOpened", job->id, ObjectName(*job), "",
                      "A variant may preempt: the one of flavor number " + std::to_string(slot));
    Sync(job);
    return;
  }
}

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
