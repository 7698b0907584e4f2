#include "api/service/pod_set_cache.h"

#include "api/service/fingerprint.h"

namespace muster::api {
namespace {

// A hash of what usually tells two shapes apart. It need not cover everything, since Share compares
// the pod sets for equality.
std::uint64_t HashOf(const PodSets& pod_sets) {
  std::uint64_t state = kFingerprintStart;
  for (const PodSet& pod_set : pod_sets) {
    state = AddFingerprint(state, pod_set.name);
    state = AddFingerprint(state, std::int64_t{pod_set.count});
    for (const ResourceAmount& request : pod_set.requests) {
      state = AddFingerprint(state, request.resource);
      state = AddFingerprint(state, request.amount);
    }
    if (pod_set.constraints == nullptr) continue;
    for (const auto& [key, value] : pod_set.constraints->node_selector) {
      state = AddFingerprint(AddFingerprint(state, key), value);
    }
    for (const Toleration& toleration : pod_set.constraints->tolerations) {
      state = AddFingerprint(AddFingerprint(state, toleration.key), toleration.value);
    }
  }
  return state;
}

}  // namespace

PodSetsPtr PodSetCache::Share(PodSets pod_sets) {
  const std::uint64_t hash = HashOf(pod_sets);
  MutexLock lock(mutex_);
  const auto [begin, end] = entries_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (*it->second == pod_sets) return it->second;
  }
  // Jobs keep the pod sets they share; only future sharing with them is lost.
  if (entries_.size() >= kEntries) entries_.clear();
  auto shared = std::make_shared<const PodSets>(std::move(pod_sets));
  entries_.emplace(hash, shared);
  return shared;
}

}  // namespace muster::api
