// Ledger: what the jobs of one world hold: quota per ClusterQueue, room per member cluster, counts
// per queue.
//
// It changes only by Move(before, after), so whatever a record charged is given back exactly once,
// by the record that replaces it. Not thread-safe.
#pragma once

#include <map>
#include <string>

#include "backends/backend.h"
#include "schedd/core/cycle/snapshot.h"
#include "schedd/core/quota/quota_tree.h"
#include "schedd/model/job.h"
#include "schedd/world/world_view.h"

namespace muster {

/// A member as declared, with what it reported since laid over it.
MemberCluster WithFacts(const MemberCluster& declared,
                        const std::map<std::string, ClusterFacts>& facts);

class Ledger {
 public:
  Ledger() = default;
  Ledger(core::QuotaTreePtr tree, AdmissionSettingsPtr settings)
      : settings_(std::move(settings)), usage_(std::move(tree)) {}

  /// A record takes the place of another; null stands for "no such job".
  void Move(const JobRecord* before, const JobRecord* after);

  const core::Usage& usage() const { return usage_; }
  /// Jobs by state group, per ClusterQueue; only `reserving`, `admitted` and `finished` are filled.
  const std::map<std::string, QueueStats>& queues() const { return queues_; }
  /// Pending and held jobs.
  std::size_t waiting() const { return waiting_; }
  /// The members of a configuration with what is left on them. `facts` overlay what was declared.
  std::vector<core::ClusterView> Clusters(const ConfigView& config,
                                          const std::map<std::string, ClusterFacts>& facts) const;

 private:
  struct HeldRoom {
    ResourceList amounts;
    std::size_t attempts = 0;
  };
  void Count(const JobRecord& job, int sign);

  AdmissionSettingsPtr settings_;
  core::Usage usage_;
  std::map<std::string, HeldRoom> held_;
  std::map<std::string, QueueStats> queues_;
  std::size_t waiting_ = 0;
};

}  // namespace muster
