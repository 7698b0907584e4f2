// Readers: a few threads that run what blocks, such as reading logs.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "schedd/base/mutex.h"

namespace muster::launcher {

/// Thread-safe. Tasks that wait when it ends are not run.
class Readers {
 public:
  Readers();
  /// False: too many wait already.
  bool Post(std::function<void()> task);

 private:
  void Run(const std::stop_token& stop);

  Mutex mutex_;
  StoppableCondVar wake_;
  std::deque<std::function<void()>> tasks_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::jthread> threads_;  // ends first
};

}  // namespace muster::launcher
