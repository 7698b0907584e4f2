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

  /// The newest record of a job that holds quota: charges what it has not yet, gives back what it
  /// has no more, and keeps its standing as a victim.
  void Put(const JobPtr& job);
  /// It holds nothing any more; no-op if it did not.
  void Erase(JobId id);
  bool Holds(JobId id) const { return held_.contains(id); }

  /// Fills usage, holders, topology and clusters. The holders are shared, not copied: the snapshot
  /// may not outlive the next Put or Erase.
  void Fill(core::Snapshot* snapshot) const;
  const core::QuotaTreePtr& tree() const { return usage_.tree_ptr(); }

 private:
  struct Held {
    AdmissionPtr admission, charged;
    core::TopologyCharges machines;
    ResourceList room;
    std::size_t member = 0;
  };
  void Charge(const JobRecord& job, Held* held);
  void GiveBack(const Held& held);
  void AddRoom(std::size_t member, const ResourceList& amounts, int sign);

  ConfigPtr config_;
  AdmissionSettingsPtr settings_;
  core::Usage usage_;
  core::Holders holders_;
  core::TopologyForestPtr forest_;  // null: no machines
  core::TopologyUsage machines_;
  std::vector<core::ClusterView> clusters_;  // in name order
  std::map<std::string, std::size_t> cluster_of_;
  std::unordered_map<JobId, Held> held_;  // looked up, never iterated
};

}  // namespace muster::simulate
