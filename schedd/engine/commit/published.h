// Published: the newest view, handed from the engine thread to any reader. The lock covers one
// pointer copy.
#pragma once

#include "schedd/base/mutex.h"
#include "schedd/world/world_view.h"

namespace muster {

/// Thread-safe: the engine thread sets, any thread gets.
class Published {
 public:
  explicit Published(WorldViewPtr first) : view_(std::move(first)) {}

  WorldViewPtr Get() const {
    MutexLock lock(mutex_);
    return view_;
  }
  void Set(WorldViewPtr next) {
    {
      MutexLock lock(mutex_);
      view_.swap(next);
    }
    // The old view may be large; if this was its last reference, it is destroyed outside the lock.
    next.reset();
  }

 private:
  mutable Mutex mutex_;
  WorldViewPtr view_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
