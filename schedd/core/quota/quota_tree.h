// QuotaTree: the cohort forest with its quotas. Usage: what is admitted, at every node of it.
//
// The arithmetic is that of rule A25 (KEP-79, KEP-1224). A QuotaTree is immutable and shared. A
// Usage is a plain value (one vector), cheap to copy, and bound to the tree that it was made for.
// Neither is thread-safe to mutate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/quantity.h"
#include "schedd/model/config.h"
#include "schedd/model/job.h"
#include "schedd/model/workload.h"

namespace muster::core {

/// Index of a queue or cohort in its QuotaTree; -1: none.
using NodeIndex = std::int32_t;
/// Index of a (flavor, resource) pair in its QuotaTree; -1: not in any quota.
using FlavorResourceIndex = std::int32_t;
/// The position of a node, pair or resource in a vector that is ordered by its index; not for -1.
inline std::size_t Pos(std::int32_t index) { return static_cast<std::size_t>(index); }
/// Index of a resource in its QuotaTree; resources are in alphabetical order.
using ResourceIndex = std::int32_t;

class QuotaTree {
 public:
  struct Node {
    std::string name;
    bool is_cluster_queue = false;
    NodeIndex parent = -1;
    NodeIndex root = -1;
    std::int32_t height = 0;  // distance to the furthest leaf
    /// The cohorts above form a cycle. The node has neither parent nor children, and nothing is
    /// admitted in it.
    bool in_cycle = false;
    std::vector<NodeIndex> children;
    // The next four vectors are by FlavorResourceIndex.
    std::vector<Quota> quotas;            // a pair without quota: nominal 0, no limits
    std::vector<std::int64_t> subtree;    // subtree quota
    std::vector<std::int64_t> local;      // the part that is not lent to the parent
    std::vector<std::int64_t> potential;  // what the node could have if nothing were used
    /// Pairs with quota at this node or below it, sorted by resource, then pair.
    std::vector<FlavorResourceIndex> pairs;
    /// Only cohorts, by ResourceIndex: the sum of `potential` over all flavors.
    std::vector<std::int64_t> lendable;
    double fair_weight = 1;
    QueuePreemption preemption;  // only ClusterQueues
  };

  /// The three numbers that the arithmetic on one pair needs of a node, side by side in memory.
  struct Cell {
    std::int64_t subtree = 0;
    std::int64_t local = 0;
    std::int64_t borrowing_limit = kUnlimited;  // kUnlimited: none
  };

  /// Builds the forest of a configuration. A cohort that is named but not declared exists without
  /// quota.
  static std::shared_ptr<const QuotaTree> Build(const ConfigView& config);

  const Node& node(NodeIndex index) const { return nodes_[static_cast<std::size_t>(index)]; }
  const Cell& cell(NodeIndex index, FlavorResourceIndex pair) const {
    return cells_[static_cast<std::size_t>(index) * flavor_resources_.size() +
                  static_cast<std::size_t>(pair)];
  }
  /// The same as node(index).parent.
  NodeIndex parent(NodeIndex index) const { return parents_[static_cast<std::size_t>(index)]; }
  std::size_t node_count() const { return nodes_.size(); }
  std::size_t flavor_resource_count() const { return flavor_resources_.size(); }
  const std::string& resource(ResourceIndex index) const {
    return resources_[static_cast<std::size_t>(index)];
  }
  ResourceIndex ResourceOf(FlavorResourceIndex pair) const {
    return pair_resources_[static_cast<std::size_t>(pair)];
  }
  /// The path from the root, "/root/child/queue"; "/queue" for a node without a parent.
  std::string Path(NodeIndex index) const;
  NodeIndex ClusterQueueIndex(std::string_view name) const;
  NodeIndex CohortIndex(std::string_view name) const;
  FlavorResourceIndex PairIndex(std::string_view flavor, std::string_view resource) const;
  const std::pair<std::string, std::string>& pair(FlavorResourceIndex index) const {
    return flavor_resources_[static_cast<std::size_t>(index)];
  }

