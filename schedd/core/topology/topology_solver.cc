// TopologySolver, phase 1 (rule A45): how much fits in every domain, from the leaves up; and the
// sentence if that is not enough. Phase 2 is in topology_search.cc.
//
// A leaf holds min over resources of free / request pods, counted alone and beside a leader. A
// domain above holds the sum over its children; at the slice level whole slices are counted, and
// inner layers cut each child's pods to a multiple of their size. A leader takes room in one child
// only, so the count beside a leader is the sum less the smallest loss of any child that can take
// it.
//
// This phase reads every leaf of the tree for every pod set, so it is plain arithmetic on arrays.
#include "schedd/core/topology/topology_solver.h"

#include <algorithm>
#include <limits>

#include "schedd/core/topology/topology_balanced.h"

namespace muster::core {
namespace {

constexpr std::int64_t kMostPods = std::numeric_limits<std::int32_t>::max();

// a - b, saturating in both directions.
std::int64_t Minus(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (!__builtin_sub_overflow(a, b, &result)) return result;
  return b < 0 ? std::numeric_limits<std::int64_t>::max()
               : std::numeric_limits<std::int64_t>::min();
}

// The number of pods that take `amount` each of `free`.
std::int64_t PodsIn(std::int64_t free, std::int64_t amount) {
  if (amount <= 0) return kMostPods;
  if (free < amount) return 0;
  // Most amounts are small, and a 32-bit division takes a fraction of the time.
  if ((free >> 32) == 0)
    return static_cast<std::uint32_t>(free) / static_cast<std::uint32_t>(amount);
  return std::min(free / amount, kMostPods);
}

}  // namespace

// Balanced placement is only for preferred requests, and comes before the usual search.
bool TopologySolver::Solve(const SolverTask& task) {
  task_ = &task;
  tree_ = task.tree;
  slices_needed_ = task.count / task.spec.slice_size;
  CountLeaves();
  SumUp();

  std::int32_t level = 0;
  bool balanced = task.balanced && !task.spec.required && !task.spec.unconstrained;
  if (balanced) balanced = BalancedPlacement(this).Choose(&level, &chosen_);
  if (!balanced && !FindLevel(&level, &chosen_)) return false;
  return Descend(level, balanced, &chosen_);
}

// Counts every leaf that the pods may use, and those outside of task_->within.
void TopologySolver::CountLeaves() {
  counts_.resize(tree_->domain_count());
  lacking_.assign(task_->needs.size(), 0);
  free_.resize(task_->needs.size());
  outside_ = 0;
  DomainRange inside = tree_->Level(tree_->depth() - 1);
  if (task_->within >= 0) inside = tree_->Below(task_->within, tree_->depth() - 1);
  const auto& eligible = task_->match->eligible;
  const auto& score = task_->match->score;
  for (LeafIndex leaf = 0; leaf < tree_->leaf_count(); ++leaf) {
    const DomainIndex domain = tree_->DomainOf(leaf);
    At(domain) = {};
    const auto at = static_cast<std::size_t>(leaf);
    if (!eligible.empty() && eligible[at] == 0) continue;
    if (!score.empty()) At(domain).preference = score[at];
    if (domain < inside.begin || domain >= inside.end) {
      ++outside_;
    } else {
      CountLeaf(leaf);
    }
  }
}

// Pods alone and beside a leader. A leaf without room is noted for the first resource that has
// none.
void TopologySolver::CountLeaf(LeafIndex leaf) {
  const std::int64_t* capacity = tree_->Capacity(leaf);
  const std::int32_t slot = tree_->Slot(leaf);
  const std::int64_t* used = task_->usage == nullptr ? nullptr : task_->usage->At(slot);
  const std::int64_t* assumed = task_->assumed == nullptr ? nullptr : task_->assumed->At(slot);
  const auto free_of = [&](std::int32_t resource) {
    if (resource < 0) return std::int64_t{0};
    std::int64_t free = capacity[resource];
    if (used != nullptr) free = Minus(free, used[resource]);
    if (assumed != nullptr) free = Minus(free, assumed[resource]);
    return free;
  };
  DomainCounts& counts = At(tree_->DomainOf(leaf));
  counts.pods = kMostPods;
  std::size_t limiting = 0;
  const auto& needs = task_->needs;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    free_[i] = free_of(needs[i].resource);
    const std::int64_t pods = PodsIn(free_[i], needs[i].amount);
    if (pods >= counts.pods) continue;
    counts.pods = pods;
    limiting = i;
    if (pods == 0 && task_->leader_needs.empty()) break;
  }
  if (counts.pods == 0) ++lacking_[limiting];
  counts.pods_led = counts.pods;
  const auto& leader = task_->leader_needs;
  const auto lacks = [&](const PodNeed& need) {
    return PodsIn(free_of(need.resource), need.amount) == 0;
  };
  if (leader.empty() || std::any_of(leader.begin(), leader.end(), lacks)) return;
  counts.leaders = 1;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    const auto same = [&](const PodNeed& need) { return need.resource == needs[i].resource; };
    const auto taken = std::find_if(leader.begin(), leader.end(), same);
    if (taken == leader.end()) continue;
    counts.pods_led =
        std::min(counts.pods_led, PodsIn(Minus(free_[i], taken->amount), needs[i].amount));
  }
}

std::int64_t TopologySolver::SlicesOf(std::int64_t pods) const {
  const std::int64_t size = task_->spec.slice_size;
  return size == 1 ? pods : pods / size;
}

