// BoundedQueue: the one way in which two threads hand work to each other. Many producers, one
// consumer.
//
// Thread-safe. Push never blocks: it returns false if the queue is full or closed, and the caller
// refuses the work. PushAlways is for completions of work that the queue itself admitted; their
// number is bounded by that admission.
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

  /// False if the queue is full or closed; `item` is then unchanged.
  bool Push(T&& item) {
    {
      std::lock_guard lock(mutex_);
      if (closed_ || items_.size() >= capacity_) return false;
      items_.push_back(std::move(item));
    }
    ready_.notify_one();
    return true;
  }

  /// Ignores the capacity; false only if the queue is closed.
  bool PushAlways(T&& item) {
    {
      std::lock_guard lock(mutex_);
      if (closed_) return false;
      items_.push_back(std::move(item));
    }
    ready_.notify_one();
    return true;
  }

  /// Moves all queued items into `out`; waits up to `wait` for the first item. False if none came.
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

  /// Refuses further items and wakes the consumer; items that are queued can still be popped.
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
