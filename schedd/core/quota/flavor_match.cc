// Whether a ResourceFlavor can host pods (rule A28): first the taints of the flavor, then its
// labels.
//
// A flavor describes only some labels of its nodes. So a selector or an affinity expression on a
// key that the flavor does not have says nothing about the flavor, and is ignored; if all
// expressions of a term are ignored, the term matches. The flavor's own tolerations are added to
// all pods that it hosts, so they count beside the pods' tolerations.
#include "schedd/core/quota/flavor_match.h"

#include <algorithm>

namespace muster::core {
namespace {

bool AnyTolerates(const std::vector<Toleration>& tolerations, const Taint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const Toleration& toleration) { return Tolerates(toleration, taint); });
}

// Keys that are no labels of the flavor are ignored.
bool SelectorMatches(const LabelMap& selector, const LabelMap& labels) {
  return std::all_of(selector.begin(), selector.end(), [&](const auto& wanted) {
    const auto found = labels.find(wanted.first);
    return found == labels.end() || found->second == wanted.second;
  });
}

// Terms are alternatives, the expressions of one term are all needed. Field expressions
// (matchFields) do not concern flavors.
bool AffinityMatches(const std::vector<NodeSelectorTerm>& terms, const LabelMap& labels) {
  if (terms.empty()) return true;
  const auto known = [&](const Requirement& requirement) {
    return labels.contains(requirement.key);
  };
  return std::any_of(terms.begin(), terms.end(), [&](const NodeSelectorTerm& term) {
    return std::all_of(term.match_expressions.begin(), term.match_expressions.end(),
                       [&](const Requirement& requirement) {
      return !known(requirement) || Matches(requirement, labels);
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

std::string FlavorMismatch(const ResourceFlavor& flavor, const SchedulingConstraints* constraints) {
  for (const auto& taint : flavor.node_taints) {
    if (!Repels(taint) || AnyTolerates(flavor.tolerations, taint)) continue;
    if (constraints != nullptr && AnyTolerates(constraints->tolerations, taint)) continue;
    return "untolerated taint " + TaintText(taint) + " in flavor " + flavor.name;
  }
  if (constraints == nullptr) return "";
  const bool matches = SelectorMatches(constraints->node_selector, flavor.node_labels) &&
                       (!constraints->has_required_affinity ||
                        AffinityMatches(constraints->required_terms, flavor.node_labels));
  return matches ? "" : "flavor " + flavor.name + " doesn't match node affinity";
}

}  // namespace muster::core
