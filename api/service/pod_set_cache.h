// PodSetCache: one shared copy of equal pod sets. A thousand jobs of one sweep differ in name, not
// in shape: they then hold one PodSets between them, which keeps a million pending jobs small and
// lets a cycle work per shape.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "schedd/model/workload.h"

namespace muster::api {

/// Thread-safe. Holds at most kEntries; beyond that it starts anew (sharing is an economy, never a
/// promise).
class PodSetCache {
 public:
  static constexpr std::size_t kEntries = 8192;
  /// A pointer to pod sets equal to `pod_sets`.
  PodSetsPtr Share(PodSets pod_sets);

 private:
  std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, PodSetsPtr> entries_;
};

}  // namespace muster::api
