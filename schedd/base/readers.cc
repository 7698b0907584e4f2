// Each thread takes the oldest task.
#include "schedd/base/readers.h"

#include <utility>

namespace muster {

Readers::Readers(int threads, std::size_t waiting) : waiting_(waiting) {
  for (int i = 0; i < threads; ++i)
    threads_.emplace_back([this](const std::stop_token& stop) { Run(stop); });
}

bool Readers::Post(std::function<void()> task) {
  MutexLock lock(mutex_);
  if (tasks_.size() >= waiting_) return false;
  tasks_.push_back(std::move(task));
  wake_.NotifyOne();
  return true;
}

void Readers::Run(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  while (wake_.Wait(mutex_, stop, [this]() MUSTER_REQUIRES(mutex_) { return !tasks_.empty(); })) {
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.Unlock();
    task();
    lock.Lock();
  }
}

}  // namespace muster
