// The backend's one thread: runs what is posted to it and tells of changes in watched directories.
//
// Waits in poll(2) on an eventfd and an inotify descriptor; nothing is polled on a timer. Post is
// thread-safe, Watch and Unwatch belong to the loop's own thread (or to before Start).
#pragma once

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

  /// Errors: the kernel gives no descriptors. `on_overflow`: changes were lost, look at everything.
  Status Open(Task on_overflow);
  void Start();
  /// Runs what is already posted, then ends the thread. Later posts are refused.
  void Stop();
  /// False if full or stopped; the task is then not run.
  bool Post(Task task);
  /// For the continuation of work already taken on: refused only after Stop.
  bool PostAlways(Task task);
  /// Calls `changed` when a file in `dir` is renamed into place or a writer of one closes it.
  Result<int> Watch(const std::string& dir, Task changed);
  void Unwatch(int watch);

 private:
  void Run();
  void Wake();
  void ReadChanges();

  BoundedQueue<Task> tasks_;
  std::unordered_map<int, Task> watches_;
  Task on_overflow_;
  int wake_fd_ = -1, inotify_fd_ = -1;
  bool stopping_ = false;  // of the loop's thread only
  std::jthread thread_;
};

}  // namespace muster::local
