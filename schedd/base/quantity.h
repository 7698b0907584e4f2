// Kubernetes quantities as saturating 64-bit integers (k8s.io/apimachinery resource.Quantity;
// rule A1).
//
// cpu is held in milli-units, everything else in base units (bytes, counts). kUnlimited stays
// unlimited through arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schedd/base/result.h"
#include "schedd/base/saturating.h"

namespace muster {

/// True for the one resource that is counted in milli-units.
inline bool IsMilliResource(std::string_view resource) { return resource == "cpu"; }

/// Parses "500m", "1.5", "2Gi", "1e3", "128Gi" into units of `resource`. Fractions of a unit round
/// up, as Kubernetes does. Errors (kInvalidArgument): malformed, negative, beyond 64 bits.
Result<std::int64_t> ParseQuantity(std::string_view resource, std::string_view text);

/// For text that ParseQuantity refused: 0 if it is a negative quantity, kUnlimited if it is beyond
/// 64 bits, nullopt if it is no quantity.
std::optional<std::int64_t> NearestQuantity(std::string_view text);

/// The value of a quantity as a real number, also a negative one: "100m" is 0.1. For weights and
/// ratios, never for amounts. Errors as above, except that no value is too large.
Result<double> ParseReal(std::string_view text);

/// A quantity in billionths of its unit, the finest step that Kubernetes has; also a negative one.
/// Finer fractions round up.
Result<__int128> ParseBillionths(std::string_view text);

/// The shortest canonical text of an amount: "500m", "2", "2Gi", "1536Mi", "17".
std::string FormatQuantity(std::string_view resource, std::int64_t amount);

/// The text that Kubernetes would write: FormatQuantity, with decimal suffixes ("10k") where it
/// uses no binary ones. For sentences that repeat Kueue's word for word.
std::string CanonicalQuantity(std::string_view resource, std::int64_t amount);

}  // namespace muster
