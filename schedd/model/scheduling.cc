// Matching of labels, taints and tolerations, rule by rule as in Kubernetes (k8s.io/apimachinery
// labels, component-helpers nodeaffinity). Operators are compared as texts, because they come from
// manifests.
#include "schedd/model/scheduling.h"

#include <algorithm>
#include <charconv>

namespace muster {
namespace {

// A whole text as an integer; nullopt for anything else.
std::optional<std::int64_t> Integer(const std::string& text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

// Gt and Lt: both sides must be integers, and there must be exactly one bound.
bool Compares(const Requirement& requirement, const std::string& label, bool greater) {
  if (requirement.values.size() != 1) return false;
  const auto value = Integer(label);
  const auto bound = Integer(requirement.values[0]);
  if (!value || !bound) return false;
  return greater ? *value > *bound : *value < *bound;
}

}  // namespace

// An empty effect or key matches all; an empty operator means Equal; any other operator matches
// nothing.
bool Tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.op == "Exists") return true;
  if (toleration.op.empty() || toleration.op == "Equal") return toleration.value == taint.value;
  return false;
}

bool Matches(const Requirement& requirement, const LabelMap& labels) {
  const auto found = labels.find(requirement.key);
  const bool present = found != labels.end();
  const auto listed = [&] {
    const auto& values = requirement.values;
    return std::find(values.begin(), values.end(), found->second) != values.end();
  };
  if (requirement.op == "In") return present && listed();
  if (requirement.op == "NotIn") return !present || !listed();
  if (requirement.op == "Exists") return present;
  if (requirement.op == "DoesNotExist") return !present;
  if (requirement.op == "Gt") return present && Compares(requirement, found->second, true);
  if (requirement.op == "Lt") return present && Compares(requirement, found->second, false);
  // An operator that Kubernetes does not know matches nothing.
  return false;
}

bool Matches(const LabelSelector& selector, const LabelMap& labels) {
  for (const auto& [key, value] : selector.match_labels) {
    const auto found = labels.find(key);
    if (found == labels.end() || found->second != value) return false;
  }
  return std::all_of(selector.match_expressions.begin(), selector.match_expressions.end(),
                     [&](const Requirement& requirement) { return Matches(requirement, labels); });
}

bool Matches(const NodeSelectorTerm& term, const LabelMap& labels) {
  // In Kubernetes an empty term selects no object.
  if (term.match_expressions.empty()) return false;
  return std::all_of(term.match_expressions.begin(), term.match_expressions.end(),
                     [&](const Requirement& requirement) { return Matches(requirement, labels); });
}

}  // namespace muster
