// Deadlines: a client's many time-outs on one timer of the TimerService. Most of them never fire;
// setting and dropping one costs a map entry, not a wake-up of the timer thread.
//
// Used on the strand only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "backends/k8s/client/strand_gate.h"
#include "schedd/base/clock.h"

namespace muster::k8s {

class Deadlines : public std::enable_shared_from_this<Deadlines> {
 public:
  /// The time, and a number that makes it unique; number 0: no deadline.
  using Key = std::pair<Monotonic, std::uint64_t>;

  Deadlines(const Clock& clock, TimerService& timers, std::shared_ptr<StrandGate> gate);
  /// `fire` runs on the strand at `when` or later, unless dropped before.
  Key At(Monotonic when, std::function<void()> fire);
  Key After(std::int64_t ms, std::function<void()> fire) {
    return At(clock_.Now() + MillisToNanos(ms), std::move(fire));
  }
  /// Drops the deadline and sets *key to none; no effect if it has fired.
  void Drop(Key* key);
  /// Drops all deadlines, for good.
  void Stop();

 private:
  void Arm();
  void Fire();

  const Clock& clock_;
  TimerService& timers_;
  const std::shared_ptr<StrandGate> gate_;
  std::map<Key, std::function<void()>> due_;
  std::uint64_t last_ = 0;
  bool armed_ = false, stopped_ = false;
  Monotonic armed_at_;
  TimerId timer_ = 0;
};

}  // namespace muster::k8s
