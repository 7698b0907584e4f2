// Where the answer to a request for a log begins. It is the header Muster-Log-Offset of that answer
// and the parameter `offset` of a later one, so that a follower whose server ends goes on at
// another server, and knows where although it asked for the last lines only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schedd/base/result.h"

namespace muster::rest {

struct LogPlace {
  std::int64_t offset = 0;  // bytes of the log, as LogQuery::offset counts them
  /// Bytes of what is printed from there that are left out. Only where times stand before the lines
  /// is it not 0: members do not count these times alike.
  std::int64_t skipped = 0;
};

/// "1024"; with `times` before the lines "1024.17" or "1024.0". A reader adds the bytes that it has
/// printed to the last number.
std::string LogPlaceText(const LogPlace& place, bool times);
/// The same back. "": the log's first byte. kInvalidArgument names the parameter `offset`.
Result<LogPlace> ParseLogPlace(std::string_view text);

}  // namespace muster::rest
