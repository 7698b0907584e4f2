// Builds the trees of domains (rule A44) and looks up leaves in them.
//
// For each cluster and each flavor with a Topology: nodes that suit the flavor become leaves
// (CollectLeaves), sorted by their level values; equal prefixes of the values become the domains
// above (AddDomains). Numbers are given level by level in this sorted order, which makes the
// children of a domain neighbours. Then come capacities, labels and taints of machines, and slots
// of usage.
//
// With the gate TASHandleOverlappingFlavors, leaves of several flavors on one machine share a slot,
// so that pods of one flavor count against the room of the other.
#include "schedd/core/topology/topology_forest.h"

#include <algorithm>
#include <utility>

#include "schedd/base/limits.h"
#include "schedd/base/quantity.h"
#include "schedd/model/topology.h"

namespace muster::core {
namespace {

constexpr std::string_view kPods = "pods";

// True if the labels have all wanted ones.
bool CarriesAll(const LabelMap& labels, const LabelMap& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& label) {
    const auto found = labels.find(label.first);
    return found != labels.end() && found->second == label.second;
  });
}

}  // namespace

std::int32_t TopologyTree::LevelIndex(std::string_view level) const {
  const auto found = std::find(levels_.begin(), levels_.end(), level);
  return found == levels_.end() ? -1 : static_cast<std::int32_t>(found - levels_.begin());
}

// A tree has at most limits::kTopologyLevels levels, so a walk is as fast as a search.
std::int32_t TopologyTree::LevelOf(DomainIndex domain) const {
  std::int32_t level = 0;
  while (domain >= level_begin_[static_cast<std::size_t>(level) + 1]) ++level;
  return level;
}

// The range is widened level by level: first child of its first domain to first child after its
// last.
DomainRange TopologyTree::Below(DomainIndex domain, std::int32_t level) const {
  DomainRange range{domain, domain + 1};
  for (std::int32_t at = LevelOf(domain); at < level; ++at) {
    range = {first_child_[static_cast<std::size_t>(range.begin)],
             first_child_[static_cast<std::size_t>(range.end)]};
  }
  return range;
}

DomainIndex TopologyTree::AncestorAt(DomainIndex domain, std::int32_t level) const {
  while (domain >= Level(level).end) domain = Parent(domain);
  return domain;
}

// Trees that end at hosts have a list of leaves sorted by host name; other trees are searched by
// binary search level by level.
LeafIndex TopologyTree::FindLeaf(const std::vector<std::string>& values) const {
  const auto value_of = [&](DomainIndex domain) -> const std::string& {
    return value_[static_cast<std::size_t>(domain)];
  };
  if (ends_at_hosts_) {
    if (values.size() != 1) return -1;
    const auto found = std::lower_bound(
        by_host_.begin(), by_host_.end(), values[0],
        [&](LeafIndex leaf, const std::string& host) { return value_of(DomainOf(leaf)) < host; });
    return found != by_host_.end() && value_of(DomainOf(*found)) == values[0] ? *found : -1;
  }
  if (values.size() != levels_.size()) return -1;
  DomainRange range = Level(0);
  for (std::size_t level = 0; level < values.size(); ++level) {
    DomainIndex low = range.begin, high = range.end;
    while (low < high) {
      const DomainIndex middle = low + (high - low) / 2;
      value_of(middle) < values[level] ? low = middle + 1 : high = middle;
    }
    if (low == range.end || value_of(low) != values[level]) return -1;
    if (level + 1 == values.size()) return LeafOf(low);
    range = Children(low);
  }
  return -1;
}

std::vector<std::string> TopologyTree::AssignmentLevels() const {
  return ends_at_hosts_ ? std::vector<std::string>{levels_.back()} : levels_;
}

// From the leaf upwards, as many values as the assignment names levels.
std::vector<std::string> TopologyTree::AssignmentValues(LeafIndex leaf) const {
  DomainIndex domain = DomainOf(leaf);
  std::vector<std::string> values(ends_at_hosts_ ? 1 : levels_.size());
  for (auto value = values.rbegin(); value != values.rend(); ++value) {
    *value = value_[static_cast<std::size_t>(domain)];
    domain = Parent(domain);
  }
  return values;
}

// One build; Build is called once.
class TopologyForestBuilder {
 public:
  TopologyForestBuilder(const ConfigView& config, const AdmissionSettings& settings)
      : config_(config), by_machine_(settings.tas_overlapping_flavors) {}

  TopologyForest Build(std::span<const MemberCluster* const> members) {
    CollectResources(members);
    for (const auto* member : members) AddCluster(*member);
    if (members.empty()) AddCluster({});
    return std::move(forest_);
  }

 private:
  // One leaf while a tree is being put together.
  struct Leaf {
    std::vector<std::string> values;
    std::vector<std::size_t> nodes;  // positions in member.nodes
  };

