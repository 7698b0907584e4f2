// EventLoop: poll on two descriptors. An eventfd wakes the loop for posted tasks; inotify wakes it
// when a supervisor renames status.json into place or ends, for its end closes the file `alive`.
#include "backends/local/event_loop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

namespace muster::local {
namespace {

// A file that is not in place yet is told of as well (WriteWholeFile).
bool IsTemporary(const inotify_event& event) {
  return event.len > 0 && std::string_view(event.name).ends_with(".tmp");
}

}  // namespace

EventLoop::EventLoop(std::size_t capacity) : tasks_(capacity) {}

EventLoop::~EventLoop() {
  Stop();
  if (wake_fd_ >= 0) ::close(wake_fd_);
  if (inotify_fd_ >= 0) ::close(inotify_fd_);
}

Status EventLoop::Open(Task on_overflow) {
  on_overflow_ = std::move(on_overflow);
  wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  inotify_fd_ = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (wake_fd_ < 0 || inotify_fd_ < 0) {
    return Unavailable(std::string("the kernel gives the local backend no descriptors: ") +
                       std::strerror(errno));
  }
  return Done{};
}

void EventLoop::Start() {
  thread_ = std::jthread([this] { Run(); });
}

// The stop is a task like others, so everything posted before it still runs.
void EventLoop::Stop() {
  if (!thread_.joinable()) return;
  PostAlways([this] { stopping_ = true; });
  thread_.join();
  tasks_.Close();
}

bool EventLoop::Post(Task task) {
  if (!tasks_.Push(std::move(task))) return false;
  Wake();
  return true;
}

bool EventLoop::PostAlways(Task task) {
  if (!tasks_.PushAlways(std::move(task))) return false;
  Wake();
  return true;
}

void EventLoop::Wake() {
  const std::uint64_t one = 1;
  // EAGAIN means a full counter, which wakes the loop as well.
  if (::write(wake_fd_, &one, sizeof one) < 0 && errno != EAGAIN) std::abort();
}

Result<int> EventLoop::Watch(const std::string& dir, Task changed) {
  // Deletions are somebody's interference: nobody would tell of the pod's end afterwards.
  return AddWatch(dir, IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE, std::move(changed));
}

Result<int> EventLoop::WatchWrites(const std::string& dir, Task changed) {
  return AddWatch(dir, IN_MOVED_TO | IN_CLOSE_WRITE | IN_MODIFY, std::move(changed));
}

Result<int> EventLoop::AddWatch(const std::string& dir, std::uint32_t events, Task changed) {
  const int watch =
      ::inotify_add_watch(inotify_fd_, dir.c_str(), events | IN_ONLYDIR | IN_DONT_FOLLOW);
  if (watch < 0) {
    return Unavailable(std::string("the pod's directory cannot be watched: ") +
                       std::strerror(errno) +
                       (errno == ENOSPC ? " (raise fs.inotify.max_user_watches)" : ""));
  }
  watches_[watch] = std::move(changed);
  return watch;
}

void EventLoop::Unwatch(int watch) {
  if (watches_.erase(watch) > 0) ::inotify_rm_watch(inotify_fd_, watch);
}

// Changes are read before tasks, so a task sees the newest state.
void EventLoop::Run() {
  while (!stopping_) {
    pollfd ready[2] = {{wake_fd_, POLLIN, 0}, {inotify_fd_, POLLIN, 0}};
    if (::poll(ready, 2, -1) < 0 && errno != EINTR) std::abort();
    if (ready[1].revents != 0) ReadChanges();
    std::uint64_t count = 0;
    if (ready[0].revents != 0 && ::read(wake_fd_, &count, sizeof count) < 0 && errno != EAGAIN)
      std::abort();
    std::deque<Task> tasks;
    if (!tasks_.PopAll(&tasks, std::chrono::nanoseconds(0))) continue;
    for (Task& task : tasks) task();
  }
}

// Calls each changed directory's task once, however many events it has.
void EventLoop::ReadChanges() {
  alignas(inotify_event) char buffer[64 << 10];
  const ssize_t got = ::read(inotify_fd_, buffer, sizeof buffer);
  std::vector<int> changed;
  for (ssize_t at = 0; at < got;) {
    const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
    at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    if ((event->mask & IN_Q_OVERFLOW) != 0) {
      on_overflow_();
    } else if (!IsTemporary(*event) &&
               std::find(changed.begin(), changed.end(), event->wd) == changed.end()) {
      changed.push_back(event->wd);
    }
  }
  for (const int watch : changed) {
    const auto found = watches_.find(watch);
    if (found == watches_.end()) continue;
    // A copy, because the task may end its own watch.
    const Task look = found->second;
    look();
  }
}

}  // namespace muster::local
