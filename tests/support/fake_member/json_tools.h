// Short ways around in JSON objects, as Kubernetes writes them.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace muster::fake {

namespace json = boost::json;
using Path = std::initializer_list<std::string_view>;

/// Parses an object; nullopt if the text is no JSON object.
std::optional<json::object> ParseObject(std::string_view text);
/// The same for text of our own making; CHECKs.
json::object OwnObject(std::string_view text);

/// The value at a path of member names; nullptr if there is none.
const json::value* Find(const json::object& object, Path path);
/// The object at a path; nullptr if there is none.
const json::object* FindObject(const json::object& object, Path path);
/// The string at a path; "" if there is none.
std::string Text(const json::object& object, Path path);
/// The whole number at a path; `missing` if there is none.
std::int64_t Number(const json::object& object, Path path, std::int64_t missing = 0);
/// True if the value at a path is true.
bool Flag(const json::object& object, Path path);
/// The elements of the array at a path; an empty one if there is none.
const json::array& Items(const json::object& object, Path path);
const json::array& Items(const json::object&& object, Path path) = delete;

/// Equality without the copies that Boost 1.81 makes when it compares objects.
bool Same(const json::value& one, const json::value& other);
bool Same(const json::object& one, const json::object& other);

/// The member as an object, made if it is missing or something else.
json::object& Child(json::object& object, std::string_view name);

/// True if the metadata names the finalizer.
bool HasFinalizer(const json::object& object, std::string_view finalizer);
/// Removes it; true if it was there. An empty list goes with its last.
bool DropFinalizer(json::object& object, std::string_view finalizer);

/// The condition of a type in status.conditions; nullptr if there is none.
const json::object* Condition(const json::object& status, std::string_view type);
/// True if there is such a condition and its status is True.
bool ConditionHolds(const json::object& status, std::string_view type);

/// RFC 3339 in whole seconds, as Kubernetes writes times; and back (0 if it is none).
std::string TimeText(std::int64_t ms);
std::int64_t TimeOf(std::string_view text);
/// A Go duration such as "1.5s", "200ms", "2m"; nullopt if it is none.
std::optional<std::int64_t> DurationMs(std::string_view text);

}  // namespace muster::fake
