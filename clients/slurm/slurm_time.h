// Durations, points in time and memory in Slurm's forms (rules B2 to B4). Times are local.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::slurm {

/// Parses "M", "M:S", "H:M:S", "D-H", "D-H:M" or "D-H:M:S" into seconds; 0 for "0", UNLIMITED and
/// INFINITE. nullopt if malformed.
std::optional<std::int64_t> ParseTimeLimit(std::string_view text);

/// Parses "4096", "4G" or "512MB" into megabytes, rounded up. nullopt if malformed; fractions are,
/// as in sbatch.
std::optional<std::int64_t> ParseMemoryMb(std::string_view text);

/// squeue's short form: "0:07", "1:02:03", "2-03:04:05".
void AppendShortDuration(std::int64_t seconds, std::string* out);
/// sacct's and scontrol's form: "00:00:07", "2-03:04:05".
std::string LongDuration(std::int64_t seconds);

/// Parses an RFC 3339 stamp of the API ("2026-11-21T10:00:00Z") into seconds since 1970; 0 if empty
/// or malformed.
std::int64_t ParseStamp(std::string_view text);

/// Local time as "2026-11-21T09:49:47", or in `format`, the value of SLURM_TIME_FORMAT: "standard"
/// and "" mean the default form, "relative" a form that depends on today; any other value is a
/// format of strftime.
std::string FormatTime(std::int64_t epoch_s, const std::string& format);

/// Parses a point in time as sacct's -S and -E take it, relative to `now`. nullopt if malformed.
std::optional<std::int64_t> ParsePoint(std::string_view text, std::int64_t now);

/// Seconds since 1970 by the wall clock.
std::int64_t WallSeconds();

}  // namespace muster::slurm
