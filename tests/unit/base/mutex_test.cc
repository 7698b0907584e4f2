// Mutexes, their locks and condition variables: what they do, beside what clang is told of them.
#include "schedd/base/mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace muster {
namespace {

using std::chrono::hours;

// True if another thread could lock the mutex now.
template <class M>
bool Free(M& mutex) {
  bool free = false;
  std::thread([&] {
    if ((free = mutex.TryLock())) mutex.Unlock();
  }).join();
  return free;
}

class Counter {
 public:
  void Add() {
    const MutexLock lock(mutex_);
    ++count_;
    if (count_ == wanted_) reached_.NotifyAll();
  }
  int Await(int wanted) {
    const MutexLock lock(mutex_);
    wanted_ = wanted;
    reached_.Wait(mutex_, [this]() MUSTER_REQUIRES(mutex_) { return count_ >= wanted_; });
    return count_;
  }

 private:
  Mutex mutex_;
  CondVar reached_;
  int count_ MUSTER_GUARDED_BY(mutex_) = 0;
  int wanted_ MUSTER_GUARDED_BY(mutex_) = -1;
};

}  // namespace

TEST(MutexLock, HoldsUntilItsEndAndMayGiveUpBetween) {
  Mutex mutex;
  {
    MutexLock lock(mutex);
    EXPECT_FALSE(Free(mutex));
    lock.Unlock();
    EXPECT_TRUE(Free(mutex));
    lock.Lock();
    EXPECT_FALSE(Free(mutex));
    lock.Unlock();
  }
  EXPECT_TRUE(Free(mutex));
}

TEST(MutexLock, TakesOverWhatWasLocked) {
  Mutex mutex;
  ASSERT_TRUE(mutex.TryLock());
  {
    const MutexLock lock(mutex, std::adopt_lock);
    EXPECT_FALSE(Free(mutex));
  }
  EXPECT_TRUE(Free(mutex));
}

TEST(MutexUnlock, LocksAgainAlsoBehindAnException) {
  Mutex mutex;
  const MutexLock lock(mutex);
  try {
    const MutexUnlock free(mutex);
    EXPECT_TRUE(Free(mutex));
    throw std::runtime_error("a handler");
  } catch (const std::runtime_error&) {
    EXPECT_FALSE(Free(mutex));
  }
}

TEST(SharedMutex, HasManyReadersOrOneWriter) {
  SharedMutex mutex;
  int value = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 100; ++turn) {
        {
          const WriterLock lock(mutex);
          ++value;
        }
        const ReaderLock one(mutex);
        EXPECT_GT(value, turn);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(value, 400);
  // Two readers at once: the thread ends while this one reads.
  const ReaderLock mine(mutex);
  std::thread([&] { const ReaderLock theirs(mutex); }).join();
}

TEST(RecursiveMutex, MayBeLockedTwiceByOneThread) {
  RecursiveMutex mutex;
  const RecursiveLock outer(mutex);
  const RecursiveLock inner(mutex);
}

TEST(CondVar, WakesWhoWaitsForACondition) {
  Counter counter;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 100; ++turn) counter.Add();
    });
  }
  EXPECT_EQ(counter.Await(400), 400);
  for (std::thread& thread : threads) thread.join();
}

TEST(CondVar, HoldsTheMutexAgainAfterATimeThatIsUp) {
  Mutex mutex;
  CondVar never;
  {
    const MutexLock lock(mutex);
    EXPECT_FALSE(never.WaitFor(mutex, std::chrono::milliseconds(1), [] { return false; }));
    EXPECT_FALSE(Free(mutex));
    never.WaitUntil(mutex, std::chrono::steady_clock::now());
    EXPECT_FALSE(Free(mutex));
  }
  EXPECT_TRUE(Free(mutex));
}

TEST(StoppableCondVar, EndsItsWaitWhenAStopIsRequested) {
  Mutex mutex;
  StoppableCondVar never;
  bool waits = false, said = true;
  std::jthread thread([&](const std::stop_token& stop) {
    const MutexLock lock(mutex);
    waits = true;
    said = never.Wait(mutex, stop, [] { return false; });
  });
  for (bool seen = false; !seen;) {
    const MutexLock lock(mutex);
    seen = waits;
  }
  thread.request_stop();
  thread.join();
  EXPECT_FALSE(said);
}

TEST(StoppableCondVar, WakesWhoWaitsForACondition) {
  Mutex mutex;
  StoppableCondVar changed;
  bool set = false;
  std::jthread thread([&] {
    const MutexLock lock(mutex);
    set = true;
    changed.NotifyOne();
  });
  const MutexLock lock(mutex);
  EXPECT_TRUE(changed.WaitFor(mutex, std::stop_token(), hours(1), [&] { return set; }));
}

TEST(SleepFor, EndsWithItsTimeOrWithAStop) {
  std::stop_source source;
  EXPECT_FALSE(SleepFor(source.get_token(), std::chrono::milliseconds(1)));
  std::jthread stops([&] { source.request_stop(); });
  EXPECT_TRUE(SleepFor(source.get_token(), hours(1)));
}

}  // namespace muster
