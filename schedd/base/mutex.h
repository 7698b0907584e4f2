// Mutexes and condition variables whose use clang checks (-Wthread-safety): a member says which
// mutex guards it, a function which one its caller holds, and the test thread_safety_test refuses
// every access without the lock. For gcc the annotations are nothing and the types are those of
// the standard library. These are the only mutexes of the product; tests may use others.
//
// absl::Mutex is annotated too, but Debian's abseil is not built with ThreadSanitizer, which then
// does not see its locks and reports races that are none.
//
// What the analysis does not see: it does not follow a reference to a guarded member out of the
// lock, and it takes the body of a lambda for a function of its own, which therefore says what it
// requires: [this]() MUSTER_REQUIRES(mutex_) { return ended_; }.
#pragma once

#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <utility>

#include "schedd/base/thread_annotations.h"

namespace muster {

/// std::mutex. Not recursive.
class MUSTER_CAPABILITY("mutex") Mutex {
 public:
  void Lock() MUSTER_ACQUIRE() { mutex_.lock(); }
  void Unlock() MUSTER_RELEASE() { mutex_.unlock(); }
  /// Never waits; true if the caller holds it now.
  bool TryLock() MUSTER_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  friend class CondVar;
  friend class StoppableCondVar;

  std::mutex mutex_;
};

/// Holds a Mutex until its end, or until Unlock. One thread alone uses it.
class MUSTER_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) MUSTER_ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  /// Takes over what the caller has locked, as TryLock does.
  MutexLock(Mutex& mutex, std::adopt_lock_t) MUSTER_REQUIRES(mutex) : mutex_(mutex) {}
  ~MutexLock() MUSTER_RELEASE() {
    if (held_) mutex_.Unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Unlock() MUSTER_RELEASE() {
    held_ = false;
    mutex_.Unlock();
  }
  void Lock() MUSTER_ACQUIRE() {
    mutex_.Lock();
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

/// The opposite: a function whose caller holds the Mutex gives it up until the end of this.
class MUSTER_SCOPED_CAPABILITY MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) MUSTER_RELEASE(mutex) : mutex_(mutex) { mutex_.Unlock(); }
  // The end of the scope undoes what the constructor did, which is called a release here, too.
  ~MutexUnlock() MUSTER_RELEASE() { mutex_.Lock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex& mutex_;
};

/// std::recursive_mutex: for callbacks of a library that may come inside the call that caused them.
class MUSTER_CAPABILITY("mutex") RecursiveMutex {
 public:
  void Lock() MUSTER_ACQUIRE() { mutex_.lock(); }
  void Unlock() MUSTER_RELEASE() { mutex_.unlock(); }

 private:
  std::recursive_mutex mutex_;
};

/// Holds a RecursiveMutex until its end.
class MUSTER_SCOPED_CAPABILITY RecursiveLock {
 public:
  explicit RecursiveLock(RecursiveMutex& mutex) MUSTER_ACQUIRE(mutex) : mutex_(mutex) {
    mutex_.Lock();
  }
  ~RecursiveLock() MUSTER_RELEASE() { mutex_.Unlock(); }
  RecursiveLock(const RecursiveLock&) = delete;
  RecursiveLock& operator=(const RecursiveLock&) = delete;

 private:
  RecursiveMutex& mutex_;
};

/// std::shared_mutex: several readers or one writer.
class MUSTER_CAPABILITY("mutex") SharedMutex {
 public:
  void Lock() MUSTER_ACQUIRE() { mutex_.lock(); }
  void Unlock() MUSTER_RELEASE() { mutex_.unlock(); }
  void ReaderLock() MUSTER_ACQUIRE_SHARED() { mutex_.lock_shared(); }
  void ReaderUnlock() MUSTER_RELEASE_SHARED() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

/// Holds a SharedMutex for reading until its end.
class MUSTER_SCOPED_CAPABILITY ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) MUSTER_ACQUIRE_SHARED(mutex) : mutex_(mutex) {
    mutex_.ReaderLock();
  }
  ~ReaderLock() MUSTER_RELEASE_GENERIC() { mutex_.ReaderUnlock(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mutex_;
};

/// Holds a SharedMutex for writing until its end.
class MUSTER_SCOPED_CAPABILITY WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) MUSTER_ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~WriterLock() MUSTER_RELEASE() { mutex_.Unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mutex_;
};

/// std::condition_variable. The caller of each wait holds the mutex, and holds it again when the
/// wait is over; conditions are asked with it held. Waits may end without a reason, so those
/// without a condition stand in a loop. Thread-safe.
class CondVar {
 public:
  void NotifyOne() { changed_.notify_one(); }
  void NotifyAll() { changed_.notify_all(); }

  void Wait(Mutex& mutex) MUSTER_REQUIRES(mutex) {
    Native lock(mutex);
    changed_.wait(lock.held);
  }
  template <class Condition>
  void Wait(Mutex& mutex, Condition condition) MUSTER_REQUIRES(mutex) {
    Native lock(mutex);
    changed_.wait(lock.held, std::move(condition));
  }
  template <class Duration>
  void WaitFor(Mutex& mutex, const Duration& most) MUSTER_REQUIRES(mutex) {
    Native lock(mutex);
    changed_.wait_for(lock.held, most);
  }
  /// What the condition says at the end.
  template <class Duration, class Condition>
  bool WaitFor(Mutex& mutex, const Duration& most, Condition condition) MUSTER_REQUIRES(mutex) {
    Native lock(mutex);
    return changed_.wait_for(lock.held, most, std::move(condition));
  }
  template <class TimePoint>
  void WaitUntil(Mutex& mutex, const TimePoint& end) MUSTER_REQUIRES(mutex) {
    Native lock(mutex);
    changed_.wait_until(lock.held, end);
  }

 private:
  friend class StoppableCondVar;

  // The lock that the caller holds, as the standard library wants to see it.
  struct Native {
    explicit Native(Mutex& mutex) : held(mutex.mutex_, std::adopt_lock) {}
    ~Native() { held.release(); }
    std::unique_lock<std::mutex> held;
  };

  std::condition_variable changed_;
};

/// std::condition_variable_any: a CondVar whose waits also end when a stop is requested.
/// Thread-safe.
class StoppableCondVar {
 public:
  void NotifyOne() { changed_.notify_one(); }
  void NotifyAll() { changed_.notify_all(); }

  /// What the condition says at the end: false only if a stop is requested.
  template <class Condition>
  bool Wait(Mutex& mutex, std::stop_token stop, Condition condition) MUSTER_REQUIRES(mutex) {
    CondVar::Native lock(mutex);
    return changed_.wait(lock.held, std::move(stop), std::move(condition));
  }
  template <class Duration, class Condition>
  bool WaitFor(Mutex& mutex, std::stop_token stop, const Duration& most, Condition condition)
      MUSTER_REQUIRES(mutex) {
    CondVar::Native lock(mutex);
    return changed_.wait_for(lock.held, std::move(stop), most, std::move(condition));
  }

 private:
  std::condition_variable_any changed_;
};

/// Sleeps for this time, less if a stop is requested; true if it is.
template <class Duration>
bool SleepFor(const std::stop_token& stop, const Duration& time) {
  Mutex alone;
  StoppableCondVar stopped;
  const MutexLock lock(alone);
  return stopped.WaitFor(alone, stop, time, [&stop] { return stop.stop_requested(); });
}

}  // namespace muster
