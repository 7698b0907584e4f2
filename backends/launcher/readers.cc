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
  std::lock_guard lock(mutex_);
  if (tasks_.size() >= limits::kLauncherReadsWaiting) return false;
  tasks_.push_back(std::move(task));
  wake_.notify_one();
  return true;
}

void Readers::Run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (wake_.wait(lock, stop, [this] { return !tasks_.empty(); })) {
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace muster::launcher
