// CycleCache: what Decide computes from the configuration alone, kept from one cycle to the next:
// gates of queues and workloads, and flavor plans by workload class. A Plan is the same with and
// without it.
#pragma once

#include <memory>

namespace muster::core {

/// The caller of Decide owns it and passes it to every call. It is emptied when configuration,
/// settings or quota tree change, and when it has too many classes. Not thread-safe.
class CycleCache {
 public:
  CycleCache();
  ~CycleCache();
  CycleCache(CycleCache&&) noexcept;
  CycleCache& operator=(CycleCache&&) noexcept;

 private:
  friend class Cycle;
  struct Contents;
  std::unique_ptr<Contents> known_;
};

}  // namespace muster::core
