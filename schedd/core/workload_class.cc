#include "schedd/core/workload_class.h"

#include <charconv>

namespace muster::core {
namespace {

void AppendNumber(std::int64_t number, std::string* key) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
  key->append(digits, end);
  key->push_back(',');
}

// Length first, so that no two lists of texts can read the same.
void AppendText(const std::string& text, std::string* key) {
  AppendNumber(static_cast<std::int64_t>(text.size()), key);
  key->append(text);
}

void AppendConstraints(const SchedulingConstraints& constraints, std::string* key) {
  for (const auto& [label, value] : constraints.node_selector) {
    key->push_back('s');
    AppendText(label, key);
    AppendText(value, key);
  }
  if (constraints.has_required_affinity) key->push_back('a');
  for (const auto& term : constraints.required_terms) {
    key->push_back('t');
    for (const auto& requirement : term.match_expressions) {
      AppendText(requirement.key, key);
      AppendText(requirement.op, key);
      AppendNumber(static_cast<std::int64_t>(requirement.values.size()), key);
      for (const auto& value : requirement.values) AppendText(value, key);
    }
  }
  for (const auto& toleration : constraints.tolerations) {
    key->push_back('l');
    AppendText(toleration.key, key);
    AppendText(toleration.op, key);
    AppendText(toleration.value, key);
    AppendText(toleration.effect, key);
  }
}

}  // namespace

void AppendPodSetsKey(const PodSets& pod_sets, std::string* key) {
  for (const auto& pod_set : pod_sets) {
    key->push_back('p');
    AppendText(pod_set.name, key);
    AppendNumber(pod_set.count, key);
    for (const auto& [resource, amount] : pod_set.requests) {
      key->push_back('r');
      AppendText(resource, key);
      AppendNumber(amount, key);
    }
    if (pod_set.constraints) AppendConstraints(*pod_set.constraints, key);
  }
}

void AppendClassKey(const JobRecord& job, std::string* key) {
  AppendNumber(job.priority, key);
  AppendText(job.ns, key);
  AppendText(job.local_queue, key);
  if (job.pod_sets) AppendPodSetsKey(*job.pod_sets, key);
}

}  // namespace muster::core
