// Workers: the server's own threads. One writer thread (late answers, sockets that were full,
// timers, streams) and a small pool for handlers that may block on the store. The only file pair
// that sees Asio's event loop.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace muster::rest {

class Workers {
 public:
  explicit Workers(int pool_threads);
  ~Workers();
  using Task = std::function<void()>;
  /// Runs on the pool; may block.
  void Post(Task task);
  /// Runs on the writer thread; must not block. Calls made while it is busy are taken in one go: a
  /// burst of answers costs its callers one wake-up.
  void PostWriter(Task task);
  /// Runs on the writer thread after `delay_ms`; dropped at Stop.
  void After(std::int64_t delay_ms, Task task);
  /// Drops what has not run and joins.
  void Stop();

  /// Nanoseconds since some start, for durations only.
  static std::int64_t NowNs();

  /// Waits until a socket can be written. One wait at a time; its owner's mutex guards it.
  class Writable {
   public:
    explicit Writable(Workers& workers);
    ~Writable();
    /// `ready` runs on the writer thread, unless Cancel comes first (then perhaps still, or not at
    /// all).
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
