// Deadlines: a client's many time-outs on one timer of the TimerService, which most of them never
// reach: setting and dropping one costs a map entry, not a wake-up of the timer thread.
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
  using Key = std::pair<Monotonic, std::uint64_t>;  // second 0: none

  Deadlines(const Clock& clock, TimerService& timers, std::shared_ptr<StrandGate> gate);
  /// `fire` runs on the strand at `when` or later, unless dropped before.
  Key At(Monotonic when, std::function<void()> fire);
  Key After(std::int64_t ms, std::function<void()> fire) {
    return At(clock_.Now() + MillisToNanos(ms), std::move(fire));
  }
  /// Drops it and sets *key to none; nothing if it has fired.
  void Drop(Key* key);
  /// Drops them all, for good.
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
