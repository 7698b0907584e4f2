// Readers: a few threads that run what blocks, such as reading logs.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "schedd/base/mutex.h"

namespace muster {

/// Thread-safe. Tasks that wait when it ends are not run.
class Readers {
 public:
  /// At most `waiting` tasks wait for one of the threads.
  Readers(int threads, std::size_t waiting);
  /// False: too many wait already.
  bool Post(std::function<void()> task);

 private:
  void Run(const std::stop_token& stop);

  const std::size_t waiting_;
  Mutex mutex_;
  StoppableCondVar wake_;
  std::deque<std::function<void()>> tasks_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::jthread> threads_;  // ends first
};

}  // namespace muster
