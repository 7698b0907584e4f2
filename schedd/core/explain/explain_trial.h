// Trial: a copy of a snapshot in which holders of quota can be taken out and put back, to ask
// Decide what it would decide then; for explain and for the preview of an edit. Not thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "schedd/core/cycle/cycle.h"

namespace muster::core {

class Trial {
 public:
  explicit Trial(const Snapshot& base);

  const Snapshot& snapshot() const { return snapshot_; }
  /// Takes out a holder of the snapshot: its quota, machines and room become free.
  void Release(const HolderPtr& holder);
  /// Undoes Release.
  void Restore(const HolderPtr& holder);
  /// The decision if `job` were the only workload that waits.
  Plan Ask(const JobPtr& job);
  bool Admits(const JobPtr& job) { return !Ask(job).admits.empty(); }

 private:
  // Adds the holder's quota, machines and room, or removes them.
  void Count(const Holder& holder, bool held);
  void CountMachines(const ClusterView& base, ClusterView* cluster) const;

  const std::vector<ClusterView> clusters_;  // as in the base snapshot
  std::vector<HolderPtr> released_;
  Snapshot snapshot_;
  std::shared_ptr<Holders> holders_;
};

}  // namespace muster::core
