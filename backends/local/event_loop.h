// EventLoop: the backend's one thread. It runs posted tasks and reports changes in watched
// directories.
//
// It waits in poll(2) on an eventfd and an inotify descriptor, without a periodic timer. Post is
// thread-safe; Watch and Unwatch may be called on the loop's own thread only (or before Start).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <unordered_map>

#include "schedd/base/bounded_queue.h"
#include "schedd/base/result.h"

namespace muster::local {

class EventLoop {
 public:
  using Task = std::function<void()>;

  explicit EventLoop(std::size_t capacity);
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Errors: the kernel gives no descriptors. `on_overflow` is called when inotify has lost
  /// changes: then everything must be looked at.
  Status Open(Task on_overflow);
  void Start();
  /// Runs the tasks that are posted, then ends the thread. Later posts are refused.
  void Stop();
  /// False if the queue is full or stopped; the task is then dropped.
  bool Post(Task task);
  /// For tasks that continue accepted work: refused only after Stop.
  bool PostAlways(Task task);
  /// Calls `changed` when a file in `dir` is renamed into place or closed by a writer.
  Result<int> Watch(const std::string& dir, Task changed);
  /// The same, and also when a file in `dir` is written to, which may be often: it is the caller
  /// who stops watching for a while.
  Result<int> WatchWrites(const std::string& dir, Task changed);
  void Unwatch(int watch);

 private:
  Result<int> AddWatch(const std::string& dir, std::uint32_t events, Task changed);
  void Run();
  void Wake();
  void ReadChanges();

  BoundedQueue<Task> tasks_;
  std::unordered_map<int, Task> watches_;
  Task on_overflow_;
  int wake_fd_ = -1, inotify_fd_ = -1;
  bool stopping_ = false;  // used on the loop's thread only
  std::jthread thread_;
};

}  // namespace muster::local
