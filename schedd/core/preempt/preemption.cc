// The entry to both searches for victims, the policies (rule A35), and the sentence that a victim
// reads.
//
// Simulate is the flavor search's question (rule A29): a search for one pair alone, without a
// topology probe. The borrowing level is then measured with the victims gone, because that is the
// state in which the preemptor would be admitted. The victims are kept: if the flavor search then
// chooses that very pair, the cycle does not search a second time (Simulated).
#include "schedd/core/preempt/preemption.h"

#include <algorithm>
#include <array>

#include "schedd/core/preempt/preemption_classical.h"
#include "schedd/core/preempt/preemption_fair.h"
#include "schedd/core/preempt/victim_room.h"

namespace muster::core {
namespace {

std::string OrUnknown(const std::string& text) { return text.empty() ? "UNKNOWN" : text; }

// Kueue's words for the reasons of preemption.
std::string DueTo(Reason reason) {
  switch (reason) {
    case Reason::kInClusterQueue:
      return "prioritization in the ClusterQueue";
    case Reason::kInCohortReclamation:
      return "reclamation within the cohort";
    case Reason::kInCohortFairSharing:
      return "Fair Sharing within the cohort";
    case Reason::kInCohortReclaimWhileBorrowing:
      return "reclamation within the cohort while borrowing";
    default:
      return "";
  }
}

}  // namespace

std::vector<Victim> VictimSearch::Find(const Preemptor& preemptor, std::span<const Charge> requests,
                                       std::span<const FlavorResourceIndex> contested,
                                       TopologyProbe* probe) {
  const VictimQuery query{settings_, holders_, local_usages_, preemptor, requests, contested};
  VictimRoom room(query, usage_, probe);
  return settings_.fair_sharing ? FairVictims(query, &room) : ClassicalVictims(query, &room);
}

PreemptionOutlook VictimSearch::Simulate(const Preemptor& preemptor, FlavorResourceIndex pair,
                                         std::int64_t amount) {
  const std::array<Charge, 1> requests = {{{pair, amount}}};
  simulated_ = requests[0];
  simulated_victims_ = Find(preemptor, requests, {{pair}}, nullptr);
  const std::vector<Victim>& victims = simulated_victims_;
  PreemptionOutlook outlook;
  // One victim of the own queue makes it a preemption, else it is a reclamation.
  bool own = false;
  for (const Victim& victim : victims) {
    own = own || victim.holder->queue == preemptor.queue;
    for (const Charge& charge : victim.holder->charges) {
      usage_->Remove(victim.holder->queue, charge.pair, charge.amount);
    }
  }
  outlook.borrowing_level = usage_->BorrowingLevel(preemptor.queue, pair, amount);
  for (const Victim& victim : victims) {
    for (const Charge& charge : victim.holder->charges) {
      usage_->Add(victim.holder->queue, charge.pair, charge.amount);
    }
  }
  using Possibility = PreemptionOutlook::Possibility;
  if (!victims.empty()) outlook.possibility = own ? Possibility::kPreempt : Possibility::kReclaim;
  return outlook;
}

const std::vector<Victim>* VictimSearch::Simulated(
    std::span<const Charge> requests, std::span<const FlavorResourceIndex> contested) const {
  const bool same = requests.size() == 1 && requests[0] == simulated_ && contested.size() == 1 &&
                    contested[0] == simulated_.pair;
  return same ? &simulated_victims_ : nullptr;
}

// "Newer" means a later queue timestamp than the preemptor's.
bool SatisfiesPolicy(const Preemptor& preemptor, const Holder& candidate, PreemptionPolicy policy) {
  switch (policy) {
    case PreemptionPolicy::kNever:
      return false;
    case PreemptionPolicy::kLowerPriority:
      return candidate.priority < preemptor.priority;
    case PreemptionPolicy::kLowerOrNewerEqualPriority:
      return candidate.priority < preemptor.priority ||
             (candidate.priority == preemptor.priority &&
              preemptor.queue_time < candidate.queue_time);
    case PreemptionPolicy::kAny:
      return true;
  }
  return false;
}

std::string PreemptionMessage(const std::string& preemptor_uid, const std::string& job_uid,
                              Reason reason, const std::string& preemptor_path,
                              const std::string& preemptee_path) {
  return "Preempted to accommodate a workload (UID: " + OrUnknown(preemptor_uid) +
         ", JobUID: " + OrUnknown(job_uid) + ") due to " + OrUnknown(DueTo(reason)) +
         "; preemptor path: " + OrUnknown(preemptor_path) +
         "; preemptee path: " + OrUnknown(preemptee_path);
}

}  // namespace muster::core
