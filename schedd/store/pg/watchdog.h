// Watchdog: gives every wait for the database a deadline. libpq and libpqxx have none of their own.
// A caller that waits on a socket holds a Watch on it; when the time is up, or when the store
// stops, the watchdog shuts the socket down, so that the wait ends like any lost connection.
//
// Thread-safe. One thread, asleep until the next deadline.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <unordered_map>

#include "schedd/base/mutex.h"

namespace muster::pg {

class Watchdog {
 public:
  using Clock = std::chrono::steady_clock;

  Watchdog();
  /// All watches must have ended.
  ~Watchdog();

  /// From now on no wait lasts longer than `grace` from this call. Only the first call counts.
  void Stop(std::chrono::milliseconds grace);
  bool stopped() const { return stopped_; }

  /// Watches one wait on `fd` until the Watch is destroyed; `fd` must stay open until then.
  class Watch {
   public:
    Watch(Watchdog& dog, int fd, std::chrono::milliseconds within);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    /// Starts the time anew.
    void Extend(std::chrono::milliseconds within);
    /// True if the watchdog has shut the socket down.
    bool cut() const { return cut_; }

   private:
    friend class Watchdog;
    Watchdog& dog_;
    const int fd_;
    std::atomic<bool> cut_{false};
  };

 private:
  void Run();
  void NoteDeadline(Clock::time_point deadline) MUSTER_REQUIRES(mutex_);

  Mutex mutex_;
  CondVar changed_;
  // With their deadlines.
  std::unordered_map<Watch*, Clock::time_point> watches_ MUSTER_GUARDED_BY(mutex_);
  Clock::time_point wakes_at_ MUSTER_GUARDED_BY(mutex_) = Clock::time_point::max();
  // Set by Stop: no deadline is later.
  std::optional<Clock::time_point> end_ MUSTER_GUARDED_BY(mutex_);
  std::atomic<bool> stopped_{false};
  bool ends_ MUSTER_GUARDED_BY(mutex_) = false;  // the thread is to end
  std::thread thread_;
};

}  // namespace muster::pg