  // Every resource that some node declares, and "pods".
  void CollectResources(std::span<const MemberCluster* const> members) {
    auto& resources = forest_.resources_;
    resources.emplace_back(kPods);
    for (const auto* member : members) {
      for (const auto& node : member->nodes) {
        for (const auto& one : node.allocatable) resources.push_back(one.resource);
      }
      std::sort(resources.begin(), resources.end());
      resources.erase(std::unique(resources.begin(), resources.end()), resources.end());
    }
  }

  // A topology without levels, or with more than limits::kTopologyLevels, is not used.
  void AddCluster(const MemberCluster& member) {
    TopologyForest::Cluster cluster;
    cluster.name = member.name;
    cluster.open = member.healthy && !member.cordoned;
    facts_.assign(member.nodes.size(), nullptr);
    for (const auto& [name, flavor] : config_.flavors) {
      const auto topology = config_.topologies.find(flavor.topology);
      if (flavor.topology.empty() || topology == config_.topologies.end()) continue;
      const std::size_t levels = topology->second.levels.size();
      if (levels == 0 || levels > limits::kTopologyLevels) continue;
      AddTree(member, flavor, topology->second, &cluster);
    }
    forest_.clusters_.push_back(std::move(cluster));
  }

  void AddTree(const MemberCluster& member, const ResourceFlavor& flavor, const Topology& topology,
               TopologyForest::Cluster* cluster) {
    TopologyTree tree;
    tree.flavor_ = flavor.name;
    tree.topology_ = topology.name;
    tree.levels_ = topology.levels;
    tree.tolerations_ = flavor.tolerations;
    tree.ends_at_hosts_ = topology.levels.back() == kHostnameLabel;
    const std::vector<Leaf> leaves = CollectLeaves(member, flavor, tree);
    AddDomains(leaves, &tree);
    AddCapacity(member, leaves, &tree);
    if (tree.ends_at_hosts_) AddMachines(member, leaves, &tree);
    AddSlots(&tree, cluster);
    cluster->trees.emplace(flavor.name, std::move(tree));
  }

  // The leaves in the order of their level values. Two nodes with the same host name are one leaf,
  // at the place of the first one.
  std::vector<Leaf> CollectLeaves(const MemberCluster& member, const ResourceFlavor& flavor,
                                  const TopologyTree& tree) const {
    // By host name, or by all level values.
    std::map<std::vector<std::string>, Leaf> found;
    for (std::size_t i = 0; i < member.nodes.size(); ++i) {
      const Node& node = member.nodes[i];
      if (!node.ready || node.unschedulable || !CarriesAll(node.labels, flavor.node_labels))
        continue;
      std::vector<std::string> values;
      for (const auto& level : tree.levels_) {
        const auto label = node.labels.find(level);
        if (label == node.labels.end()) break;
        values.push_back(label->second);
      }
      if (values.size() < tree.levels_.size()) continue;
      auto key = tree.ends_at_hosts_ ? std::vector<std::string>{values.back()} : values;
      Leaf& leaf = found[std::move(key)];
      if (leaf.nodes.empty()) leaf.values = std::move(values);
      leaf.nodes.push_back(i);
    }
    std::vector<Leaf> leaves;
    for (auto& [key, leaf] : found) leaves.push_back(std::move(leaf));
    std::sort(leaves.begin(), leaves.end(),
              [](const Leaf& a, const Leaf& b) { return a.values < b.values; });
    return leaves;
  }

  // Level by level, a leaf begins a new domain if its values up to this level differ from those of
  // the leaf before. At the lowest level each leaf is a domain of its own.
  static void AddDomains(const std::vector<Leaf>& leaves, TopologyTree* tree) {
    const std::size_t depth = tree->levels_.size();
    std::vector<DomainIndex> above(leaves.size(), -1);  // the leaf's domain one level up
    for (std::size_t level = 0; level < depth; ++level) {
      tree->level_begin_.push_back(static_cast<DomainIndex>(tree->value_.size()));
      for (std::size_t i = 0; i < leaves.size(); ++i) {
        const bool same =
            i > 0 && level + 1 < depth &&
            std::equal(leaves[i].values.begin(),
                       leaves[i].values.begin() + static_cast<std::ptrdiff_t>(level) + 1,
                       leaves[i - 1].values.begin());
        if (!same) {
          tree->value_.push_back(leaves[i].values[level]);
          tree->parent_.push_back(above[i]);
        }
        above[i] = static_cast<DomainIndex>(tree->value_.size()) - 1;
      }
    }
    const auto count = static_cast<DomainIndex>(tree->value_.size());
    tree->level_begin_.push_back(count);
    // Children are in their parents' order, so each range begins where the one before it ends.
    DomainIndex next = tree->level_begin_[1];
    for (DomainIndex domain = 0; domain < count; ++domain) {
      while (next < count && tree->Parent(next) < domain) ++next;
      tree->first_child_.push_back(next);
    }
    tree->first_child_.push_back(count);
  }

