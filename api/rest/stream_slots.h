// StreamSlots: at most limits::kStreams open streams, of events and logs together. Thread-safe.
#pragma once

#include <atomic>
#include <memory>

#include "schedd/base/limits.h"

namespace muster::rest {

class StreamSlots {
 public:
  /// Held while a stream is open; null when all are taken. May outlive the StreamSlots.
  std::shared_ptr<void> Take() {
    auto taken = taken_;
    if (taken->fetch_add(1) >= static_cast<int>(limits::kStreams)) {
      taken->fetch_sub(1);
      return nullptr;
    }
    return {taken.get(), [taken](void*) { taken->fetch_sub(1); }};
  }

 private:
  std::shared_ptr<std::atomic<int>> taken_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace muster::rest
