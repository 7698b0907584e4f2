// The type of a YAML scalar by the YAML 1.2 core schema, in which `yes`, `on` and `1:30` are
// strings. Kubernetes' own decoders still read `yes` and `on` as booleans in places. A manifest
// that relies on it is refused later, where a boolean is wanted and a string is found; it is never
// misread.
//
// Pure functions, thread-safe.
#pragma once

#include <string_view>

#include "schedd/base/result.h"
#include "schedd/text/json.h"

namespace muster::yaml {

/// The value of a scalar. `tag` is its resolved tag or ""; `plain` is false for quoted and block
/// scalars, which are always strings. Errors: an unsupported tag, .inf and .nan, an integer beyond
/// 64 bits.
Result<json::value> Resolve(std::string_view text, std::string_view tag, bool plain);

/// True if a plain scalar of this text reads back as this very string.
bool IsPlainString(std::string_view text);

}  // namespace muster::yaml
