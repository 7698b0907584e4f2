// The one thread of an agent: it waits for descriptors and deadlines and calls who watches them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "clients/steps/descriptor.h"
#include "clients/steps/wire.h"

namespace muster::steps {

/// Milliseconds of a clock that only goes forward.
std::int64_t MonotonicMs();
/// Microseconds since 1970 by the wall clock.
std::int64_t WallUs();

class EventLoop {
 public:
  using Handler = std::function<void()>;
  EventLoop();
  /// `handler` is called when the descriptor can be read, or written if `write` is set. Watching
  /// again replaces what was watched.
  void Watch(int fd, Handler handler, bool write = false);
  /// Changes whether writing is waited for.
  void WantWrite(int fd, bool write);
  /// The same by what the channel of that descriptor needs. One that is stalled has its handler
  /// called after a while.
  void WantWrite(const Channel& channel);
  void Forget(int fd);
  /// Calls the handler once after `ms`; the result names the timer.
  std::int64_t After(std::int64_t ms, Handler handler);
  void CancelTimer(std::int64_t timer);

  /// Runs until Stop.
  void Run();
  void Stop() { stopped_ = true; }

 private:
  struct Watched {
    std::shared_ptr<Handler> handler;
    bool write = false, retries = false;
  };
  int RunTimers();

  Descriptor epoll_;
  std::map<int, Watched> watched_;
  std::map<std::pair<std::int64_t, std::int64_t>, Handler> timers_;  // deadline and name
  std::int64_t last_timer_ = 0;
  bool stopped_ = false;
};

}  // namespace muster::steps
