// Usage: the arithmetic of rule A25 on a QuotaTree (KEP-79, KEP-1224).
//
// A node stores what its queues use beyond what stays local below it. The local part of a quota is
// never visible above the node: Add fills the local quota of the queue first and passes only the
// rest on to the parent, and so on up to the root; Remove undoes exactly that. So a cohort's usage
// is the sum over its children of max(0, usage - local), without a walk over the children.
//
// Available goes upwards: the free local part plus what the parent has available, the latter capped
// by the borrowing limit. All sums saturate (rule A1). Each operation costs the height of the tree.
#include <algorithm>

#include "schedd/base/check.h"
#include "schedd/base/quantity.h"
#include "schedd/core/quota/quota_tree.h"

namespace muster::core {
Usage::Usage(QuotaTreePtr tree) : tree_(std::move(tree)) {
  values_.resize(tree_->node_count() * tree_->flavor_resource_count());
}

std::int64_t& Usage::Value(NodeIndex node, FlavorResourceIndex pair) {
  return values_[Pos(node) * tree_->flavor_resource_count() + Pos(pair)];
}

std::int64_t Usage::At(NodeIndex node, FlavorResourceIndex pair) const {
  return values_[Pos(node) * tree_->flavor_resource_count() + Pos(pair)];
}

namespace {

// Calls `charge(queue, pair, amount)` for each pair of the admission that the tree knows.
template <class Charge>
void ForEachCharge(const QuotaTree& tree, const Admission& admission, const Charge& charge) {
  const NodeIndex queue = tree.ClusterQueueIndex(admission.cluster_queue);
  if (queue < 0) return;
  for (const auto& pod_set : admission.pod_sets) {
    for (const auto& [resource, flavor] : pod_set.flavors) {
      const FlavorResourceIndex pair = tree.PairIndex(flavor, resource);
      if (pair >= 0) charge(queue, pair, AmountOf(pod_set.usage, resource));
    }
  }
}

}  // namespace

void Usage::Add(const Admission& admission) {
  ForEachCharge(*tree_, admission,
                [this](NodeIndex queue, FlavorResourceIndex pair, std::int64_t amount) {
    Add(queue, pair, amount);
  });
}

void Usage::Remove(const Admission& admission) {
  ForEachCharge(*tree_, admission,
                [this](NodeIndex queue, FlavorResourceIndex pair, std::int64_t amount) {
    Remove(queue, pair, amount);
  });
}

// Each node absorbs the amount in its free local quota; the remainder climbs.
void Usage::Add(NodeIndex queue, FlavorResourceIndex pair, std::int64_t amount) {
  for (NodeIndex at = queue; at >= 0 && amount > 0; at = tree_->parent(at)) {
    const std::int64_t local_free = LocalAvailable(at, pair);
    std::int64_t& used = Value(at, pair);
    used = SaturatingAdd(used, amount);
    amount = SaturatingSub(amount, local_free);
  }
}

// `stored_above` is the part of the node's usage that its parent counts; no more than that is taken
// from the parent.
void Usage::Remove(NodeIndex queue, FlavorResourceIndex pair, std::int64_t amount) {
  for (NodeIndex at = queue; at >= 0 && amount > 0; at = tree_->parent(at)) {
    std::int64_t& used = Value(at, pair);
    const std::int64_t stored_above = SaturatingSub(used, tree_->cell(at, pair).local);
    used = SaturatingSub(used, amount);
    amount = std::min(amount, stored_above);
  }
}

std::int64_t Usage::Available(NodeIndex node, FlavorResourceIndex pair) const {
  const std::int64_t available = Unclamped(node, pair);
  return tree_->node(node).is_cluster_queue ? std::max<std::int64_t>(0, available) : available;
}

// The borrowing limit B caps what comes from the parent at (subtree - local) - (used beyond local)
// + B: the part of its own quota that it lent and has not yet used, and B on top.
std::int64_t Usage::Unclamped(NodeIndex node, FlavorResourceIndex pair) const {
  const QuotaTree::Cell& cell = tree_->cell(node, pair);
  const std::int64_t used = At(node, pair);
  const NodeIndex parent = tree_->parent(node);
  if (parent < 0) return SaturatingSub(cell.subtree, used);
  std::int64_t from_parent = Unclamped(parent, pair);
  if (cell.borrowing_limit != kUnlimited) {
    const std::int64_t lent = SaturatingSub(cell.subtree, cell.local);
    const std::int64_t taken = std::max<std::int64_t>(0, SaturatingSub(used, cell.local));
    from_parent =
        std::min(from_parent, SaturatingAdd(SaturatingSub(lent, taken), cell.borrowing_limit));
  }
  return SaturatingAdd(LocalAvailable(node, pair), from_parent);
}

std::int64_t Usage::Potential(NodeIndex node, FlavorResourceIndex pair) const {
  return tree_->node(node).potential[Pos(pair)];
}

std::int64_t Usage::LocalAvailable(NodeIndex node, FlavorResourceIndex pair) const {
  return std::max<std::int64_t>(0, SaturatingSub(tree_->cell(node, pair).local, At(node, pair)));
}

bool Usage::WithinQuota(NodeIndex node, std::span<const FlavorResourceIndex> pairs) const {
  return std::all_of(pairs.begin(), pairs.end(), [&](FlavorResourceIndex pair) {
    return At(node, pair) <= tree_->cell(node, pair).subtree;
  });
}

std::int64_t Usage::Borrowed(NodeIndex node, FlavorResourceIndex pair) const {
  return std::max<std::int64_t>(0, SaturatingSub(At(node, pair), tree_->cell(node, pair).subtree));
}

// On the way up the amount shrinks by what each node's free local quota absorbs (rule A26).
NodeIndex Usage::BorrowingNode(NodeIndex queue, FlavorResourceIndex pair,
                               std::int64_t amount) const {
  NodeIndex at = queue;
  while (true) {
    const bool borrows = SaturatingAdd(At(at, pair), amount) > tree_->cell(at, pair).subtree;
    if (!borrows || tree_->parent(at) < 0) return at;
    amount = SaturatingSub(amount, LocalAvailable(at, pair));
    at = tree_->parent(at);
  }
}

std::int32_t Usage::BorrowingLevel(NodeIndex queue, FlavorResourceIndex pair,
                                   std::int64_t amount) const {
  return tree_->node(BorrowingNode(queue, pair, amount)).height;
}

bool Usage::EndsBelowRoot(NodeIndex queue, FlavorResourceIndex pair, std::int64_t amount) const {
  return tree_->parent(BorrowingNode(queue, pair, amount)) >= 0;
}

// The second condition: no node may reach the value that means unlimited, or it could not be given
// back.
bool Usage::Fits(NodeIndex queue, FlavorResourceIndex pair, std::int64_t amount) const {
  if (amount > Available(queue, pair)) return false;
  for (NodeIndex at = queue; at >= 0; at = tree_->parent(at)) {
    if (SaturatingAdd(At(at, pair), amount) == kUnlimited) return false;
  }
  return true;
}

Usage Recompute(QuotaTreePtr tree, const std::vector<JobPtr>& jobs) {
  Usage usage(std::move(tree));
  for (const auto& job : jobs) {
    if (job->admission) usage.Add(*job->admission);
  }
  return usage;
}

}  // namespace muster::core
