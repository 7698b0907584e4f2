// Limits of steps on their way to the database, and of signals and messages to jobs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::limits {

/// Steps of one attempt, numbered from 0: Slurm's MaxStepCount. A script that starts steps for ever
/// must not fill the database.
inline constexpr std::int32_t kStepsPerAttempt = 40'000;
/// Rows of steps in one commit: the usual ones of a second at 1,000 srun a second, and few enough
/// that the commit takes some hundredths of a second. They take no room from decisions.
inline constexpr std::size_t kStepRows = 1024;
/// The name of a step's program; the longest name of a file in Linux.
inline constexpr std::size_t kStoredStepNameBytes = 255;
/// The host list of a step. Hosts of one job have consecutive numbers, so that lists are short.
inline constexpr std::size_t kStoredStepNodesBytes = 16 << 10;
/// Jobs whose steps one request reads.
inline constexpr std::size_t kStepJobs = 500;
/// Steps in one answer: what a hundred usual jobs have, and some megabytes.
inline constexpr std::size_t kStepItems = 10'000;
/// Ids of one request for a list of jobs: squeue and sacct ask for the jobs of a page.
inline constexpr std::size_t kListedIds = 1000;
/// A message of scontrol notify: a line on a terminal, with room.
inline constexpr std::size_t kNotifyMessageBytes = 1024;

}  // namespace muster::limits
