// Durations as users of kubectl write and read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::cli {

/// "90", "90s", "5m", "1h30m", "2d" in milliseconds; nullopt if malformed or over ten years.
std::optional<std::int64_t> ParseDurationMs(std::string_view text);

/// The age of an RFC 3339 stamp: "12s", "4m30s", "3h", "5d"; "" if it is empty.
std::string Age(const std::string& stamp);

/// Seconds in the same short form.
std::string ShortDuration(std::int64_t seconds);

}  // namespace muster::cli
