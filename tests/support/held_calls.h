// HeldCalls: calls that wait until a test lets them go.
#pragma once

#include <condition_variable>
#include <mutex>

namespace muster::test {

/// Thread-safe. Calls pass at once unless they are held. The end lets all go.
class HeldCalls {
 public:
  ~HeldCalls() { LetGo(); }

  void Hold() {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }
  void LetGo() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }
  /// The call: waits while calls are held.
  void Pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    --waiting_;
  }
  /// Waits until so many calls wait.
  void Await(int waiting) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= waiting; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  int waiting_ = 0;
};

}  // namespace muster::test
