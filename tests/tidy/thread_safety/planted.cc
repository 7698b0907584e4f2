// What thread_safety_test.py must see refused: each line that ends with "refused", and no other.
// Never compiled into anything.
#include "schedd/base/mutex.h"

#include <chrono>
#include <memory>

namespace muster {
namespace {

constexpr std::chrono::seconds kSecond{1};

class Account {
 public:
  int Right() const {
    const MutexLock lock(mutex_);
    return balance_;
  }
  int Read() const {
    return balance_;  // refused
  }
  void Write() {
    balance_ = 1;  // refused
  }
  void WriteAfterUnlock() {
    MutexLock lock(mutex_);
    lock.Unlock();
    balance_ = 1;  // refused
    lock.Lock();
    balance_ = 2;
  }
  void WriteWhileGivenUp() MUSTER_REQUIRES(mutex_) {
    {
      const MutexUnlock free(mutex_);
      balance_ = 1;  // refused
    }
    balance_ = 2;
  }
  void Call() {
    WriteWhileGivenUp();  // refused
  }
  void WithoutTrying() {
    if (mutex_.TryLock()) {
      const MutexLock lock(mutex_, std::adopt_lock);
      balance_ = 1;
      return;
    }
    balance_ = 2;  // refused
  }
  void Twice() {
    const MutexLock lock(mutex_);
    const MutexLock again(mutex_);  // refused
  }
  void WaitWithoutLock() {
    changed_.Wait(mutex_);  // refused
  }
  void WaitWithAnotherLock() {
    Mutex other;
    const MutexLock lock(other);
    changed_.WaitFor(mutex_, kSecond);  // refused
  }
  void WaitForWhatNobodyGuards() {
    const MutexLock lock(mutex_);
    changed_.Wait(mutex_, [this] {
      return balance_ > 0;  // refused
    });
    changed_.Wait(mutex_, [this]() MUSTER_REQUIRES(mutex_) { return balance_ > 0; });
  }
  void WaitForAStopWithoutLock(const std::stop_token& stop) {
    stopped_.Wait(mutex_, stop, [] { return false; });  // refused
  }
  void Behind() {
    *shared_ = 1;  // refused
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  StoppableCondVar stopped_;
  int balance_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<int> shared_ MUSTER_PT_GUARDED_BY(mutex_);
};

struct Table {
  SharedMutex mutex;
  int rows MUSTER_GUARDED_BY(mutex) = 0;
  RecursiveMutex again;
  int depth MUSTER_GUARDED_BY(again) = 0;
};

int ReadTable(const std::shared_ptr<Table>& table) {
  const ReaderLock lock(table->mutex);
  return table->rows;
}
void WriteTable(Table* table) {
  const WriterLock lock(table->mutex);
  table->rows = 1;
}
void WriteAsReader(Table* table) {
  const ReaderLock lock(table->mutex);
  table->rows = 1;  // refused
}
void WriteOther(Table* mine, Table* other) {
  const WriterLock lock(mine->mutex);
  other->rows = 1;  // refused
}
int Depth(Table* table) {
  const RecursiveLock lock(table->again);
  return table->depth;
}
int DepthWithoutLock(Table* table) {
  return table->depth;  // refused
}

}  // namespace
}  // namespace muster
