// The dominant resource share of a node (KEP-1714, rule A39).
//
// Per resource r, over all flavors: borrowed(r) is the sum of what the node uses beyond its subtree
// quota, lendable(r) the sum of what its parent could have at most. The share is the largest 1000 x
// borrowed(r) / lendable(r), divided by the node's weight. The tree lists the pairs of a node
// sorted by resource, so one pass over them sums up resource after resource; among equal ratios the
// first resource by name wins.
#include "schedd/core/quota/fair_share.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "schedd/base/quantity.h"

namespace muster::core {
namespace {

std::int64_t AmountIn(std::span<const Charge> charges, FlavorResourceIndex pair) {
  for (const Charge& charge : charges) {
    if (charge.pair == pair) return charge.amount;
  }
  return 0;
}

// What the node would use beyond its subtree quota of `pair` with `more` added; negative below it.
std::int64_t Beyond(const Usage& usage, NodeIndex node, FlavorResourceIndex pair,
                    std::span<const Charge> more) {
  const std::int64_t used = SaturatingAdd(AmountIn(more, pair), usage.At(node, pair));
  return SaturatingSub(used, usage.tree().node(node).subtree[Pos(pair)]);
}

// Takes the ratio of one resource into `share` if it is larger than the largest so far.
void Offer(ResourceIndex resource, std::int64_t borrowed, std::int64_t lendable, Share* share) {
  if (borrowed <= 0 || lendable <= 0) return;
  const double ratio = static_cast<double>(borrowed) * 1000.0 / static_cast<double>(lendable);
  if (ratio <= share->unweighted) return;
  share->unweighted = ratio;
  share->dominant = resource;
}

}  // namespace

double Share::Weighted() const {
  if (Infinite()) return std::numeric_limits<double>::infinity();
  return unweighted == 0 ? 0 : unweighted / weight;
}

std::int64_t Share::Rounded() const {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const double up = std::ceil(Weighted());
  return up >= static_cast<double>(kMost) ? kMost : static_cast<std::int64_t>(up);
}

int Compare(const Share& a, const Share& b) {
  const auto order = a.Rank() <=> b.Rank();
  return order < 0 ? -1 : (order > 0 ? 1 : 0);
}

Share ShareWith(const Usage& usage, NodeIndex node, std::span<const Charge> more) {
  const QuotaTree& tree = usage.tree();
  const QuotaTree::Node& at = tree.node(node);
  Share share;
  share.weight = at.fair_weight;
  if (at.parent < 0) return share;
  const auto& lendable = tree.node(at.parent).lendable;
  std::int64_t borrowed = 0;  // of one resource, over all flavors
  for (std::size_t i = 0; i < at.pairs.size(); ++i) {
    const std::int64_t beyond = Beyond(usage, node, at.pairs[i], more);
    if (beyond > 0) {
      share.borrowing = true;
      borrowed = SaturatingAdd(borrowed, beyond);
    }
    // The sum over the flavors of a resource is complete at its last pair.
    const ResourceIndex resource = tree.ResourceOf(at.pairs[i]);
    if (i + 1 < at.pairs.size() && tree.ResourceOf(at.pairs[i + 1]) == resource) continue;
    Offer(resource, borrowed, lendable[Pos(resource)], &share);
    borrowed = 0;
  }
  return share;
}

Share ShareOf(const Usage& usage, NodeIndex node) { return ShareWith(usage, node, {}); }

bool BorrowsOn(const Usage& usage, NodeIndex node, std::span<const Charge> wanted) {
  const QuotaTree::Node& at = usage.tree().node(node);
  if (at.parent < 0) return false;
  return std::any_of(wanted.begin(), wanted.end(), [&](const Charge& charge) {
    return charge.amount > 0 && usage.Borrowed(node, charge.pair) > 0 &&
           std::find(at.pairs.begin(), at.pairs.end(), charge.pair) != at.pairs.end();
  });
}

std::string WeightedShareText(const Share& share) {
  const double weighted = share.Weighted();
  if (std::isinf(weighted)) return "+Inf";
  std::array<char, 512> text;  // fixed notation of the largest double has 309 digits
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), weighted, std::chars_format::fixed);
  return {text.data(), end.ptr};
}

}  // namespace muster::core
