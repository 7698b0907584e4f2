// Durations as users of kubectl write them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace muster {

/// "90", "90s", "5m", "1h30m", "2d", "150ms" in milliseconds; nullopt if malformed or over ten
/// years.
std::optional<std::int64_t> ParseDurationMs(std::string_view text);

}  // namespace muster
