// Reads members of JSON leniently: an absent member and a member of another type are the same, and
// the caller has a default for both. Where a wrong type must be reported to a user, shapes::Field
// reads; for answers of a member cluster, k8s::Reader.
//
// Pure functions, thread-safe. A result is a part of the value that was read, and lives as long as
// it.
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

/// Where a path begins: a value, an object, or null, in which nothing is found. Made for one call,
/// not to be kept.
class JsonRoot {
 public:
  // NOLINTBEGIN: implicit by intent
  JsonRoot(const json::value& value) : value_(&value), object_(value.if_object()) {}
  JsonRoot(const json::value* value)
      : value_(value), object_(value == nullptr ? nullptr : value->if_object()) {}
  JsonRoot(const json::object& object) : object_(&object) {}
  JsonRoot(const json::object* object) : object_(object) {}
  // NOLINTEND

  /// Null for a null root, and for a root that was given as an object.
  const json::value* value() const { return value_; }
  /// Null if the root is no object.
  const json::object* object() const { return object_; }

 private:
  const json::value* value_ = nullptr;
  const json::object* object_ = nullptr;
};

/// The keys from the root to a member: "kind", {"metadata", "name"}, or
/// JsonPath::Dotted("metadata.name") where the path stands in a table. A path goes through objects,
/// not through lists. A path without keys names the root itself. Made for one call, not to be kept.
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

  // The key, or the keys with dots between them.
  std::string_view text_;
  std::initializer_list<std::string_view> keys_;
  Form form_;
};

/// The value at the path, of any type including null; a null pointer if it is absent or if a value
/// on the way is no object.
const json::value* FindValue(JsonRoot root, const JsonPath& path);
/// The object at the path; a null pointer if it is absent or of another type.
const json::object* FindObject(JsonRoot root, const JsonPath& path);
/// The list at the path; a null pointer if it is absent or of another type.
const json::array* FindArray(JsonRoot root, const JsonPath& path);
/// The string at the path; a null pointer if it is absent or of another type.
const json::string* FindText(JsonRoot root, const JsonPath& path);

/// The object at the path (without keys the root itself); if it is absent or of another type, an
/// object without members, which lives for ever.
const json::object& ObjectOrEmpty(JsonRoot root, const JsonPath& path = {});
/// The list at the path; if it is absent or of another type, an empty list, which lives for ever.
const json::array& ArrayOrEmpty(JsonRoot root, const JsonPath& path);

/// The string at the path; "" if it is absent or of another type (a number is not spelt out).
std::string TextAt(JsonRoot root, const JsonPath& path);
/// The same without a copy.
std::string_view ViewAt(JsonRoot root, const JsonPath& path);
/// The integer at the path; nullopt if it is absent, of another type (also 1.0 and "1"), beyond 63
/// bits, or an unsigned number that code has made (a parsed number is never one).
std::optional<std::int64_t> IntegerAt(JsonRoot root, const JsonPath& path);
/// True if `true` is at the path; false if it is absent or of another type (also "true").
bool FlagAt(JsonRoot root, const JsonPath& path);

/// A member to change; a null pointer if it is absent, or if `value` is null or no object.
json::value* MutableMember(json::value* value, std::string_view key);
/// A member that is an object, to change; a null pointer if it is absent or of another type, or if
/// `object` is null.
json::object* MutableObject(json::object* object, std::string_view key);
/// parent[key] as an object, to be changed: an empty one is made where the member is absent or of
/// another type, whose value is lost. References to other members of `parent` stay valid if the
/// member is there; a new one may move them, as parent[key] always may.
json::object& MakeObjectAt(json::object& parent, std::string_view key);

}  // namespace muster
