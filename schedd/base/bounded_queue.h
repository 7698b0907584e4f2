// BoundedQueue: the one way in which two threads hand work to each other. Many producers, one
// consumer.
//
// Thread-safe. Push never blocks: it returns false if the queue is full or closed, and the caller
// refuses the work. PushAlways is for completions of work that the queue itself admitted; their
// number is bounded by that admission.
#pragma once

#include <chrono>
#include <deque>
#include <utility>

#include "schedd/base/mutex.h"

namespace muster {

template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  /// False if the queue is full or closed; `item` is then unchanged.
  bool Push(T&& item) {
    {
      MutexLock lock(mutex_);
      if (closed_ || items_.size() >= capacity_) return false;
      items_.push_back(std::move(item));
    }
    ready_.NotifyOne();
    return true;
  }

  /// Ignores the capacity; false only if the queue is closed.
  bool PushAlways(T&& item) {
    {
      MutexLock lock(mutex_);
      if (closed_) return false;
      items_.push_back(std::move(item));
    }
    ready_.NotifyOne();
    return true;
  }

  /// Moves all queued items into `out`; waits up to `wait` for the first item. False if none came.
  bool PopAll(std::deque<T>* out, std::chrono::nanoseconds wait) {
    MutexLock lock(mutex_);
    if (items_.empty() && wait.count() > 0) {
      ready_.WaitFor(mutex_, wait,
                     [this]() MUSTER_REQUIRES(mutex_) { return !items_.empty() || closed_; });
    }
    if (items_.empty()) return false;
    out->swap(items_);
    items_.clear();
    return true;
  }

  /// Refuses further items and wakes the consumer; items that are queued can still be popped.
  void Close() {
    {
      MutexLock lock(mutex_);
      closed_ = true;
    }
    ready_.NotifyAll();
  }

  std::size_t size() const {
    MutexLock lock(mutex_);
    return items_.size();
  }

 private:
  const std::size_t capacity_;
  mutable Mutex mutex_;
  CondVar ready_;
  std::deque<T> items_ MUSTER_GUARDED_BY(mutex_);
  bool closed_ MUSTER_GUARDED_BY(mutex_) = false;
};

}  // namespace muster
