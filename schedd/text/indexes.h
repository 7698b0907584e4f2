// Sets of completion indexes as Kubernetes writes them: "0,2-4". Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace muster {

/// "0,2-4" within [0, completions), ascending: how many indexes, or nullopt if malformed.
std::optional<std::int64_t> CountIndexes(std::string_view text, std::int64_t completions);

}  // namespace muster
