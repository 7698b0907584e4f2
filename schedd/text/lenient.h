// Reading members of JSON leniently: a member that is absent and one of another type than asked for
// are the same, and the caller has a default for both. Where another type is an error that a user
// is to be told of, shapes::Field reads; what a member cluster says, k8s::Reader.
//
// Pure functions, thread-safe. What is found is a part of the value read and lives as long.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace muster {

namespace json = boost::json;

/// Where a path begins: a value, an object, or nothing (null), in which nothing is found. Made for
/// the call, not to be kept.
class JsonRoot {
 public:
  // NOLINTBEGIN: implicit by intent
  JsonRoot(const json::value& value) : value_(&value), object_(value.if_object()) {}
  JsonRoot(const json::value* value)
      : value_(value), object_(value == nullptr ? nullptr : value->if_object()) {}
  JsonRoot(const json::object& object) : object_(&object) {}
  JsonRoot(const json::object* object) : object_(object) {}
  // NOLINTEND

  /// Null for nothing, and where the root was given as an object.
  const json::value* value() const { return value_; }
  /// Null if it is none.
  const json::object* object() const { return object_; }

 private:
  const json::value* value_ = nullptr;
  const json::object* object_ = nullptr;
};

/// The keys from the root to what is asked for: "kind", {"metadata", "name"}, or
/// JsonPath::Dotted("metadata.name") where it stands in a table. Objects alone are gone through,
/// not lists. One without keys names the root itself. Made for the call, not to be kept.
class JsonPath {
 public:
  // NOLINTBEGIN: implicit by intent
  JsonPath(std::initializer_list<std::string_view> keys) : keys_(keys), form_(Form::kKeys) {}
  template <class Key,
            std::enable_if_t<std::is_convertible_v<const Key&, std::string_view>, bool> = true>
  JsonPath(const Key& key) : text_(key), form_(Form::kOneKey) {}
  // NOLINTEND
  /// Keys with a dot between them; "" has none.
  static JsonPath Dotted(std::string_view text) { return JsonPath(text, Form::kDotted); }

 private:
  friend const json::value* FindValue(JsonRoot root, const JsonPath& path);
  enum class Form { kOneKey, kKeys, kDotted };
  JsonPath(std::string_view text, Form form) : text_(text), form_(form) {}

  std::string_view text_;  // the key, or keys with dots
  std::initializer_list<std::string_view> keys_;
  Form form_;
};

/// What is at the path, of any type, null too; a null pointer if it is absent or something on the
/// way is no object.
const json::value* FindValue(JsonRoot root, const JsonPath& path);
/// The object at the path; a null pointer if it is absent or of another type.
const json::object* FindObject(JsonRoot root, const JsonPath& path);
/// The list at the path; a null pointer if it is absent or of another type.
const json::array* FindArray(JsonRoot root, const JsonPath& path);
/// The string at the path; a null pointer if it is absent or of another type.
const json::string* FindText(JsonRoot root, const JsonPath& path);

/// The object at the path (the root itself without one); an object without members, which lives for
/// ever, if it is absent or of another type.
const json::object& ObjectOrEmpty(JsonRoot root, const JsonPath& path = {});
/// The list at the path; an empty one, which lives for ever, if it is absent or of another type.
const json::array& ArrayOrEmpty(JsonRoot root, const JsonPath& path);

/// The string at the path; "" if it is absent or of another type (a number is not spelt out).
std::string TextAt(JsonRoot root, const JsonPath& path);
/// The same without a copy.
std::string_view ViewAt(JsonRoot root, const JsonPath& path);
/// The integer at the path; nothing if it is absent, of another type (also 1.0 and "1"), beyond 63
/// bits, or a value that code made of an unsigned number: what is parsed is never so.
std::optional<std::int64_t> IntegerAt(JsonRoot root, const JsonPath& path);
/// Whether `true` is at the path; false if it is absent or of another type (also "true").
bool FlagAt(JsonRoot root, const JsonPath& path);

/// A member to be changed; a null pointer if it is absent, or `value` is no object or null.
json::value* MutableMember(json::value* value, std::string_view key);
/// A member that is an object, to be changed; a null pointer if it is absent or of another type, or
/// `object` is null.
json::object* MutableObject(json::object* object, std::string_view key);

}  // namespace muster
