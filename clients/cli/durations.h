// Durations in the form that kubectl prints, and times as users write them. Durations that users
// write are read by schedd/text/duration.h.
#pragma once

#include <cstdint>
#include <string>

namespace muster::cli {

/// The age of an RFC 3339 stamp: "12s", "4m30s", "3h", "5d"; "" if it is empty.
std::string Age(const std::string& stamp);

/// Seconds in the same short form.
std::string ShortDuration(std::int64_t seconds);

/// What users write for a time, as RFC 3339: a time as it stands, or a duration ("2h") counted back
/// from now. "" if the text is neither.
std::string TimeText(const std::string& text);

}  // namespace muster::cli
