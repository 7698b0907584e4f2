// The key of a workload class (rule A14).
//
// Whatever an admission rule looks at must be in the key: two workloads with equal keys are parked
// and woken together, and share one compiled flavor search. Each optional part begins with a letter
// of its own, so that no two different contents give the same text. Parts that are absent cost
// nothing.
#include "schedd/core/queue/workload_class.h"

#include <algorithm>
#include <iterator>

#include "schedd/core/member/placement_ask.h"
#include "schedd/core/member/pod_sets_key.h"

namespace muster::core {
namespace {

// What decides between member clusters beyond the pods. A placement name in an annotation of the
// queue or namespace that does not exist is a gate (JobGate); classes differ by LocalQueue and
// namespace anyway.
void AppendPlacementKey(const ConfigView& config, const JobRecord& job, std::string* key) {
  if (job.shape != ShapeKind::kJob) {
    key->push_back('k');
    AppendKeyNumber(static_cast<std::int64_t>(job.shape), key);
  }
  const JobPlacement* own = job.placement.get();
  if (own != nullptr &&
      !(own->placement.empty() && own->cluster.empty() && own->datasets.empty())) {
    key->push_back('x');
    AppendKeyText(own->placement, key);
    AppendKeyText(own->cluster, key);
    for (const auto& dataset : own->datasets) AppendKeyText(dataset, key);
    if (own->datasets_required) key->push_back('!');
  }
  if (job.batch != nullptr) {
    const BatchDetails& batch = *job.batch;
    // The type of its GPUs is in the text of its generic resources.
    const std::string* const texts[] = {&batch.features, &batch.required_nodes,
                                        &batch.excluded_nodes, &batch.gres};
    if (std::any_of(std::begin(texts), std::end(texts),
                    [](const std::string* text) { return !text->empty(); })) {
      key->push_back('n');
      for (const std::string* text : texts) AppendKeyText(*text, key);
    }
  }
  if (config.placements->all().empty()) return;
  if (const PlacementPtr governing = GoverningPlacement(config, job, nullptr)) {
    key->push_back('b');
    AppendKeyText(governing->ns, key);
    AppendKeyText(governing->name, key);
  }
}

}  // namespace

void AppendSchedulingKey(const ConfigView& config, const JobRecord& job,
                         const AdmissionSettings& settings, std::string* key) {
  AppendKeyNumber(EffectivePriority(job, settings), key);
  if (job.admission_state) {
    const AdmissionState& state = *job.admission_state;
    if (settings.reclaimable_pods) {
      for (const auto& pods : state.reclaimable) {
        key->push_back('g');
        AppendKeyText(pods.pod_set, key);
        AppendKeyNumber(pods.count, key);
      }
    }
    if (state.allowed_flavors) {
      key->push_back('f');
      for (const auto& flavor : *state.allowed_flavors) AppendKeyText(flavor, key);
    }
    if (!state.replaces_slice.empty()) {
      key->push_back('e');
      AppendKeyText(state.replaces_slice, key);
    }
    for (const auto& avoided : state.avoided) {
      key->push_back('v');
      AppendKeyText(avoided.cluster, key);
      AppendKeyNumber(avoided.until.us, key);
    }
  }
  AppendPlacementKey(config, job, key);
  if (job.pod_sets) AppendPodSetsKey(*job.pod_sets, key);
}

void AppendClassKey(const ConfigView& config, const JobRecord& job,
                    const AdmissionSettings& settings, std::string* key) {
  AppendKeyText(job.ns, key);
  AppendKeyText(job.local_queue, key);
  AppendSchedulingKey(config, job, settings, key);
}

}  // namespace muster::core
