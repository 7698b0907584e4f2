#include "schedd/core/flavor_match.h"

#include <algorithm>

namespace muster::core {
namespace {

bool AnyTolerates(const std::vector<Toleration>& tolerations, const Taint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const Toleration& toleration) { return Tolerates(toleration, taint); });
}

bool IsKey(const std::vector<std::string>& keys, const std::string& key) {
  return std::binary_search(keys.begin(), keys.end(), key);
}

bool SelectorMatches(const LabelMap& selector, const std::vector<std::string>& keys,
                     const LabelMap& labels) {
  for (const auto& [key, value] : selector) {
    if (!IsKey(keys, key)) continue;
    const auto found = labels.find(key);
    if (found == labels.end() || found->second != value) return false;
  }
  return true;
}

// One term must match on the expressions whose keys are flavor labels; a term left with none
// matches all.
bool AffinityMatches(const std::vector<NodeSelectorTerm>& terms,
                     const std::vector<std::string>& keys, const LabelMap& labels) {
  if (terms.empty()) return true;
  return std::any_of(terms.begin(), terms.end(), [&](const NodeSelectorTerm& term) {
    return std::all_of(term.match_expressions.begin(), term.match_expressions.end(),
                       [&](const Requirement& requirement) {
                         return !IsKey(keys, requirement.key) || Matches(requirement, labels);
                       });
  });
}

}  // namespace

bool Repels(const Taint& taint) {
  return taint.effect == "NoSchedule" || taint.effect == "NoExecute";
}

std::string TaintText(const Taint& taint) {
  return "{" + taint.key + " " + taint.value + " " + taint.effect + " <nil>}";
}

std::vector<std::string> LabelKeysOf(const ConfigView& config, const ResourceGroup& group) {
  std::vector<std::string> keys;
  for (const auto& entry : group.flavors) {
    const auto flavor = config.flavors.find(entry.flavor);
    if (flavor == config.flavors.end()) continue;
    for (const auto& [key, value] : flavor->second.node_labels) keys.push_back(key);
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

std::string FlavorMismatch(const ConfigView& config, const std::string& flavor,
                           const std::vector<std::string>& label_keys,
                           const SchedulingConstraints* constraints) {
  const auto found = config.flavors.find(flavor);
  if (found == config.flavors.end()) return "flavor " + flavor + " not found";
  const ResourceFlavor& spec = found->second;
  for (const auto& taint : spec.node_taints) {
    if (!Repels(taint) || AnyTolerates(spec.tolerations, taint)) continue;
    if (constraints != nullptr && AnyTolerates(constraints->tolerations, taint)) continue;
    return "untolerated taint " + TaintText(taint) + " in flavor " + flavor;
  }
  if (constraints == nullptr) return "";
  const bool matches = SelectorMatches(constraints->node_selector, label_keys, spec.node_labels) &&
                       (!constraints->has_required_affinity ||
                        AffinityMatches(constraints->required_terms, label_keys, spec.node_labels));
  return matches ? "" : "flavor " + flavor + " doesn't match node affinity";
}

}  // namespace muster::core
