// Readers: a few threads that run what blocks, such as reading logs.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace muster::launcher {

/// Thread-safe. Tasks that wait when it ends are not run.
class Readers {
 public:
  Readers();
  /// False: too many wait already.
  bool Post(std::function<void()> task);

 private:
  void Run(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::jthread> threads_;  // ends first
};

}  // namespace muster::launcher
