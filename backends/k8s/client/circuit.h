// Circuit: whether requests to a member are sent at all. Closed: yes. Open, after a number of
// exchanges in a row without an answer: only probes are sent, ever more seldom, until one is
// answered.
//
// Not thread-safe; no clock: its owner keeps the time.
#pragma once

#include <cstdint>

#include "backends/k8s/client/backoff.h"
#include "schedd/base/random.h"

namespace muster::k8s {

class Circuit {
 public:
  Circuit(int failures_to_open, std::int64_t probe_min_ms, std::int64_t probe_max_ms)
      : failures_to_open_(failures_to_open), pauses_(probe_min_ms, probe_max_ms) {}
  bool open() const { return open_; }
  /// The member has answered. True: that has closed the circuit.
  bool Succeeded() {
    failures_ = 0;
    pauses_.Reset();
    const bool was = open_;
    open_ = false;
    return was;
  }
  /// The member has not answered. True: that has opened the circuit.
  bool Failed() {
    if (++failures_ < failures_to_open_ || open_) return false;
    open_ = true;
    return true;
  }
  /// The pause until the next probe.
  std::int64_t NextPauseMs(Random& random) { return pauses_.Next(random); }

 private:
  const int failures_to_open_;
  int failures_ = 0;
  bool open_ = false;
  Backoff pauses_;
};

}  // namespace muster::k8s
