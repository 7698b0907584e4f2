#include "schedd/core/workload_class.h"

#include <charconv>

#include "schedd/core/placement_ask.h"

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

void AppendTerm(const NodeSelectorTerm& term, std::string* key) {
  AppendNumber(static_cast<std::int64_t>(term.match_expressions.size()), key);
  for (const auto& requirement : term.match_expressions) {
    AppendText(requirement.key, key);
    AppendText(requirement.op, key);
    AppendNumber(static_cast<std::int64_t>(requirement.values.size()), key);
    for (const auto& value : requirement.values) AppendText(value, key);
  }
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
    AppendTerm(term, key);
  }
  for (const auto& preferred : constraints.preferred_terms) {
    key->push_back('w');
    AppendNumber(preferred.weight, key);
    AppendTerm(preferred.term, key);
  }
  for (const auto& toleration : constraints.tolerations) {
    key->push_back('l');
    AppendText(toleration.key, key);
    AppendText(toleration.op, key);
    AppendText(toleration.value, key);
    AppendText(toleration.effect, key);
  }
}

void AppendLevel(char mark, const std::optional<std::string>& level, std::string* key) {
  if (!level) return;
  key->push_back(mark);
  AppendText(*level, key);
}

void AppendTopology(const TopologyRequest& request, std::string* key) {
  key->push_back('y');
  AppendLevel('q', request.required, key);
  AppendLevel('d', request.preferred, key);
  if (request.unconstrained) key->push_back('u');
  AppendText(request.pod_set_group, key);
  AppendLevel('i', request.slice_required, key);
  if (request.slice_size) AppendNumber(*request.slice_size, key);
  for (const auto& layer : request.slice_layers) {
    key->push_back('o');
    AppendText(layer.level, key);
    AppendNumber(layer.size, key);
  }
}

void AppendAmounts(char mark, const ResourceList& amounts, std::string* key) {
  for (const auto& [resource, amount] : amounts) {
    key->push_back(mark);
    AppendText(resource, key);
    AppendNumber(amount, key);
  }
}

// Which members may run it, beyond its pods. A name in an annotation of its queue or namespace that
// leads nowhere is a gate (JobGate), which classes tell apart.
void AppendPlacementKey(const ConfigView& config, const JobRecord& job, std::string* key) {
  if (job.shape != ShapeKind::kJob) {
    key->push_back('k');
    AppendNumber(static_cast<std::int64_t>(job.shape), key);
  }
  const JobPlacement* own = job.placement.get();
  if (own != nullptr &&
      !(own->placement.empty() && own->cluster.empty() && own->datasets.empty())) {
    key->push_back('x');
    AppendText(own->placement, key);
    AppendText(own->cluster, key);
    for (const auto& dataset : own->datasets) AppendText(dataset, key);
    if (own->datasets_required) key->push_back('!');
  }
  if (config.placements->all().empty()) return;
  if (const PlacementPtr governing = GoverningPlacement(config, job, nullptr)) {
    key->push_back('b');
    AppendText(governing->ns, key);
    AppendText(governing->name, key);
  }
}

}  // namespace

void AppendPodSetsKey(const PodSets& pod_sets, std::string* key) {
  for (const auto& pod_set : pod_sets) {
    key->push_back('p');
    AppendText(pod_set.name, key);
    AppendNumber(pod_set.count, key);
    if (pod_set.min_count) {
      key->push_back('m');
      AppendNumber(*pod_set.min_count, key);
    }
    AppendAmounts('r', pod_set.requests, key);
    if (pod_set.node_requests) AppendAmounts('n', *pod_set.node_requests, key);
    if (pod_set.topology) AppendTopology(*pod_set.topology, key);
    if (pod_set.constraints) AppendConstraints(*pod_set.constraints, key);
  }
}

void AppendSchedulingKey(const ConfigView& config, const JobRecord& job,
                         const AdmissionSettings& settings, std::string* key) {
  AppendNumber(EffectivePriority(job, settings), key);
  if (job.admission_state) {
    const AdmissionState& state = *job.admission_state;
    if (settings.reclaimable_pods) {
      for (const auto& pods : state.reclaimable) {
        key->push_back('g');
        AppendText(pods.pod_set, key);
        AppendNumber(pods.count, key);
      }
    }
    if (state.allowed_flavors) {
      key->push_back('f');
      for (const auto& flavor : *state.allowed_flavors) AppendText(flavor, key);
    }
    if (!state.replaces_slice.empty()) {
      key->push_back('e');
      AppendText(state.replaces_slice, key);
    }
    for (const auto& avoided : state.avoided) {
      key->push_back('v');
      AppendText(avoided.cluster, key);
      AppendNumber(avoided.until.us, key);
    }
  }
  AppendPlacementKey(config, job, key);
  if (job.pod_sets) AppendPodSetsKey(*job.pod_sets, key);
}

void AppendClassKey(const ConfigView& config, const JobRecord& job,
                    const AdmissionSettings& settings, std::string* key) {
  AppendText(job.ns, key);
  AppendText(job.local_queue, key);
  AppendSchedulingKey(config, job, settings, key);
}

}  // namespace muster::core
