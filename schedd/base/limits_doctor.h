// Bounds of `muster doctor`, of backups and of restores.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::limits {

// How many things one check shows; the rest is counted. More fill a terminal and add nothing.
inline constexpr std::size_t kDoctorTexts = 20;
// One question reads a whole table at most: a hundred million rows of events take minutes.
inline constexpr std::int64_t kDoctorWithinMs = 600'000;

// How far the numbers of jobs and of events go on above those of a restored backup, so that what
// the lost history gave out is not given out again: a day at the measured rate of submissions that
// a person would restore for, and ten events a job; numbers have 63 bits.
inline constexpr std::int64_t kRestoreSkipsJobs = 1'000'000;
inline constexpr std::int64_t kRestoreSkipsEvents = 1'000'000'000;
// Likewise for epochs: more take-overs than a history between two backups has.
inline constexpr std::int64_t kRestoreSkipsEpochs = 10'000;

}  // namespace muster::limits
