// Assignment: the modes of a workload that follow from its flavors, and the sentences about it.
//
// Modes are ordered kNoFit < kPreempt < kFit, and a pod set or a workload is as good as its worst
// part. The sentences are Kueue's (rule A33), because users and tools read them in conditions and
// events.
#include "schedd/core/plan/assignment.h"

#include <algorithm>

namespace muster::core {
namespace {

// Sorted, so that equal results give equal sentences.
std::string Joined(std::vector<std::string> sentences, const char* separator) {
  std::sort(sentences.begin(), sentences.end());
  std::string text;
  for (const auto& sentence : sentences) {
    if (!text.empty()) text += separator;
    text += sentence;
  }
  return text;
}

}  // namespace

// Without reasons everything fits. Without flavors only a pod set that asks for nothing fits.
FlavorMode PodSetFlavors::Mode() const {
  if (!error.empty()) return FlavorMode::kNoFit;
  if (reasons.empty()) return FlavorMode::kFit;
  if (flavors.empty()) return requests.empty() ? FlavorMode::kFit : FlavorMode::kNoFit;
  FlavorMode worst = FlavorMode::kFit;
  for (const auto& [resource, flavor] : flavors) worst = std::min(worst, flavor.mode);
  return worst;
}

FlavorMode Assignment::Mode() const {
  if (pod_sets.empty()) return FlavorMode::kNoFit;
  if (topology_mode) return *topology_mode;
  FlavorMode worst = FlavorMode::kFit;
  for (const auto& pod_set : pod_sets) worst = std::min(worst, pod_set.Mode());
  return worst;
}

// An internal failure of any pod set is the whole message.
std::string Assignment::Message() const {
  if (!message.empty()) return message;
  std::string text;
  for (const auto& pod_set : pod_sets) {
    if (!pod_set.error.empty()) {
      return "failed to assign flavors to pod set " + pod_set.name + ": " + pod_set.error;
    }
    if (pod_set.reasons.empty()) continue;
    if (!text.empty()) text += "; ";
    text +=
        "couldn't assign flavors to pod set " + pod_set.name + ": " + Joined(pod_set.reasons, ", ");
  }
  return text;
}

const PodSetFlavors* Assignment::Find(const std::string& pod_set) const {
  for (const auto& candidate : pod_sets) {
    if (candidate.name == pod_set) return &candidate;
  }
  return nullptr;
}

std::vector<FlavorResourceIndex> Assignment::Contested(const QuotaTree& tree) const {
  std::vector<FlavorResourceIndex> pairs;
  for (const auto& pod_set : pod_sets) {
    for (const auto& [resource, flavor] : pod_set.flavors) {
      if (flavor.mode != FlavorMode::kPreempt) continue;
      const FlavorResourceIndex pair = tree.PairIndex(flavor.flavor, resource);
      if (pair >= 0) pairs.push_back(pair);
    }
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

// Usage is charged only for resources that got a flavor.
AdmissionPtr Assignment::ToAdmission(const std::string& cluster_queue) const {
  auto admission = std::make_shared<Admission>();
  admission->cluster_queue = cluster_queue;
  for (const auto& pod_set : pod_sets) {
    PodSetAssignment& entry = admission->pod_sets.emplace_back();
    entry.name = pod_set.name;
    entry.count = pod_set.count;
    entry.topology = pod_set.topology;
    entry.topology_delayed = pod_set.topology_delayed;
    for (const auto& [resource, flavor] : pod_set.flavors) {
      entry.flavors[resource] = flavor.flavor;
      SetAmount(&entry.usage, resource, AmountOf(pod_set.requests, resource));
    }
  }
  return admission;
}

}  // namespace muster::core
