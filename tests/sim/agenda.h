// Time of a simulated world: a clock that moves only from event to event, and the events to come.
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "schedd/base/clock.h"

namespace muster::sim {

constexpr std::int64_t kMs = kNanosPerMilli;
constexpr std::int64_t kSecond = kNanosPerSecond;

/// Starts at one second, on 2026-01-01. The wall clock moves along, except for jumps.
class SimClock final : public Clock {
 public:
  Monotonic Now() const override { return {ns_}; }
  WallTime WallNow() const override {
    return {1'767'225'600LL * kMicrosPerSecond + ns_ / 1000 + jumped_us_};
  }
  void SetTo(Monotonic when) { ns_ = std::max(ns_, when.ns); }
  /// An administrator sets the host's clock, by microseconds.
  void Jump(std::int64_t us) { jumped_us_ += us; }

 private:
  std::int64_t ns_ = kSecond, jumped_us_ = 0;
};

/// Events in the order of their times, then in the order in which they were added.
class Agenda {
 public:
  explicit Agenda(SimClock& clock) : clock_(clock) {}

  void At(Monotonic when, std::function<void()> event) {
    events_.emplace(std::make_pair(std::max(when.ns, clock_.Now().ns), ++number_),
                    std::move(event));
  }
  void After(std::int64_t ns, std::function<void()> event) {
    At({clock_.Now().ns + ns}, std::move(event));
  }
  /// Moves the clock to the next event and runs it; false if there is none.
  bool RunNext() {
    if (events_.empty()) return false;
    auto next = events_.extract(events_.begin());
    clock_.SetTo({next.key().first});
    next.mapped()();
    return true;
  }
  Monotonic NextTime() const {
    return {events_.empty() ? clock_.Now().ns : events_.begin()->first.first};
  }

 private:
  SimClock& clock_;
  std::map<std::pair<std::int64_t, std::uint64_t>, std::function<void()>> events_;
  std::uint64_t number_ = 0;
};

}  // namespace muster::sim
