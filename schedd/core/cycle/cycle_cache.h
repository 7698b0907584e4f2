// CycleCache: what Decide works out of the configuration alone, kept from one cycle to the next:
// the gates of queues and workloads, and flavor plans by workload class. A Plan is the same with
// and without it.
#pragma once

#include <memory>

namespace muster::core {

/// Owned by whoever decides again and again. Forgets everything when configuration, settings or
/// quota tree are others than before, and when it has too many classes. Not thread-safe.
class CycleCache {
 public:
  CycleCache();
  ~CycleCache();
  CycleCache(CycleCache&&) noexcept;
  CycleCache& operator=(CycleCache&&) noexcept;

 private:
  friend class Cycle;
  struct Known;
  std::unique_ptr<Known> known_;
};

}  // namespace muster::core
