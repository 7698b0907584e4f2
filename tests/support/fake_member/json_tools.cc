#include "tests/support/fake_member/json_tools.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "schedd/base/check.h"

namespace muster::fake {

std::optional<json::object> ParseObject(std::string_view text) {
  json::parse_options options;
  options.max_depth = 64;
  boost::system::error_code failed;
  json::value value = json::parse({text.data(), text.size()}, failed, {}, options);
  if (failed || !value.is_object()) return std::nullopt;
  return std::move(value.as_object());
}

json::object OwnObject(std::string_view text) {
  std::optional<json::object> object = ParseObject(text);
  MUSTER_CHECK(object.has_value());
  return std::move(*object);
}

const json::value* Find(const json::object& object, Path path) {
  const json::object* at = &object;
  const json::value* found = nullptr;
  for (const std::string_view name : path) {
    if (at == nullptr) return nullptr;
    found = at->if_contains({name.data(), name.size()});
    if (found == nullptr) return nullptr;
    at = found->if_object();
  }
  return found;
}

const json::object* FindObject(const json::object& object, Path path) {
  const json::value* value = Find(object, path);
  return value == nullptr ? nullptr : value->if_object();
}

std::string Text(const json::object& object, Path path) {
  const json::value* value = Find(object, path);
  if (value == nullptr || !value->is_string()) return "";
  return std::string(value->get_string());
}

std::int64_t Number(const json::object& object, Path path, std::int64_t missing) {
  const json::value* value = Find(object, path);
  if (value == nullptr || !value->is_number()) return missing;
  boost::system::error_code failed;
  const std::int64_t number = value->to_number<std::int64_t>(failed);
  return failed ? missing : number;
}

bool Flag(const json::object& object, Path path) {
  const json::value* value = Find(object, path);
  return value != nullptr && value->is_bool() && value->get_bool();
}

const json::array& Items(const json::object& object, Path path) {
  static const json::array none;
  const json::value* value = Find(object, path);
  return value != nullptr && value->is_array() ? value->get_array() : none;
}

bool Same(const json::object& one, const json::object& other) {
  if (one.size() != other.size()) return false;
  for (const auto& member : one) {
    const json::value* value = other.if_contains(member.key());
    if (value == nullptr || !Same(member.value(), *value)) return false;
  }
  return true;
}

bool Same(const json::value& one, const json::value& other) {
  if (one.is_object() && other.is_object()) return Same(one.get_object(), other.get_object());
  if (!one.is_array() || !other.is_array()) return one == other;
  const json::array &first = one.get_array(), &second = other.get_array();
  if (first.size() != second.size()) return false;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (!Same(first[i], second[i])) return false;
  }
  return true;
}

json::object& Child(json::object& object, std::string_view name) {
  // operator[] may move all members even if it adds none, which invalidates references to them.
  json::value* member = object.if_contains({name.data(), name.size()});
  if (member == nullptr) member = &object[{name.data(), name.size()}];
  if (!member->is_object()) member->emplace_object();
  return member->get_object();
}

bool HasFinalizer(const json::object& object, std::string_view finalizer) {
  for (const json::value& one : Items(object, {"metadata", "finalizers"})) {
    if (one.is_string() && one.get_string() == finalizer) return true;
  }
  return false;
}

bool DropFinalizer(json::object& object, std::string_view finalizer) {
  json::object& metadata = Child(object, "metadata");
  json::value* list = metadata.if_contains("finalizers");
  if (list == nullptr || !list->is_array()) return false;
  json::array& all = list->get_array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].is_string() || all[i].get_string() != finalizer) continue;
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    if (all.empty()) metadata.erase("finalizers");
    return true;
  }
  return false;
}

const json::object* Condition(const json::object& status, std::string_view type) {
  for (const json::value& one : Items(status, {"conditions"})) {
    if (one.is_object() && Text(one.get_object(), {"type"}) == type) return &one.get_object();
  }
  return nullptr;
}

bool ConditionHolds(const json::object& status, std::string_view type) {
  const json::object* condition = Condition(status, type);
  return condition != nullptr && Text(*condition, {"status"}) == "True";
}

std::string TimeText(std::int64_t ms) {
  const std::time_t seconds = ms / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::int64_t TimeOf(std::string_view text) {
  std::tm parts{};
  const std::string copy(text);
  if (strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr) return 0;
  return static_cast<std::int64_t>(timegm(&parts)) * 1000;
}

std::optional<std::int64_t> DurationMs(std::string_view text) {
  double total = 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    double number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    double unit = 0;
    std::size_t length = 1;
    if (text.starts_with("ms")) {
      unit = 1;
      length = 2;
    } else if (text.starts_with("s")) {
      unit = 1000;
    } else if (text.starts_with("m")) {
      unit = 60'000;
    } else if (text.starts_with("h")) {
      unit = 3'600'000;
    } else {
      return std::nullopt;
    }
    total += number * unit;
    text.remove_prefix(length);
  }
  return static_cast<std::int64_t>(total);
}

}  // namespace muster::fake
