// Labels, taints, tolerations, selectors and affinity as Kubernetes defines them. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster {

using LabelMap = std::map<std::string, std::string>;

struct Taint {
  std::string key, value, effect;  // effect: NoSchedule, PreferNoSchedule, NoExecute
  bool operator==(const Taint&) const = default;
};

struct Toleration {
  std::string key, op, value, effect;  // op: Equal (default) or Exists; empty effect matches all
  std::optional<std::int64_t> seconds;
  bool operator==(const Toleration&) const = default;
};

/// One expression of a label selector or a node selector term.
struct Requirement {
  std::string key, op;  // In, NotIn, Exists, DoesNotExist, Gt, Lt
  std::vector<std::string> values;
  bool operator==(const Requirement&) const = default;
};

/// metav1.LabelSelector: all parts must match; an empty selector matches everything.
struct LabelSelector {
  LabelMap match_labels;
  std::vector<Requirement> match_expressions;
  bool operator==(const LabelSelector&) const = default;
};

/// All expressions of a term must match.
struct NodeSelectorTerm {
  std::vector<Requirement> match_expressions;
  bool operator==(const NodeSelectorTerm&) const = default;
};

/// nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[].
struct PreferredTerm {
  std::int32_t weight = 0;
  NodeSelectorTerm term;
  bool operator==(const PreferredTerm&) const = default;
};

/// The constraints of a pod template on where it may run.
struct SchedulingConstraints {
  LabelMap node_selector;
  bool has_required_affinity = false;            // nodeAffinity.required present
  std::vector<NodeSelectorTerm> required_terms;  // one of them must match
  std::vector<PreferredTerm> preferred_terms;
  std::vector<Toleration> tolerations;
  bool operator==(const SchedulingConstraints&) const = default;
};

/// k8s.io/api/core/v1 Toleration.ToleratesTaint.
bool Tolerates(const Toleration& toleration, const Taint& taint);
/// labels.Requirement.Matches with node-affinity operators Gt and Lt added.
bool Matches(const Requirement& requirement, const LabelMap& labels);
bool Matches(const LabelSelector& selector, const LabelMap& labels);
bool Matches(const NodeSelectorTerm& term, const LabelMap& labels);

}  // namespace muster
