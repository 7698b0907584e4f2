// What is known of histories of the database that are lost: RestoreMark says that it was made from
// a backup (rule D25), LostNumbers which event numbers may have been given out. Plain values.
#pragma once

#include <cstdint>

#include "schedd/base/time.h"

namespace muster {

/// The database was made from a backup, and members may have gone on after it.
struct RestoreMark {
  /// When the backup was taken.
  WallTime backup;
  /// The highest event number of the backup. A job whose resource version is not above it has not
  /// changed since the restore.
  std::int64_t last_seq = 0;
};

/// Numbers above last_seq and up to seq_floor may have been given out by a history that is lost,
/// and are never given out again (rules D25 and D26).
struct LostNumbers {
  std::int64_t last_seq = 0;
  std::int64_t seq_floor = 0;

  bool Has(std::int64_t seq) const { return seq > last_seq && seq <= seq_floor; }
};

}  // namespace muster
