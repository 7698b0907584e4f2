// Machines that suit a pod set (rule A44). Taints are checked first, then node selector, then
// required affinity, and a machine is counted for the first check that excludes it, as in Kueue's
// message (rule A47). Where the lowest level is not the machine, labels and taints of single
// machines are unknown and nothing is excluded.
#include "schedd/core/topology/topology_match.h"

#include <algorithm>

#include "schedd/core/quota/flavor_match.h"

namespace muster::core {
namespace {

bool IsTolerated(const Taint& taint, const std::vector<Toleration>& tolerations) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const Toleration& toleration) { return Tolerates(toleration, taint); });
}

// As ToString of k8s.io/api/core/v1 Taint.
std::string ShortTaint(const Taint& taint) {
  if (taint.effect.empty())
    return taint.value.empty() ? taint.key : taint.key + "=" + taint.value + ":";
  if (taint.value.empty()) return taint.key + ":" + taint.effect;
  return taint.key + "=" + taint.value + ":" + taint.effect;
}

// The first taint that neither the pods nor the flavor tolerate; null if none.
const Taint* Repelling(const std::vector<Taint>& taints, const SchedulingConstraints* constraints,
                       const TopologyTree& tree) {
  for (const auto& taint : taints) {
    if (!Repels(taint) || IsTolerated(taint, tree.tolerations())) continue;
    if (constraints != nullptr && IsTolerated(taint, constraints->tolerations)) continue;
    return &taint;
  }
  return nullptr;
}

// Here all labels of the machine are known, so a missing label excludes it.
bool Selected(const LabelMap& selector, const LabelMap& labels) {
  return std::all_of(selector.begin(), selector.end(), [&](const auto& wanted) {
    const auto found = labels.find(wanted.first);
    return found != labels.end() && found->second == wanted.second;
  });
}

bool AffinityHolds(const SchedulingConstraints& constraints, const LabelMap& labels) {
  if (!constraints.has_required_affinity) return true;
  const auto& terms = constraints.required_terms;
  return std::any_of(terms.begin(), terms.end(),
                     [&](const NodeSelectorTerm& term) { return Matches(term, labels); });
}

// The sum of the weights of preferred terms that the labels match.
std::int64_t PreferenceOf(const SchedulingConstraints& constraints, const LabelMap& labels) {
  std::int64_t score = 0;
  for (const auto& preferred : constraints.preferred_terms) {
    if (Matches(preferred.term, labels)) score += preferred.weight;
  }
  return score;
}

// True if node selector or required affinity may exclude machines.
bool Restricts(const SchedulingConstraints& constraints) {
  return !constraints.node_selector.empty() || constraints.has_required_affinity;
}

// Adds the selectors of an update. "" or the sentence about a key with two values.
std::string MergeSelector(const LabelMap& more, LabelMap* selector) {
  for (const auto& [key, value] : more) {
    const auto [at, added] = selector->emplace(key, value);
    if (added || at->second == value) continue;
    return "conflict for key=" + key + ", value1=" + at->second + ", value2=" + value;
  }
  return "";
}

}  // namespace

std::shared_ptr<const SchedulingConstraints> MergedConstraints(
    const PodSet& pod_set, std::span<const AdmissionCheckStatus> checks, std::string* error) {
  std::shared_ptr<SchedulingConstraints> merged;
  for (const auto& check : checks) {
    // Only checks that are Ready may add to pods.
    if (check.state != CheckState::kReady) continue;
    for (const auto& update : check.updates) {
      if (update.pod_set != pod_set.name) continue;
      if (update.node_selector.empty() && update.tolerations.empty()) continue;
      if (merged == nullptr) {
        merged = std::make_shared<SchedulingConstraints>();
        if (pod_set.constraints != nullptr) *merged = *pod_set.constraints;
      }
      const std::string conflict = MergeSelector(update.node_selector, &merged->node_selector);
      if (!conflict.empty()) {
        *error =
            "invalid podSetUpdate for PodSet " + pod_set.name +
            ", error: invalid admission check PodSetUpdate: conflict for nodeSelector: " + conflict;
        return nullptr;
      }
      auto& tolerations = merged->tolerations;
      tolerations.insert(tolerations.end(), update.tolerations.begin(), update.tolerations.end());
    }
  }
  return merged == nullptr ? pod_set.constraints : merged;
}

LeafMatch MatchLeaves(const TopologyTree& tree, const SchedulingConstraints* constraints,
                      bool respect_preferred) {
  LeafMatch match;
  if (!tree.ends_at_hosts()) return match;
  const bool restricts = constraints != nullptr && Restricts(*constraints);
  const bool prefers =
      constraints != nullptr && respect_preferred && !constraints->preferred_terms.empty();
  // The usual case: nothing to check, and no list by leaf.
  if (tree.untainted() && !restricts && !prefers) return match;
  const auto leaves = static_cast<std::size_t>(tree.leaf_count());
  match.eligible.assign(leaves, 1);
  if (prefers) match.score.assign(leaves, 0);
  for (std::size_t i = 0; i < leaves; ++i) {
    const auto leaf = static_cast<LeafIndex>(i);
    const LabelMap& labels = tree.LabelsOf(leaf);
    if (const auto* taint = Repelling(tree.TaintsOf(leaf), constraints, tree)) {
      ++match.excluded.taints[ShortTaint(*taint)];
    } else if (restricts && !Selected(constraints->node_selector, labels)) {
      ++match.excluded.node_selector;
    } else if (restricts && !AffinityHolds(*constraints, labels)) {
      ++match.excluded.affinity;
    } else {
      if (prefers) match.score[i] = PreferenceOf(*constraints, labels);
      continue;
    }
    match.eligible[i] = 0;
  }
  return match;
}

// Jobs of one class share constraints, so the pointer is compared first.
const LeafMatch& LeafMatcher::Match(const TopologyTree& tree,
                                    const std::shared_ptr<const SchedulingConstraints>& constraints,
                                    bool respect_preferred) {
  const auto same = [&](const Entry& entry) {
    if (entry.tree != &tree || entry.respect_preferred != respect_preferred) return false;
    if (entry.constraints == constraints) return true;
    return entry.constraints != nullptr && constraints != nullptr &&
           *entry.constraints == *constraints;
  };
  const auto found = std::find_if(entries_.begin(), entries_.end(), same);
  if (found != entries_.end()) return found->match;
  Entry entry{&tree, constraints, respect_preferred,
              MatchLeaves(tree, constraints.get(), respect_preferred)};
  if (entries_.size() < kEntries) {
    entries_.push_back(std::move(entry));
    return entries_.back().match;
  }
  Entry& oldest = entries_[next_];
  next_ = (next_ + 1) % kEntries;
  oldest = std::move(entry);
  return oldest.match;
}

}  // namespace muster::core
