// Durations in the form that kubectl prints. The form that users write is read by
// schedd/text/duration.h.
#pragma once

#include <cstdint>
#include <string>

namespace muster::cli {

/// The age of an RFC 3339 stamp: "12s", "4m30s", "3h", "5d"; "" if it is empty.
std::string Age(const std::string& stamp);

/// Seconds in the same short form.
std::string ShortDuration(std::int64_t seconds);

}  // namespace muster::cli
