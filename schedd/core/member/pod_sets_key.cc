// The key of pod sets (rule A14). Each optional part begins with a letter of its own, and texts
// have their length before them, so the key can be read in one way only. A new field of PodSet that
// a rule reads must be added here, or unequal workloads would be parked together.
#include "schedd/core/member/pod_sets_key.h"

#include <charconv>

namespace muster::core {
namespace {

// The number of expressions comes first, so that two terms cannot read as one.
void AppendTerm(const NodeSelectorTerm& term, std::string* key) {
  AppendKeyNumber(static_cast<std::int64_t>(term.match_expressions.size()), key);
  for (const auto& requirement : term.match_expressions) {
    AppendKeyText(requirement.key, key);
    AppendKeyText(requirement.op, key);
    AppendKeyNumber(static_cast<std::int64_t>(requirement.values.size()), key);
    for (const auto& value : requirement.values) AppendKeyText(value, key);
  }
}

// Everything that decides which nodes take the pods (rule A28, rule A44).
void AppendConstraints(const SchedulingConstraints& constraints, std::string* key) {
  for (const auto& [label, value] : constraints.node_selector) {
    key->push_back('s');
    AppendKeyText(label, key);
    AppendKeyText(value, key);
  }
  if (constraints.has_required_affinity) key->push_back('a');
  for (const auto& term : constraints.required_terms) {
    key->push_back('t');
    AppendTerm(term, key);
  }
  for (const auto& preferred : constraints.preferred_terms) {
    key->push_back('w');
    AppendKeyNumber(preferred.weight, key);
    AppendTerm(preferred.term, key);
  }
  for (const auto& toleration : constraints.tolerations) {
    key->push_back('l');
    AppendKeyText(toleration.key, key);
    AppendKeyText(toleration.op, key);
    AppendKeyText(toleration.value, key);
    AppendKeyText(toleration.effect, key);
  }
}

void AppendLevel(char mark, const std::optional<std::string>& level, std::string* key) {
  if (!level) return;
  key->push_back(mark);
  AppendKeyText(*level, key);
}

// Levels, slices and group of a topology request (rule A43).
void AppendTopology(const TopologyRequest& request, std::string* key) {
  key->push_back('y');
  AppendLevel('q', request.required, key);
  AppendLevel('d', request.preferred, key);
  if (request.unconstrained) key->push_back('u');
  AppendKeyText(request.pod_set_group, key);
  AppendLevel('i', request.slice_required, key);
  if (request.slice_size) AppendKeyNumber(*request.slice_size, key);
  for (const auto& layer : request.slice_layers) {
    key->push_back('o');
    AppendKeyText(layer.level, key);
    AppendKeyNumber(layer.size, key);
  }
}

// A list of amounts, each behind the same letter.
void AppendAmounts(char mark, const ResourceList& amounts, std::string* key) {
  for (const auto& [resource, amount] : amounts) {
    key->push_back(mark);
    AppendKeyText(resource, key);
    AppendKeyNumber(amount, key);
  }
}

}  // namespace

void AppendKeyNumber(std::int64_t number, std::string* key) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
  key->append(digits, end);
  key->push_back(',');
}

void AppendKeyText(const std::string& text, std::string* key) {
  AppendKeyNumber(static_cast<std::int64_t>(text.size()), key);
  key->append(text);
}

void AppendPodSetsKey(const PodSets& pod_sets, std::string* key) {
  for (const auto& pod_set : pod_sets) {
    key->push_back('p');
    AppendKeyText(pod_set.name, key);
    AppendKeyNumber(pod_set.count, key);
    if (pod_set.min_count) {
      key->push_back('m');
      AppendKeyNumber(*pod_set.min_count, key);
    }
    AppendAmounts('r', pod_set.requests, key);
    // Quota and machines may be asked for different amounts (rule A5).
    if (pod_set.node_requests) AppendAmounts('n', *pod_set.node_requests, key);
    if (pod_set.topology) AppendTopology(*pod_set.topology, key);
    if (pod_set.constraints) AppendConstraints(*pod_set.constraints, key);
  }
}

}  // namespace muster::core
