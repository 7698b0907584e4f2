// Gather: when a group of writes should wait a moment for company before it is sent.
//
// Clients that were answered by the last group usually come back within a fraction of a commit.
// Sending what has arrived at once splits them into small groups that follow one another; a short
// wait makes one group of them (PostgreSQL's commit_delay and commit_siblings are the same
// thought). The wait is given up, with growing pauses between trials, as long as it brings nobody,
// so a lone client never pays for it. Pure; not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace muster::pg {

class Gather {
 public:
  static constexpr std::int64_t kLongestWaitNs = 250'000;  // about a third of one durable commit
  static constexpr std::size_t kEnoughRows = 64;           // beyond it a larger group gains little
  static constexpr int kLongestPause = 64;  // groups between two trials that bring nobody

  /// How many rows a group that holds `rows` should wait for; `rows` itself: send it now.
  std::size_t Target(std::size_t rows) const {
    if (pause_left_ > 0 || rows >= kEnoughRows) return rows;
    return std::min(rows + last_sent_, kEnoughRows);
  }

  /// How many rows are worth a group of their own while one of `under_way` rows is under way; fewer
  /// wait for its answer, and for those who come back with it.
  static std::size_t RowsToFollow(std::size_t under_way) {
    return std::clamp<std::size_t>(under_way, 1, kEnoughRows);
  }

  /// A group was sent that held `rows` at first and `sent` in the end, after waiting for `target`.
  void Sent(std::size_t rows, std::size_t target, std::size_t sent) {
    last_sent_ = sent;
    if (pause_left_ > 0) {
      --pause_left_;
    } else if (target > rows) {
      pause_ = sent > rows ? 0 : std::clamp(pause_ * 2, 4, kLongestPause);
      pause_left_ = pause_;
    }
  }

 private:
  std::size_t last_sent_ = 0;
  int pause_ = 0, pause_left_ = 0;
};

}  // namespace muster::pg