 private:
  friend class QuotaTreeBuilder;
  std::vector<Node> nodes_;  // ClusterQueues by name, then cohorts by name
  std::size_t queue_count_ = 0;
  std::vector<std::pair<std::string, std::string>> flavor_resources_;  // sorted
  std::vector<std::string> resources_;                                 // sorted
  std::vector<ResourceIndex> pair_resources_;                          // by pair
  std::vector<Cell> cells_;                                            // by node, then pair
  std::vector<NodeIndex> parents_;
};
using QuotaTreePtr = std::shared_ptr<const QuotaTree>;

class Usage {
 public:
  Usage() = default;
  explicit Usage(QuotaTreePtr tree);
  const QuotaTree& tree() const { return *tree_; }
  const QuotaTreePtr& tree_ptr() const { return tree_; }

  /// Charges or gives back an admission. Queues and pairs that the tree does not know (deleted
  /// since) are ignored: recovery and configuration changes rebuild the usage with Recompute.
  void Add(const Admission& admission);
  void Remove(const Admission& admission);
  /// Adds at a queue, and to its ancestors what the queue's and their local quota does not hold.
  void Add(NodeIndex queue, FlavorResourceIndex pair, std::int64_t amount);
  /// Undoes Add of the same amount.
  void Remove(NodeIndex queue, FlavorResourceIndex pair, std::int64_t amount);

  std::int64_t At(NodeIndex node, FlavorResourceIndex pair) const;
  /// available(n) of rule A25. It may be negative at a cohort; at a queue it is at least 0.
  std::int64_t Available(NodeIndex node, FlavorResourceIndex pair) const;
  /// What the node could have if nothing in the tree were used.
  std::int64_t Potential(NodeIndex node, FlavorResourceIndex pair) const;
  /// The unused rest of the part that the node does not lend, at least 0.
  std::int64_t LocalAvailable(NodeIndex node, FlavorResourceIndex pair) const;
  /// True if the node uses no more than its subtree quota of any of `pairs`.
  bool WithinQuota(NodeIndex node, std::span<const FlavorResourceIndex> pairs) const;
  /// The amount above the node's subtree quota (for a queue: above nominal), at least 0.
  std::int64_t Borrowed(NodeIndex node, FlavorResourceIndex pair) const;
  /// Borrowing level (rule A26) of adding `amount` at a queue; 0 if it would not borrow.
  std::int32_t BorrowingLevel(NodeIndex queue, FlavorResourceIndex pair, std::int64_t amount) const;
  /// True if the walk of BorrowingLevel ends below the root, so that reclaiming could help (rule
  /// A26).
  bool EndsBelowRoot(NodeIndex queue, FlavorResourceIndex pair, std::int64_t amount) const;
  /// True if a queue can take `amount` more now. False if a sum would leave 64 bits, even under
  /// unlimited quota, because a saturated sum could never be given back.
  bool Fits(NodeIndex queue, FlavorResourceIndex pair, std::int64_t amount) const;

  bool operator==(const Usage& other) const { return values_ == other.values_; }

 private:
  /// Available without the lower bound of 0.
  std::int64_t Unclamped(NodeIndex node, FlavorResourceIndex pair) const;
  /// The first node from the queue upwards that would not borrow with `amount` added; the root if
  /// all would.
  NodeIndex BorrowingNode(NodeIndex queue, FlavorResourceIndex pair, std::int64_t amount) const;
  std::int64_t& Value(NodeIndex node, FlavorResourceIndex pair);
  QuotaTreePtr tree_;
  std::vector<std::int64_t> values_;  // by node, then pair
};

/// The usage that follows from the admissions of `jobs` alone; jobs without one are ignored.
Usage Recompute(QuotaTreePtr tree, const std::vector<JobPtr>& jobs);

}  // namespace muster::core
