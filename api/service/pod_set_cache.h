// PodSetCache: one shared copy of equal pod sets. A thousand jobs of one sweep differ in name and
// not in shape; they then hold one PodSets object together. That keeps a million pending jobs small
// and lets a cycle work per shape.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "schedd/base/mutex.h"
#include "schedd/model/workload.h"

namespace muster::api {

/// Thread-safe. Holds at most kEntries; when they are full, the cache is emptied. Sharing saves
/// memory and is never promised.
class PodSetCache {
 public:
  static constexpr std::size_t kEntries = 8192;
  /// A shared pointer to pod sets equal to `pod_sets`.
  PodSetsPtr Share(PodSets pod_sets);

 private:
  Mutex mutex_;
  std::unordered_multimap<std::uint64_t, PodSetsPtr> entries_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::api
