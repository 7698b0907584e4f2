// GatherPolicy: whether a group of writes waits a moment for more rows before it is sent.
//
// Clients that were answered by the last group usually submit again within a fraction of a commit.
// A group that is sent at once leaves their rows to a second small group; a short wait makes one
// group of all (PostgreSQL's commit_delay and commit_siblings have the same purpose). While a wait
// brings no rows, the policy waits only now and then, with growing pauses between the trials, so a
// lone client never pays for it.
//
// Pure; not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace muster::pg {

class GatherPolicy {
 public:
  static constexpr std::int64_t kLongestWaitNs = 250'000;  // about a third of one durable commit
  static constexpr std::size_t kEnoughRows = 64;  // a larger group hardly writes faster per row
  static constexpr int kLongestPause = 64;        // groups between two trials that bring no rows

  /// How many rows a group that holds `rows` should wait for; `rows` itself means: send it now.
  std::size_t Target(std::size_t rows) const {
    if (pause_left_ > 0 || rows >= kEnoughRows) return rows;
    return std::min(rows + last_sent_, kEnoughRows);
  }

  /// How many rows are worth a group of their own while a group of `under_way` rows has no answer.
  /// Fewer rows wait for that answer and for the rows of the clients that it answers.
  static std::size_t RowsToFollow(std::size_t under_way) {
    return std::clamp<std::size_t>(under_way, 1, kEnoughRows);
  }

  /// Reports a group that held `rows` at first and `sent` in the end, after waiting for `target`.
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
