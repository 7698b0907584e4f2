// Each thread takes the oldest task.
#include "backends/launcher/readers.h"

#include <utility>

#include "schedd/base/limits_launcher.h"

namespace muster::launcher {

Readers::Readers() {
  for (int i = 0; i < limits::kLauncherReaders; ++i)
    threads_.emplace_back([this](const std::stop_token& stop) { Run(stop); });
}

bool Readers::Post(std::function<void()> task) {
  MutexLock lock(mutex_);
  if (tasks_.size() >= limits::kLauncherReadsWaiting) return false;
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

}  // namespace muster::launcher
