// Ledger: the sums over the jobs of one world: quota per ClusterQueue, room per member cluster,
// numbers of jobs per queue.
//
// It changes only by Move(before, after): the record that replaces another gives back what that one
// charged, exactly once. Not thread-safe.
#pragma once

#include <map>
#include <string>

#include "backends/backend.h"
#include "schedd/core/cycle/snapshot.h"
#include "schedd/core/quota/quota_tree.h"
#include "schedd/model/job.h"
#include "schedd/world/world_view.h"

namespace muster {

/// The member as its object declares it, with the facts that it has reported laid over it.
MemberCluster WithFacts(const MemberCluster& declared,
                        const std::map<std::string, ClusterFacts>& facts);

class Ledger {
 public:
  Ledger() = default;
  Ledger(core::QuotaTreePtr tree, AdmissionSettingsPtr settings)
      : settings_(std::move(settings)), usage_(std::move(tree)) {}

  /// `after` takes the place of `before`. Null: the job did not exist before, or does not after.
  void Move(const JobRecord* before, const JobRecord* after);

  const core::Usage& usage() const { return usage_; }
  /// Jobs by state group, per ClusterQueue; only `reserving`, `admitted` and `finished` are filled.
  const std::map<std::string, QueueStats>& queues() const { return queues_; }
  /// Pending and held jobs.
  std::size_t waiting() const { return waiting_; }
  /// The members of a configuration with the room that is left on each. `facts`: what members have
  /// reported, by name.
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
