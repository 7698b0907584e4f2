// RestoreMark: this database was made from a backup, and members may have gone on after it (rule
// D25). A plain value.
#pragma once

#include <cstdint>

#include "schedd/base/time.h"

namespace muster {

struct RestoreMark {
  /// When the backup was taken.
  WallTime backup;
  /// The highest event number of the backup. A job whose resource version is not above it has not
  /// changed since the restore.
  std::int64_t last_seq = 0;
  /// Numbers from last_seq up to this one may have been given out by the history that is lost, and
  /// are never given out again.
  std::int64_t seq_floor = 0;

  bool IsLost(std::int64_t seq) const { return seq > last_seq && seq <= seq_floor; }
};

}  // namespace muster
