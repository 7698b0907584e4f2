// Slurm's spellings of durations, points in time and memory (rules B2 to B4). Local time
// zone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::slurm {

/// "M", "M:S", "H:M:S", "D-H", "D-H:M", "D-H:M:S" in seconds; 0 for "0", UNLIMITED and INFINITE.
/// nullopt if malformed.
std::optional<std::int64_t> ParseTimeLimit(std::string_view text);

/// "4096", "4G", "512MB" in megabytes, rounded up; fractions are refused, as sbatch refuses them.
std::optional<std::int64_t> ParseMemoryMb(std::string_view text);

/// squeue's short form: "0:07", "1:02:03", "2-03:04:05".
void AppendShortDuration(std::int64_t seconds, std::string* out);
/// sacct's and scontrol's form: "00:00:07", "2-03:04:05".
std::string LongDuration(std::int64_t seconds);

/// An RFC 3339 stamp of the API ("2026-11-21T10:00:00Z") as seconds since 1970; 0 if empty or
/// malformed.
std::int64_t ParseStamp(std::string_view text);

/// Local time as "2026-11-21T09:49:47", or by `format`, the value of SLURM_TIME_FORMAT ("standard"
/// and "" mean the default form; "relative" tells it from today; anything else is strftime's).
std::string FormatTime(std::int64_t epoch_s, const std::string& format);

/// A point in time as sacct's -S and -E take it, relative to `now`. nullopt if malformed.
std::optional<std::int64_t> ParsePoint(std::string_view text, std::int64_t now);

/// Seconds since 1970 by the wall clock.
std::int64_t WallSeconds();

}  // namespace muster::slurm
