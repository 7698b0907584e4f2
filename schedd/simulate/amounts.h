// Amounts: what the jobs of a simulation hold: quota, room on members, machines. Charged and given
// back job by job, never recomputed. Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "schedd/core/cycle/snapshot.h"

namespace muster::simulate {

class Amounts {
 public:
  Amounts(ConfigPtr config, AdmissionSettingsPtr settings);

  /// Takes the newest record of a job that holds quota: charges what is new, gives back what the
  /// job no longer holds, and updates its entry among the possible victims.
  void Put(const JobPtr& job);
  /// The job holds nothing any more; no effect if it did not.
  void Erase(JobId id);
  bool Holds(JobId id) const { return held_.contains(id); }

  /// Fills usage, holders, topology and clusters. The holders are shared, not copied: the snapshot
  /// may not outlive the next Put or Erase.
  void Fill(core::Snapshot* snapshot) const;
  const core::QuotaTreePtr& tree() const { return usage_.tree_ptr(); }

 private:
  // What was charged for one job, so that the same is given back.
  struct HeldAmounts {
    AdmissionPtr admission, charged;
    core::TopologyCharges machines;
    ResourceList room;
    std::size_t member = 0;
  };
  void Charge(const JobRecord& job, HeldAmounts* held);
  void GiveBack(const HeldAmounts& held);
  void AddRoom(std::size_t member, const ResourceList& amounts, int sign);

  ConfigPtr config_;
  AdmissionSettingsPtr settings_;
  core::Usage usage_;
  core::Holders holders_;
  // Null: there are no machines.
  core::TopologyForestPtr forest_;
  core::TopologyUsage machines_;
  // Sorted by name.
  std::vector<core::ClusterView> clusters_;
  std::map<std::string, std::size_t> cluster_of_;
  // Looked up, never iterated: its order would differ between runs.
  std::unordered_map<JobId, HeldAmounts> held_;
};

}  // namespace muster::simulate
