// BoundedQueue: the one way two threads hand work to each other. Many producers, one consumer.
//
// Thread-safe. Push never blocks: false means full or closed and the caller sheds. Completions of
// work that the queue itself admitted use PushAlways, which is bounded by that admission.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace muster {

template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  /// False if full or closed; the item is then left untouched in `item`.
  bool Push(T&& item) {
    {
      std::lock_guard lock(mutex_);
      if (closed_ || items_.size() >= capacity_) return false;
      items_.push_back(std::move(item));
    }
    ready_.notify_one();
    return true;
  }

  /// Ignores the capacity; false only if closed.
  bool PushAlways(T&& item) {
    {
      std::lock_guard lock(mutex_);
      if (closed_) return false;
      items_.push_back(std::move(item));
    }
    ready_.notify_one();
    return true;
  }

  /// Moves everything queued into `out`; waits up to `wait` for the first item. False if nothing
  /// came.
  bool PopAll(std::deque<T>* out, std::chrono::nanoseconds wait) {
    std::unique_lock lock(mutex_);
    if (items_.empty() && wait.count() > 0) {
      ready_.wait_for(lock, wait, [this] { return !items_.empty() || closed_; });
    }
    if (items_.empty()) return false;
    out->swap(items_);
    items_.clear();
    return true;
  }

  /// Refuses further items and wakes the consumer; what is queued can still be popped.
  void Close() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    ready_.notify_all();
  }

  std::size_t size() const {
    std::lock_guard lock(mutex_);
    return items_.size();
  }

 private:
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace muster