// From the lowest level to the top. If slices are at the lowest level, the leaves count them.
void TopologySolver::SumUp() {
  const std::int32_t lowest = tree_->depth() - 1;
  if (task_->spec.slice_level == lowest) {
    const DomainRange leaves = tree_->Level(lowest);
    for (DomainIndex leaf = leaves.begin; leaf < leaves.end; ++leaf) {
      At(leaf).slices = SlicesOf(At(leaf).pods);
      At(leaf).slices_led = SlicesOf(At(leaf).pods_led);
    }
  }
  for (std::int32_t level = lowest - 1; level >= 0; --level) {
    const DomainRange domains = tree_->Level(level);
    for (DomainIndex domain = domains.begin; domain < domains.end; ++domain)
      CountParent(domain, level);
  }
}

// One domain from its children. A leader takes room in one child only, in the one that loses least
// by it.
void TopologySolver::CountParent(DomainIndex domain, std::int32_t level) {
  const std::int64_t inner = task_->spec.inner_size[static_cast<std::size_t>(level) + 1];
  const bool needs_leader = leader_count() > 0;
  DomainCounts sum;
  bool has_host = false;
  std::int64_t least_pods = 0, least_slices = 0;
  const DomainRange children = tree_->Children(domain);
  for (DomainIndex child = children.begin; child < children.end; ++child) {
    const DomainCounts& part = At(child);
    std::int64_t pods = part.pods, pods_led = part.pods_led;
    if (inner > 0) {
      pods = pods / inner * inner;
      pods_led = pods_led / inner * inner;
    }
    sum.pods += pods;
    sum.slices += part.slices;
    sum.leaders = std::max(sum.leaders, part.leaders);
    sum.preference += part.preference;
    if (needs_leader && part.leaders == 0) continue;
    const std::int64_t fewer_pods = pods - pods_led;
    const std::int64_t fewer_slices = part.slices - part.slices_led;
    least_pods = has_host ? std::min(least_pods, fewer_pods) : fewer_pods;
    least_slices = has_host ? std::min(least_slices, fewer_slices) : fewer_slices;
    has_host = true;
  }
  sum.pods_led = has_host ? sum.pods - least_pods : 0;
  sum.slices_led = has_host ? sum.slices - least_slices : 0;
  if (level == task_->spec.slice_level) {
    sum.slices = SlicesOf(sum.pods);
    sum.slices_led = SlicesOf(sum.pods_led);
  }
  At(domain) = sum;
}

// Slices of `size` pods in the domains of `level` below a domain.
std::int64_t TopologySolver::SlicesBelow(DomainIndex domain, std::int32_t level,
                                         std::int64_t size) const {
  const DomainRange range = tree_->Below(domain, level);
  std::int64_t slices = 0;
  for (DomainIndex at = range.begin; at < range.end; ++at) slices += At(at).pods / size;
  return slices;
}

// What the best domain of the level holds of each layer.
std::string TopologySolver::LayersText() const {
  const DomainRange domains = tree_->Level(refusal_.level);
  DomainIndex best = domains.begin;
  for (DomainIndex domain = domains.begin; domain < domains.end; ++domain) {
    if (At(domain).slices > At(best).slices) best = domain;
  }
  std::string text;
  for (const auto& layer : task_->spec.layers) {
    const std::int64_t fitting = SlicesBelow(best, tree_->LevelIndex(layer.level), layer.size);
    text += "; " + std::to_string(fitting) + "/" + std::to_string(task_->count / layer.size) +
            " slice(s) fit on level " + layer.level;
  }
  return text;
}

// The numbers of excluded machines by reason, sorted (rule A47).
std::string TopologySolver::ExclusionsText(std::span<const std::string> resources) const {
  std::vector<std::string> parts;
  const auto add = [&](const std::string& what, std::int32_t leaves) {
    if (leaves > 0) parts.push_back(what + ": " + std::to_string(leaves));
  };
  const MachineExclusions& excluded = task_->match->excluded;
  add("nodeSelector", excluded.node_selector);
  add("affinity", excluded.affinity);
  add("topologyDomain", outside_);
  for (const auto& [taint, leaves] : excluded.taints) add("taint \"" + taint + "\"", leaves);
  for (std::size_t i = 0; i < lacking_.size(); ++i) {
    add("resource \"" + resources[i] + "\"", lacking_[i]);
  }
  if (parts.empty()) return "";
  std::sort(parts.begin(), parts.end());
  std::string text = ". Total nodes: " + std::to_string(tree_->leaf_count()) + "; excluded: ";
  for (std::size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : ", ") + parts[i];
  return text;
}

std::string TopologySolver::Failure(std::span<const std::string> resources) const {
  if (refusal_.kind == SolverRefusal::Kind::kNoDomains) {
    return "no topology domains at level: " +
           tree_->levels()[static_cast<std::size_t>(refusal_.level)];
  }
  const std::string topology = "topology \"" + tree_->topology() + "\"";
  if (!task_->spec.layers.empty()) {
    return topology + " doesn't allow to fit" + LayersText() + ExclusionsText(resources);
  }
  const std::string needed =
      std::to_string(slices_needed_) + (task_->spec.slice_size == 1 ? " pod(s)" : " slice(s)");
  const std::string verdict =
      refusal_.fitting == 0
          ? " doesn't allow to fit any of " + needed
          : " allows to fit only " + std::to_string(refusal_.fitting) + " out of " + needed;
  return topology + verdict + ExclusionsText(resources);
}

}  // namespace muster::core
