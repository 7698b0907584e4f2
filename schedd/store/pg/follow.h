// FollowPolicy: whether a group of new jobs is sent behind the group under way, or waits for its
// answer and grows.
//
// If it is sent behind, the server never idles while answered clients submit again; but the rows
// are then spread over twice as many groups, and each group pays a flush of its own to disk. Which
// effect is stronger depends on the disk and on the clients, so it is measured: now and then the
// other way is tried for a moment, and kept if it writes clearly more rows a second. Trials become
// rare while they do not pay.
//
// Pure; not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "schedd/base/time.h"

namespace muster::pg {

class FollowPolicy {
 public:
  static constexpr int kGroups = 32;  // groups of one measurement
  // Groups that are not measured after a change: they were sent the old way.
  static constexpr int kSkipped = 4;
  // Measurements of the same way differ by up to as much.
  static constexpr double kClearlyMore = 1.08;
  static constexpr int kShortestPause = 4, kLongestPause = 256;  // measurements between trials

  /// True while groups are to be sent behind the group under way.
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
  // Ends one measurement. The first one after a pause becomes the reference, and the next one
  // measures the other way; without a clear gain that trial is undone.
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
  double known_rate_ = 0;  // rows per nanosecond of the old way, measured just before the trial
  int pause_ = kShortestPause, left_ = kShortestPause;
  int groups_ = -kSkipped;  // groups measured; below 0: groups still to be skipped
  std::size_t rows_ = 0;
  Monotonic begun_{};
};

}  // namespace muster::pg