  // Allocatable amounts less those of pods that topology aware scheduling did not place.
  void AddCapacity(const MemberCluster& member, const std::vector<Leaf>& leaves,
                   TopologyTree* tree) const {
    tree->resources_ = forest_.resources_.size();
    tree->capacity_.assign(leaves.size() * tree->resources_, 0);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      for (const std::size_t at : leaves[i].nodes) {
        const Node& node = member.nodes[at];
        for (const auto& one : node.allocatable) {
          auto& amount = Cell(tree, i, one.resource);
          amount = SaturatingAdd(amount, one.amount);
        }
        for (const auto& one : node.used_by_others) {
          if (forest_.ResourceIndex(one.resource) < 0) continue;
          auto& amount = Cell(tree, i, one.resource);
          amount = SaturatingSub(amount, one.amount);
        }
      }
    }
  }

  std::int64_t& Cell(TopologyTree* tree, std::size_t leaf, std::string_view resource) const {
    const auto index = static_cast<std::size_t>(forest_.ResourceIndex(resource));
    return tree->capacity_[leaf * tree->resources_ + index];
  }

  // Labels and taints by leaf, shared by the trees of a cluster, and the leaves by host name.
  void AddMachines(const MemberCluster& member, const std::vector<Leaf>& leaves,
                   TopologyTree* tree) {
    for (const auto& leaf : leaves) {
      const std::size_t at = leaf.nodes.front();
      if (facts_[at] == nullptr) {
        facts_[at] = std::make_shared<const TopologyTree::Facts>(
            TopologyTree::Facts{member.nodes[at].labels, member.nodes[at].taints});
      }
      tree->machines_.push_back(facts_[at]);
      tree->untainted_ = tree->untainted_ && facts_[at]->taints.empty();
      tree->by_host_.push_back(static_cast<LeafIndex>(tree->by_host_.size()));
    }
    std::sort(tree->by_host_.begin(), tree->by_host_.end(), [&](LeafIndex a, LeafIndex b) {
      return leaves[static_cast<std::size_t>(a)].values.back() <
             leaves[static_cast<std::size_t>(b)].values.back();
    });
  }

  // Flavors that overlap on machines share the usage of these machines; other leaves have slots of
  // their own.
  void AddSlots(TopologyTree* tree, TopologyForest::Cluster* cluster) {
    const auto leaves = static_cast<std::size_t>(tree->level_begin_[tree->levels_.size()] -
                                                 tree->level_begin_[tree->levels_.size() - 1]);
    for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
      auto slot = static_cast<std::int32_t>(forest_.slot_count_);
      if (tree->ends_at_hosts_ && by_machine_) {
        const DomainIndex domain = tree->DomainOf(static_cast<LeafIndex>(leaf));
        const std::string& host = tree->value_[static_cast<std::size_t>(domain)];
        slot = cluster->slot_of_host.emplace(host, slot).first->second;
      }
      tree->slot_.push_back(slot);
      if (slot == static_cast<std::int32_t>(forest_.slot_count_)) ++forest_.slot_count_;
    }
  }

  const ConfigView& config_;
  const bool by_machine_;
  TopologyForest forest_;
  std::vector<std::shared_ptr<const TopologyTree::Facts>> facts_;  // by node of the cluster
};

TopologyForestPtr TopologyForest::Build(const ConfigView& config,
                                        std::span<const MemberCluster* const> members,
                                        const AdmissionSettings& settings) {
  return std::make_shared<const TopologyForest>(
      TopologyForestBuilder(config, settings).Build(members));
}

std::int32_t TopologyForest::ResourceIndex(std::string_view resource) const {
  const auto found = std::lower_bound(resources_.begin(), resources_.end(), resource);
  if (found == resources_.end() || *found != resource) return -1;
  return static_cast<std::int32_t>(found - resources_.begin());
}

const TopologyTree* TopologyForest::Tree(std::size_t cluster, std::string_view flavor) const {
  const auto& trees = clusters_[cluster].trees;
  const auto found = trees.find(flavor);
  return found == trees.end() ? nullptr : &found->second;
}

const TopologyTree* TopologyForest::AnyTree(std::string_view flavor) const {
  return Tree(0, flavor);
}

std::int32_t TopologyForest::SlotOfHost(std::size_t cluster, std::string_view host) const {
  const auto& slots = clusters_[cluster].slot_of_host;
  const auto found = slots.find(host);
  return found == slots.end() ? -1 : found->second;
}

}  // namespace muster::core
