// Add, replace and remove of RFC 6902. The path is split at its last '/': Boost finds the parent,
// and the last token is resolved here, because it may name a member that does not exist yet or the
// end of a list ("-").
#include "schedd/text/json_patch.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

namespace muster {
namespace {

enum class Op : std::uint8_t { kAdd, kRemove, kReplace };

// A token of a JSON pointer without its escapes: "~1" is '/', "~0" is '~'.
std::string Unescaped(std::string_view token) {
  std::string text;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool escaped = token[i] == '~' && i + 1 < token.size();
    if (!escaped) {
      text += token[i];
    } else {
      text += token[++i] == '1' ? '/' : '~';
    }
  }
  return text;
}

// The position in a list that a token names; the list's size for "-"; nullopt if it is no position.
std::optional<std::size_t> PositionOf(std::string_view token, std::size_t size) {
  if (token == "-") return size;
  if (token.size() > 1 && token.front() == '0') return std::nullopt;
  std::size_t position = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), position);
  if (error != std::errc() || end != token.data() + token.size()) return std::nullopt;
  return position;
}

// `value` is ignored for a removal.
std::string PatchObject(Op op, const std::string& key, json::value value, json::object* object) {
  if (op != Op::kAdd && !object->contains(key)) return "there is nothing at the path";
  if (op == Op::kRemove) {
    // erase() would change the order of the other members.
    json::object left;
    for (auto& [name, item] : *object) {
      if (name != key) left.emplace(name, std::move(item));
    }
    *object = std::move(left);
  } else {
    object->insert_or_assign(key, std::move(value));
  }
  return "";
}

// Add may name the position behind the last entry; replace and remove may not.
std::string PatchArray(Op op, std::string_view token, json::value value, json::array* array) {
  const auto position = PositionOf(token, array->size());
  const bool add = op == Op::kAdd;
  if (!position || *position > array->size() || (!add && *position == array->size())) {
    return "the list there has " + std::to_string(array->size()) + " entries";
  }
  const auto place = array->begin() + *position;
  if (add) {
    array->insert(place, std::move(value));
  } else if (op == Op::kRemove) {
    array->erase(place);
  } else {
    *place = std::move(value);
  }
  return "";
}

// Returns "" or why the operation cannot be applied.
std::string Apply(Op op, std::string_view path, json::value value, json::value* document) {
  const std::size_t last = path.rfind('/');
  if (last == std::string_view::npos) return "the path does not start with /";
  const std::string above(path.substr(0, last));
  boost::system::error_code error;
  json::value* parent = document->find_pointer(above, error);
  if (parent == nullptr) return "there is nothing at " + above;
  const std::string_view token = path.substr(last + 1);
  if (auto* object = parent->if_object()) {
    return PatchObject(op, Unescaped(token), std::move(value), object);
  }
  if (auto* array = parent->if_array()) return PatchArray(op, token, std::move(value), array);
  return "there is neither an object nor a list at " + above;
}

}  // namespace

std::string AddAt(std::string_view path, json::value value, json::value* document) {
  return Apply(Op::kAdd, path, std::move(value), document);
}

std::string ReplaceAt(std::string_view path, json::value value, json::value* document) {
  return Apply(Op::kReplace, path, std::move(value), document);
}

std::string RemoveAt(std::string_view path, json::value* document) {
  return Apply(Op::kRemove, path, nullptr, document);
}

}  // namespace muster
