// Sets of completion indexes as Kubernetes writes them: "0,2-4". Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace muster {

/// How many indexes "0,2-4" names; nullopt unless they are ascending and within [0, completions).
std::optional<std::int64_t> CountIndexes(std::string_view text, std::int64_t completions);

}  // namespace muster
