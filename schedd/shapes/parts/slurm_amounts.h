// Slurm's notations of time limits and memory (rules B2, B4). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace muster::shapes {

/// A whole number without sign, of up to 12 digits.
std::optional<std::int64_t> WholeNumber(std::string_view text);

/// "30", "30:00", "1:00:00", "1-0", "1-12:30" in seconds, rounded up to a minute as Slurm does; 0
/// for "0", UNLIMITED and INFINITE; nothing if malformed.
std::optional<std::int64_t> ParseSlurmTime(std::string_view text);

/// "4000" (megabytes), "4G", "4GB", "4Gi" in bytes; nothing if malformed or beyond 64 bits.
std::optional<std::int64_t> ParseSlurmMemory(std::string_view text);

}  // namespace muster::shapes
