// Cleans text that a member wrote, so that it may be stored and shown: UTF-8 without control
// characters, of bounded length. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "schedd/model/work.h"

namespace muster::propagation {

/// The longest Work::waits, and the longest message of a manifest.
inline constexpr std::size_t kWaitsBytes = 1024;

/// Replaces bytes that are no UTF-8, and control characters except line ends and tabs, by '?'. Text
/// beyond `most` bytes is cut off between two characters, and "..." marks the cut.
std::string CleanText(std::string_view text, std::size_t most);

/// Cleans all texts of a status that come from the member.
void CleanTexts(ManifestStatus* status);

}  // namespace muster::propagation
