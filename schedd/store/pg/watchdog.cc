// The thread that cuts overdue waits. It sleeps until the earliest deadline, or for good if nothing
// is watched, and walks all watches when it wakes: there are as many as open connections.
#include "schedd/store/pg/watchdog.h"

#include <sys/socket.h>

#include <algorithm>

namespace muster::pg {

Watchdog::Watchdog() : thread_([this] { Run(); }) {}

Watchdog::~Watchdog() {
  {
    const MutexLock lock(mutex_);
    ends_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

void Watchdog::Stop(std::chrono::milliseconds grace) {
  {
    const MutexLock lock(mutex_);
    if (end_) return;
    end_ = Clock::now() + grace;
    stopped_ = true;
  }
  changed_.NotifyAll();
}

// Watches come and go with every commit, so the thread is woken only for a deadline that is earlier
// than the one it sleeps until.
void Watchdog::NoteDeadline(Clock::time_point deadline) {
  if (deadline < wakes_at_) changed_.NotifyAll();
}

// shutdown() instead of close(): the descriptor stays valid for the thread that waits on it.
void Watchdog::Run() {
  MutexLock lock(mutex_);
  while (!ends_) {
    const Clock::time_point now = Clock::now();
    wakes_at_ = Clock::time_point::max();
    for (const auto& [watch, deadline] : watches_) {
      if (watch->cut_) continue;
      const Clock::time_point due = end_ ? std::min(deadline, *end_) : deadline;
      if (due <= now) {
        watch->cut_ = true;
        shutdown(watch->fd_, SHUT_RDWR);
      } else {
        wakes_at_ = std::min(wakes_at_, due);
      }
    }
    if (wakes_at_ == Clock::time_point::max()) {
      changed_.Wait(mutex_);
    } else {
      changed_.WaitUntil(mutex_, wakes_at_);
    }
  }
}

Watchdog::Watch::Watch(Watchdog& dog, int fd, std::chrono::milliseconds within)
    : dog_(dog), fd_(fd) {
  Extend(within);
}

Watchdog::Watch::~Watch() {
  const MutexLock lock(dog_.mutex_);
  dog_.watches_.erase(this);
}

void Watchdog::Watch::Extend(std::chrono::milliseconds within) {
  const MutexLock lock(dog_.mutex_);
  const Clock::time_point deadline = Clock::now() + within;
  dog_.watches_[this] = deadline;
  dog_.NoteDeadline(dog_.end_ ? std::min(deadline, *dog_.end_) : deadline);
}

}  // namespace muster::pg
