// Reading manifests that the API already validated: a missing or differently typed member reads as
// absent. Pure; the references live as long as the value read.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::local {

namespace json = boost::json;

inline const json::object& Object(const json::object& from, std::string_view key) {
  static const json::object kEmpty;
  const json::value* found = from.if_contains(key);
  return found && found->is_object() ? found->get_object() : kEmpty;
}

inline const json::array& Array(const json::object& from, std::string_view key) {
  static const json::array kEmpty;
  const json::value* found = from.if_contains(key);
  return found && found->is_array() ? found->get_array() : kEmpty;
}

inline const json::object& AsObject(const json::value& from) {
  static const json::object kEmpty;
  return from.is_object() ? from.get_object() : kEmpty;
}

/// A string, or a number or boolean as text ("" if absent).
std::string Text(const json::object& from, std::string_view key);
std::optional<std::int64_t> MaybeInteger(const json::object& from, std::string_view key);
inline std::int64_t Integer(const json::object& from, std::string_view key,
                            std::int64_t otherwise) {
  return MaybeInteger(from, key).value_or(otherwise);
}
inline bool Flag(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  return found && found->is_bool() && found->get_bool();
}
inline bool Has(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  return found && !found->is_null();
}

}  // namespace muster::local
