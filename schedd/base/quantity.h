// Kubernetes quantities as saturating 64-bit integers (k8s.io/apimachinery resource.Quantity;
// kueue.md 2.0).
//
// cpu is held in milli-units, everything else in base units (bytes, counts). kUnlimited stays
// unlimited through arithmetic.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "schedd/base/result.h"

namespace muster {

inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

/// a + b, clamped to the ends of int64; kUnlimited + x = kUnlimited.
std::int64_t SaturatingAdd(std::int64_t a, std::int64_t b);
/// a - b, clamped; kUnlimited - x = kUnlimited.
std::int64_t SaturatingSub(std::int64_t a, std::int64_t b);
/// a * b, clamped.
std::int64_t SaturatingMul(std::int64_t a, std::int64_t b);

/// True for the one resource that is counted in milli-units.
inline bool IsMilliResource(std::string_view resource) { return resource == "cpu"; }

/// Parses "500m", "1.5", "2Gi", "1e3", "128Gi" into units of `resource`. Fractions of a unit round
/// up, as Kubernetes does. Errors (kInvalidArgument): malformed, negative, beyond 64 bits.
Result<std::int64_t> ParseQuantity(std::string_view resource, std::string_view text);

/// The shortest canonical text of an amount: "500m", "2", "2Gi", "1536Mi", "17".
std::string FormatQuantity(std::string_view resource, std::int64_t amount);

}  // namespace muster
