// Watchdog: no wait for the database is without an end. Whoever waits on a socket has it watched;
// when the time is up, or the store stops, the socket is shut down, so that the wait ends as if the
// connection was lost. It works for libpq and libpqxx alike, which have no deadlines of their own.
//
// Thread-safe. One thread, asleep until the next deadline.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_set>

namespace muster::pg {

class Watchdog {
 public:
  using Clock = std::chrono::steady_clock;

  Watchdog();
  /// Every watch must have ended.
  ~Watchdog();

  /// From now on no wait lasts longer than `grace` from this call; of several calls the first
  /// counts.
  void Stop(std::chrono::milliseconds grace);
  bool stopped() const { return stopped_; }

  /// Watches one wait on `fd`, which stays open meanwhile, until it is destroyed.
  class Watch {
   public:
    Watch(Watchdog& dog, int fd, std::chrono::milliseconds within);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    /// The time begins anew.
    void Extend(std::chrono::milliseconds within);
    /// The wait was ended here.
    bool cut() const { return cut_; }

   private:
    friend class Watchdog;
    Watchdog& dog_;
    const int fd_;
    Clock::time_point deadline_;  // guarded by the dog's mutex
    std::atomic<bool> cut_{false};
  };

 private:
  void Run();
  void NoteDeadline(Clock::time_point deadline);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_set<Watch*> watches_;
  Clock::time_point wakes_at_ = Clock::time_point::max();
  std::optional<Clock::time_point> end_;  // set by Stop
  std::atomic<bool> stopped_{false};
  bool ends_ = false;  // the thread
  std::thread thread_;
};

}  // namespace muster::pg
