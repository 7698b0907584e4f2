// Follow: whether a group of new jobs should be sent behind the one under way, or wait for its
// answer and grow.
//
// Behind it, the server never idles while answered clients come back; but their rows are then
// spread over twice as many groups, each of which pays its own flush. Which weighs more depends on
// the disk and on the clients, so it is measured: every now and then the other way is tried for a
// moment, and kept if clearly more rows are written in a second. Trials become rare as long as they
// do not pay. Pure; not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "schedd/base/time.h"

namespace muster::pg {

class Follow {
 public:
  static constexpr int kGroups = 32;            // of one measurement
  static constexpr int kSkipped = 4;            // after a change of way: those under way meanwhile
  static constexpr double kClearlyMore = 1.08;  // measurements vary by as much
  static constexpr int kShortestPause = 4, kLongestPause = 256;  // measurements between trials

  bool pays() const { return follows_; }

  /// A group of `rows` was answered.
  void Answered(std::size_t rows, Monotonic now) {
    if (groups_ < 0) {
      if (++groups_ == 0) begun_ = now;
      return;
    }
    rows_ += rows;
    if (++groups_ < kGroups) return;
    const std::int64_t ns = std::max<std::int64_t>(now - begun_, 1);
    Measured(static_cast<double>(rows_) / static_cast<double>(ns));
    rows_ = 0;
    groups_ = 0;
    begun_ = now;
    if (changed_) groups_ = -kSkipped;
    changed_ = false;
  }

 private:
  void Measured(double rate) {
    if (trying_) {
      trying_ = false;
      if (rate > known_rate_ * kClearlyMore) {
        pause_ = kShortestPause;
      } else {
        Change();
        pause_ = std::min(pause_ * 2, kLongestPause);
      }
      left_ = pause_;
    } else if (--left_ <= 0) {
      known_rate_ = rate;
      trying_ = true;
      Change();
    }
  }
  void Change() {
    follows_ = !follows_;
    changed_ = true;
  }

  bool follows_ = true, trying_ = false, changed_ = false;
  double known_rate_ = 0;  // of the other way, just before the trial
  int pause_ = kShortestPause, left_ = kShortestPause;
  int groups_ = -kSkipped;  // measured; below 0: still to be skipped
  std::size_t rows_ = 0;
  Monotonic begun_{};
};

}  // namespace muster::pg
