// The search for victims (rules A37 classical, A41 fair sharing; KEP-83, 1337, 1714): which
// quota holders to evict so that a workload fits. Pure; the usage and the probe are changed while
// searching and are as before when a call returns.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schedd/core/quota/holders.h"
#include "schedd/core/quota/local_queue_usages.h"
#include "schedd/core/quota/quota_tree.h"
#include "schedd/model/admission_settings.h"
#include "schedd/model/queues.h"

namespace muster::core {

/// Who wants room.
struct Preemptor {
  const JobRecord* job = nullptr;
  NodeIndex queue = -1;
  std::int64_t priority = 0;  // effective
  WallTime queue_time;
};

struct Victim {
  HolderPtr holder;
  Reason reason = Reason::kNone;  // kInClusterQueue, kInCohortReclamation, kInCohortFairSharing,
                                  // kInCohortReclaimWhileBorrowing
};

/// Whether the nodes have room, while victims come and go. Topology aware scheduling implements it.
class TopologyProbe {
 public:
  virtual ~TopologyProbe() = default;
  virtual void Remove(const Holder& holder) = 0;   // its pods are taken off their nodes
  virtual void Restore(const Holder& holder) = 0;  // and put back
  virtual bool Fits() = 0;                         // the preemptor's pods can be placed now
};

/// What a preemption for one pair alone could do (rule A29).
struct PreemptionOutlook {
  enum class Possibility : std::uint8_t { kNoCandidates, kPreempt, kReclaim };
  Possibility possibility = Possibility::kNoCandidates;
  std::int32_t borrowing_level = 0;  // measured with the victims gone
};

/// Answers the flavor search's question "could preemption make room here?".
class PreemptionOracle {
 public:
  virtual ~PreemptionOracle() = default;
  virtual PreemptionOutlook Simulate(const Preemptor& preemptor, FlavorResourceIndex pair,
                                     std::int64_t amount) = 0;
};

/// Both algorithms behind one door: classical, or fair sharing if the settings turn it on. Policies
/// and weights come from the usage's tree. Not thread-safe.
class VictimSearch final : public PreemptionOracle {
 public:
  /// All must outlive the search. `usage` is changed and restored by every call; `holders` must be
  /// what it is made of. `local_usages` may be null: no admission fair sharing.
  VictimSearch(const AdmissionSettings& settings, const Holders& holders, Usage* usage,
               const LocalQueueUsages* local_usages = nullptr)
      : settings_(settings), holders_(holders), usage_(usage), local_usages_(local_usages) {}

  /// The victims that make room for `requests`, of which the pairs of `contested` lack it; in the
  /// order chosen. Empty: none would do. `probe` may be null.
  std::vector<Victim> Find(const Preemptor& preemptor, std::span<const Charge> requests,
                           std::span<const FlavorResourceIndex> contested, TopologyProbe* probe);

  PreemptionOutlook Simulate(const Preemptor& preemptor, FlavorResourceIndex pair,
                             std::int64_t amount) override;
  /// What Find would give without a probe, if the last Simulate asked exactly this on the usage as
  /// it is; null if it asked something else. Good until the next Simulate.
  const std::vector<Victim>* Simulated(std::span<const Charge> requests,
                                       std::span<const FlavorResourceIndex> contested) const;

 private:
  const AdmissionSettings& settings_;
  const Holders& holders_;
  Usage* usage_;
  const LocalQueueUsages* local_usages_;
  Charge simulated_;  // what the last Simulate asked for; pair -1: none did
  std::vector<Victim> simulated_victims_;
};

/// True if `candidate` may be evicted under `policy` (rule A35).
bool SatisfiesPolicy(const Preemptor& preemptor, const Holder& candidate, PreemptionPolicy policy);

/// "Preempted to accommodate a workload (UID: ..., JobUID: ...) due to ...; preemptor path: ...;
/// preemptee path: ..." (rule A59). Empty strings read UNKNOWN.
std::string PreemptionMessage(const std::string& preemptor_uid, const std::string& job_uid,
                              Reason reason, const std::string& preemptor_path,
                              const std::string& preemptee_path);

}  // namespace muster::core
