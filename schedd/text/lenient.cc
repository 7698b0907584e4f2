// One search, FindValue, walks from the root along the keys; the others look at the type of what it
// finds. A path stops at the first value that is no object.
#include "schedd/text/lenient.h"

namespace muster {
namespace {

// Null if there is no object, or no such member.
const json::value* MemberOf(const json::object* object, std::string_view key) {
  return object == nullptr ? nullptr : object->if_contains(key);
}

}  // namespace

// A path of one key needs no list of keys, and one with dots is split as it is followed: neither
// allocates.
const json::value* FindValue(JsonRoot root, const JsonPath& path) {
  if (path.form_ == JsonPath::Form::kOneKey) return MemberOf(root.object(), path.text_);
  if (path.form_ == JsonPath::Form::kKeys) {
    for (const std::string_view key : path.keys_) root = MemberOf(root.object(), key);
    return root.value();
  }
  for (std::string_view left = path.text_; !left.empty();) {
    const std::size_t dot = left.find('.');
    root = MemberOf(root.object(), left.substr(0, dot));
    left = dot == std::string_view::npos ? std::string_view() : left.substr(dot + 1);
  }
  return root.value();
}

const json::object* FindObject(JsonRoot root, const JsonPath& path) {
  const json::value* found = FindValue(root, path);
  return found == nullptr ? nullptr : found->if_object();
}

const json::array* FindArray(JsonRoot root, const JsonPath& path) {
  const json::value* found = FindValue(root, path);
  return found == nullptr ? nullptr : found->if_array();
}

const json::string* FindText(JsonRoot root, const JsonPath& path) {
  const json::value* found = FindValue(root, path);
  return found == nullptr ? nullptr : found->if_string();
}

// The empty object is shared by all callers and never changed.
const json::object& ObjectOrEmpty(JsonRoot root, const JsonPath& path) {
  static const json::object empty;
  const json::object* found = FindObject(root, path);
  return found == nullptr ? empty : *found;
}

const json::array& ArrayOrEmpty(JsonRoot root, const JsonPath& path) {
  static const json::array empty;
  const json::array* found = FindArray(root, path);
  return found == nullptr ? empty : *found;
}

std::string TextAt(JsonRoot root, const JsonPath& path) { return std::string(ViewAt(root, path)); }

std::string_view ViewAt(JsonRoot root, const JsonPath& path) {
  const json::string* found = FindText(root, path);
  return found == nullptr ? std::string_view() : std::string_view(*found);
}

// The parser makes int64 of every integer that fits, so a uint64 is beyond 63 bits.
std::optional<std::int64_t> IntegerAt(JsonRoot root, const JsonPath& path) {
  const json::value* found = FindValue(root, path);
  const std::int64_t* number = found == nullptr ? nullptr : found->if_int64();
  return number == nullptr ? std::nullopt : std::optional(*number);
}

bool FlagAt(JsonRoot root, const JsonPath& path) {
  const json::value* found = FindValue(root, path);
  return found != nullptr && found->is_bool() && found->get_bool();
}

json::value* MutableMember(json::value* value, std::string_view key) {
  json::object* object = value == nullptr ? nullptr : value->if_object();
  return object == nullptr ? nullptr : object->if_contains(key);
}

json::object* MutableObject(json::object* object, std::string_view key) {
  json::value* member = object == nullptr ? nullptr : object->if_contains(key);
  return member == nullptr ? nullptr : member->if_object();
}

json::object& MakeObjectAt(json::object& parent, std::string_view key) {
  // operator[] makes room for one more member before it looks for the key.
  json::value* found = parent.if_contains(key);
  json::value& value = found != nullptr ? *found : parent[key];
  return value.is_object() ? value.get_object() : value.emplace_object();
}

}  // namespace muster
