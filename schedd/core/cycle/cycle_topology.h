// CycleTopology: the machines during one cycle: what is taken, where pods can go, and what
// evictions would free (rules A32, A44). Not thread-safe; changes only its own copy of the usage.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "schedd/core/placer/topology_node_placer.h"
#include "schedd/core/preempt/preemption.h"
#include "schedd/core/topology/topology_usage.h"

namespace muster::core {

class CycleTopology {
 public:
  /// `settings` must outlive it. Without a forest there are no machines, and placer() is null.
  CycleTopology(TopologyUsage usage, const AdmissionSettings& settings);
  CycleTopology(const CycleTopology&) = delete;
  CycleTopology& operator=(const CycleTopology&) = delete;

  bool has_machines() const { return placer_.has_value(); }
  NodePlacer* placer() { return placer_ ? &*placer_ : nullptr; }
  TopologyUsage* usage() { return &usage_; }
  /// What a holder takes of the machines; computed once per holder.
  const TopologyCharges& ChargesOf(const JobRecord& holder);
  /// What `admission` takes beyond what `held` (null: nothing) of the same job takes. `cluster`:
  /// the member whose machines were found; the job's own member comes first if it has one.
  TopologyCharges NetChargesOf(const JobRecord& job, const Admission& admission,
                               const JobRecord* held, const std::string& cluster);
  /// The member cluster whose machines an admission names; "" if it names none.
  std::string ClusterOf(const JobRecord& job, const Admission& admission) const;

 private:
  TopologyUsage usage_;
  std::optional<NodePlacer> placer_;
  std::unordered_map<JobId, TopologyCharges> charges_;  // by holder; never iterated
};

/// Answers whether one workload's pods can be placed on machines while victims come and go.
class CycleProbe final : public TopologyProbe {
 public:
  /// All arguments must outlive it.
  CycleProbe(CycleTopology* topology, const JobRecord& job, std::span<const TopologyAsk> asks)
      : topology_(topology), job_(job), asks_(asks) {}
  void Remove(const Holder& holder) override;
  void Restore(const Holder& holder) override;
  bool Fits() override;

 private:
  CycleTopology* topology_;
  const JobRecord& job_;
  std::span<const TopologyAsk> asks_;
};

}  // namespace muster::core
