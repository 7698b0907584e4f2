// The operations of JSON Patch (RFC 6902) that change a document: REST's PATCH and overrides
// consist of them. Pure functions, thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "schedd/text/json.h"

namespace muster {

/// Each returns "" or why it cannot be applied, such as "there is nothing at the path"; the
/// document is then unchanged. `path` is a JSON pointer (RFC 6901) to a part of the document;
/// members keep their order.
std::string AddAt(std::string_view path, json::value value, json::value* document);
std::string ReplaceAt(std::string_view path, json::value value, json::value* document);
std::string RemoveAt(std::string_view path, json::value* document);

}  // namespace muster
