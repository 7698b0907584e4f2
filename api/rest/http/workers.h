// Workers: the server's own threads. One writer thread has late answers, sockets that were full,
// timers and streams; a small pool has handlers that may block on the store, and another one those
// that may wait for a member. Only this header and its source see Asio's event loop.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace muster::rest {

class Workers {
 public:
  Workers(int pool_threads, int member_threads);
  ~Workers();
  using Task = std::function<void()>;
  /// Runs `task` on the pool, where it may block.
  void Post(Task task);
  /// Runs `task` on the members' pool, where it may wait for a member cluster. Those who wait there
  /// keep nobody waiting who asks for something else.
  void PostMember(Task task);
  /// Runs `task` on a thread of its own with low priority, one after the other, so that what takes
  /// long for a reader does not delay those who change something.
  void PostTable(Task task);
  /// Runs `task` on the writer thread, where it must not block. Tasks that come while the thread is
  /// busy are taken together: a burst of answers costs its callers one wake-up.
  void PostWriter(Task task);
  /// Runs `task` on the writer thread after `delay_ms`; dropped by Stop.
  void After(std::int64_t delay_ms, Task task);
  /// Drops the tasks that have not run and joins the threads.
  void Stop();

  /// Nanoseconds of a clock that never goes back, for durations only.
  static std::int64_t NowNs();

  /// Waits until a socket can be written. One wait at a time; the owner's mutex must guard it.
  class Writable {
   public:
    explicit Writable(Workers& workers);
    ~Writable();
    /// `ready` runs on the writer thread. After Cancel it may still run if it was already due.
    void Wait(int fd, Task ready);
    void Cancel();

   private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
  };

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::rest
