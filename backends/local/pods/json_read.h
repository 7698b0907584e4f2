// Reading manifests that the API has validated: schedd/text/lenient.h, and readers for values that
// may have several forms. Pure.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schedd/text/lenient.h"

namespace muster::local {

namespace json = boost::json;

/// A string, or a number or boolean as text ("" if absent).
std::string Text(const json::object& from, std::string_view key);
/// An integer of 63 bits, or a number with a fraction cut off; nothing if absent or of another
/// type.
std::optional<std::int64_t> MaybeInteger(const json::object& from, std::string_view key);
inline std::int64_t Integer(const json::object& from, std::string_view key,
                            std::int64_t otherwise) {
  return MaybeInteger(from, key).value_or(otherwise);
}
/// Whether the key exists and is not null.
inline bool Has(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  return found && !found->is_null();
}

}  // namespace muster::local
