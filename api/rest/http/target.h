// Request targets: strict percent-decoding, path segments and query parameters. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "api/rest/http/message.h"

namespace muster::rest {

/// Decodes %XX. False for a broken escape or a decoded NUL. `plus_is_space` is for query text.
bool PercentDecode(std::string_view text, bool plus_is_space, std::string* out);

/// Splits "/a/b%2Fc?x=1" into `request->segments` and `request->query`. One trailing slash is
/// dropped. False for broken escapes, empty or dot segments, a fragment, or a target that does not
/// begin with '/'.
bool ParseTarget(std::string_view target, Request* request);

}  // namespace muster::rest
