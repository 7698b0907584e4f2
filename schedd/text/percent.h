// Percent-encoding of text in a URL (RFC 3986). Pure function.
#pragma once

#include <string>
#include <string_view>

namespace muster {

/// Percent-encodes everything but RFC 3986's unreserved characters, for one path segment or query
/// value.
std::string PercentEncode(std::string_view text);

}  // namespace muster
