// TopologyForest: the machines of the member clusters as trees of domains, one tree per topology
// aware flavor and cluster (KEP-2724, rule A44). Built once per version of configuration and
// cluster facts; immutable and shared.
//
// Domains are numbers. The domains of one level are numbered in the order of their level values, so
// comparing two numbers of a level compares the values, and the children of a domain, and all
// leaves below it, are one range of numbers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/model/admission_settings.h"
#include "schedd/model/config.h"

namespace muster::core {

/// Index of a domain in its TopologyTree; -1: none.
using DomainIndex = std::int32_t;
/// Index of a leaf in its TopologyTree, 0 for the first domain of the lowest level; -1: none.
using LeafIndex = std::int32_t;

/// A half-open range of domains.
struct DomainRange {
  DomainIndex begin = 0, end = 0;
};

/// The domains of one flavor on one cluster: those of nodes that carry the flavor's labels and
/// every level's label, are ready and schedulable.
class TopologyTree {
 public:
  const std::string& flavor() const { return flavor_; }
  const std::string& topology() const { return topology_; }
  const std::vector<std::string>& levels() const { return levels_; }
  const std::vector<Toleration>& tolerations() const { return tolerations_; }
  /// True if the lowest level is the machine itself, kubernetes.io/hostname.
  bool ends_at_hosts() const { return ends_at_hosts_; }

  std::int32_t depth() const { return static_cast<std::int32_t>(levels_.size()); }
  /// -1 if the topology has no such level.
  std::int32_t LevelIndex(std::string_view level) const;
  std::int32_t LevelOf(DomainIndex domain) const;
  DomainRange Level(std::int32_t level) const {
    const auto at = static_cast<std::size_t>(level);
    return {level_begin_[at], level_begin_[at + 1]};
  }
  std::size_t domain_count() const { return parent_.size(); }
  std::int32_t leaf_count() const { return static_cast<std::int32_t>(slot_.size()); }

  /// -1 for a root.
  DomainIndex Parent(DomainIndex domain) const { return parent_[static_cast<std::size_t>(domain)]; }
  /// Empty for a leaf.
  DomainRange Children(DomainIndex domain) const {
    const auto at = static_cast<std::size_t>(domain);
    return {first_child_[at], first_child_[at + 1]};
  }
  /// All domains of `level` at or below `domain`.
  DomainRange Below(DomainIndex domain, std::int32_t level) const;
  /// The ancestor (or itself) at `level`.
  DomainIndex AncestorAt(DomainIndex domain, std::int32_t level) const;

  LeafIndex LeafOf(DomainIndex domain) const { return domain - level_begin_[levels_.size() - 1]; }
  DomainIndex DomainOf(LeafIndex leaf) const { return leaf + level_begin_[levels_.size() - 1]; }
  /// The leaf that these values of an assignment name; -1 if there is none (any more).
  LeafIndex FindLeaf(const std::vector<std::string>& values) const;
  /// The levels that assignments name: only the machine if it is the lowest level, else all.
  std::vector<std::string> AssignmentLevels() const;
  std::vector<std::string> AssignmentValues(LeafIndex leaf) const;

  /// Labels and taints of the machine at a leaf; only for trees that end at hosts.
  const LabelMap& LabelsOf(LeafIndex leaf) const { return machines_[Machine(leaf)]->labels; }
  const std::vector<Taint>& TaintsOf(LeafIndex leaf) const {
    return machines_[Machine(leaf)]->taints;
  }
  /// True if no machine has a taint.
  bool untainted() const { return untainted_; }

  /// Where TopologyUsage keeps the leaf's usage: its slot, and the position of the forest's first
  /// resource in that slot; the other resources follow.
  std::int32_t Slot(LeafIndex leaf) const { return slot_[Machine(leaf)]; }
  std::int32_t UsageAt(LeafIndex leaf) const {
    return Slot(leaf) * static_cast<std::int32_t>(resources_);
  }
  /// Amounts by resource of the forest: allocatable less what other pods use; may be negative.
  const std::int64_t* Capacity(LeafIndex leaf) const {
    return capacity_.data() + Machine(leaf) * resources_;
  }

 private:
  friend class TopologyForestBuilder;
  struct Facts {
    LabelMap labels;
    std::vector<Taint> taints;
  };
  static std::size_t Machine(LeafIndex leaf) { return static_cast<std::size_t>(leaf); }

  std::string flavor_, topology_;
  std::vector<std::string> levels_;
  std::vector<Toleration> tolerations_;
  bool ends_at_hosts_ = false, untainted_ = true;
  std::vector<DomainIndex> level_begin_;                // by level; the end of the last follows
  std::vector<std::string> value_;                      // by domain: its value at its own level
  std::vector<DomainIndex> parent_;                     // by domain
  std::vector<DomainIndex> first_child_;                // by domain; the end of the last follows
  std::vector<std::shared_ptr<const Facts>> machines_;  // by leaf; ends_at_hosts() only
  std::vector<LeafIndex> by_host_;                      // leaves by host name; ends_at_hosts() only
  std::vector<std::int32_t> slot_;                      // by leaf
  std::size_t resources_ = 0;
  std::vector<std::int64_t> capacity_;  // by leaf, then resource
};

class TopologyForest {
 public:
  /// `members` in name order. Cordoned and unhealthy clusters keep their trees, because their
  /// workloads are still charged; placing ignores these clusters.
  static std::shared_ptr<const TopologyForest> Build(const ConfigView& config,
                                                     std::span<const MemberCluster* const> members,
                                                     const AdmissionSettings& settings);

  /// Every resource that some node has, and "pods"; sorted.
  const std::vector<std::string>& resources() const { return resources_; }
  /// -1 if no node has any of it.
  std::int32_t ResourceIndex(std::string_view resource) const;
  std::size_t slot_count() const { return slot_count_; }

  std::size_t cluster_count() const { return clusters_.size(); }
  const std::string& cluster_name(std::size_t cluster) const { return clusters_[cluster].name; }
  /// False for a cordoned or unhealthy cluster: no new pods may go there.
  bool IsOpen(std::size_t cluster) const { return clusters_[cluster].open; }
  /// Null if the cluster or the flavor is unknown.
  const TopologyTree* Tree(std::size_t cluster, std::string_view flavor) const;
  /// Some tree of the flavor: all of them have the same levels. Null if the flavor has no topology
  /// or its Topology does not exist.
  const TopologyTree* AnyTree(std::string_view flavor) const;
  /// The slot of a machine if usage is kept by machine (gate TASHandleOverlappingFlavors); -1 if no
  /// tree of the cluster has the machine.
  std::int32_t SlotOfHost(std::size_t cluster, std::string_view host) const;

 private:
  friend class TopologyForestBuilder;
  struct Cluster {
    std::string name;
    bool open = true;
    std::map<std::string, TopologyTree, std::less<>> trees;  // by flavor
    std::map<std::string, std::int32_t, std::less<>> slot_of_host;
  };
  std::vector<std::string> resources_;
  std::size_t slot_count_ = 0;
  std::vector<Cluster> clusters_;  // without members there is one cluster without nodes
};
using TopologyForestPtr = std::shared_ptr<const TopologyForest>;

}  // namespace muster::core
