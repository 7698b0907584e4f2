// Text that a member wrote, as it may be stored and shown: UTF-8 without control characters, and
// not longer than it should be. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "schedd/model/work.h"

namespace muster::propagation {

inline constexpr std::size_t kWaitsBytes = 1024;  // of Work::waits, and of a manifest's message

/// Bytes that are no UTF-8 and control characters but line ends and tabs become '?'; what is beyond
/// `most` bytes is cut off between characters, and "..." says so.
std::string CleanText(std::string_view text, std::size_t most);

/// All texts of it that come from the member.
void CleanTexts(ManifestStatus* status);

}  // namespace muster::propagation
