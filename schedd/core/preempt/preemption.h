// The search for victims: which quota holders to evict so that a workload fits (rule A37 classical,
// rule A41 fair sharing; KEP-83, KEP-1337, KEP-1714). Pure: a call changes the usage and the probe
// while it searches and restores both before it returns.
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

/// The workload that needs room.
struct Preemptor {
  const JobRecord* job = nullptr;
  NodeIndex queue = -1;
  std::int64_t priority = 0;  // effective
  WallTime queue_time;
};

struct Victim {
  HolderPtr holder;
  /// kInClusterQueue, kInCohortReclamation, kInCohortFairSharing or kInCohortReclaimWhileBorrowing.
  Reason reason = Reason::kNone;
};

/// Answers whether the machines have room while victims are taken away and put back. Topology aware
/// scheduling and the search for room on members implement it.
class TopologyProbe {
 public:
  virtual ~TopologyProbe() = default;
  virtual void Remove(const Holder& holder) = 0;   // takes the holder's pods off their nodes
  virtual void Restore(const Holder& holder) = 0;  // undoes Remove
  virtual bool Fits() = 0;                         // true if the preemptor's pods can be placed now
};

/// What a preemption for one pair alone could do (rule A29): kPreempt if some victim is of the
/// preemptor's own queue, kReclaim if none is.
struct PreemptionOutlook {
  enum class Possibility : std::uint8_t { kNoCandidates, kPreempt, kReclaim };
  Possibility possibility = Possibility::kNoCandidates;
  std::int32_t borrowing_level = 0;  // measured with the victims gone
};

/// Answers the flavor search's question whether preemption could make room for one pair.
class PreemptionOracle {
 public:
  virtual ~PreemptionOracle() = default;
  virtual PreemptionOutlook Simulate(const Preemptor& preemptor, FlavorResourceIndex pair,
                                     std::int64_t amount) = 0;
};

/// Runs the classical search, or that of fair sharing if the settings turn it on. Policies and
/// weights come from the usage's tree. Not thread-safe.
class VictimSearch final : public PreemptionOracle {
 public:
  /// All arguments must outlive the search. Every call changes `usage` and restores it; `holders`
  /// must be those that `usage` is made of. `local_usages` may be null: no admission fair sharing.
  VictimSearch(const AdmissionSettings& settings, const Holders& holders, Usage* usage,
               const LocalQueueUsages* local_usages = nullptr)
      : settings_(settings), holders_(holders), usage_(usage), local_usages_(local_usages) {}

  /// The victims, in Kueue's order, that make room for `requests`; the pairs of `contested` are
  /// those that lack room. Empty if no victims make enough room. `probe` may be null.
  std::vector<Victim> Find(const Preemptor& preemptor, std::span<const Charge> requests,
                           std::span<const FlavorResourceIndex> contested, TopologyProbe* probe);

  PreemptionOutlook Simulate(const Preemptor& preemptor, FlavorResourceIndex pair,
                             std::int64_t amount) override;
  /// What Find would return without a probe, if the last Simulate asked for exactly these requests;
  /// else null. Valid until the next Simulate, and right only while the usage has not changed
  /// since.
  const std::vector<Victim>* Simulated(std::span<const Charge> requests,
                                       std::span<const FlavorResourceIndex> contested) const;

 private:
  const AdmissionSettings& settings_;
  const Holders& holders_;
  Usage* usage_;
  const LocalQueueUsages* local_usages_;
  Charge simulated_;  // the request of the last Simulate; pair -1: no call yet
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
