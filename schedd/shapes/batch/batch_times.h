// Points in time in Slurm's notation, in UTC (rule B3). Internal to schedd/shapes.
#pragma once

#include <optional>
#include <string_view>

#include "schedd/base/time.h"

namespace muster::shapes {

/// "now+2hours", "16:00", "tomorrow", "2026-12-24T18:00", "12/24/26-18:00" or RFC 3339, as a point
/// in time not before `now` where the text leaves that open: "16:00" is tomorrow's after 16 o'clock.
/// A text without a zone is in UTC: a server does not know its user's. Nothing if malformed.
std::optional<WallTime> ParseSlurmPoint(std::string_view text, WallTime now);

}  // namespace muster::shapes
