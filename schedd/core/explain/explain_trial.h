// Trial: a copy of a snapshot in which holders of quota come and go, to ask Decide what it would
// say then: for explain, and for the preview of an edit. Not thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "schedd/core/cycle/cycle.h"

namespace muster::core {

class Trial {
 public:
  explicit Trial(const Snapshot& base);

  const Snapshot& snapshot() const { return snapshot_; }
  /// Gives back quota, machines and room of a holder of the snapshot.
  void Release(const HolderPtr& holder);
  /// Undoes Release.
  void Restore(const HolderPtr& holder);
  /// What Decide says if `job` is the only one that waits.
  Plan Ask(const JobPtr& job);
  bool Admits(const JobPtr& job) { return !Ask(job).admits.empty(); }

 private:
  void Count(const Holder& holder, bool held);
  void CountMachines(const ClusterView& base, ClusterView* cluster) const;

  const std::vector<ClusterView> clusters_;  // with nobody released
  std::vector<HolderPtr> released_;
  Snapshot snapshot_;
  std::shared_ptr<Holders> holders_;
};

}  // namespace muster::core
