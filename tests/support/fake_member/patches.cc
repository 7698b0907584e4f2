#include "tests/support/fake_member/patches.h"

#include <charconv>
#include <vector>

namespace muster::fake {
namespace {

// The tokens of a JSON pointer (RFC 6901).
bool Tokens(const std::string& pointer, std::vector<std::string>* out) {
  if (pointer.empty()) return true;
  if (pointer.front() != '/') return false;
  std::string token;
  for (std::size_t i = 1; i <= pointer.size(); ++i) {
    if (i == pointer.size() || pointer[i] == '/') {
      out->push_back(std::move(token));
      token.clear();
    } else if (pointer[i] == '~' && i + 1 < pointer.size()) {
      token += pointer[++i] == '1' ? '/' : '~';
    } else {
      token += pointer[i];
    }
  }
  return true;
}

// The index a token names; `end` is where "-" points.
bool IndexOf(const std::string& token, std::size_t end, std::size_t* index) {
  if (token == "-") {
    *index = end;
    return true;
  }
  const auto [stop, failed] = std::from_chars(token.data(), token.data() + token.size(), *index);
  return failed == std::errc() && stop == token.data() + token.size();
}

json::value* Step(json::value* at, const std::string& token) {
  if (json::object* object = at->if_object()) return object->if_contains(token);
  json::array* array = at->if_array();
  std::size_t index = 0;
  if (array == nullptr || !IndexOf(token, array->size(), &index)) return nullptr;
  return index < array->size() ? &(*array)[index] : nullptr;
}

json::value* Walk(json::value* at, const std::vector<std::string>& tokens, std::size_t count) {
  for (std::size_t i = 0; i < count && at != nullptr; ++i) at = Step(at, tokens[i]);
  return at;
}

bool Add(json::value& root, const std::vector<std::string>& tokens, json::value value) {
  if (tokens.empty()) {
    root = std::move(value);
    return true;
  }
  json::value* parent = Walk(&root, tokens, tokens.size() - 1);
  if (parent == nullptr) return false;
  if (json::object* object = parent->if_object()) {
    (*object)[tokens.back()] = std::move(value);
    return true;
  }
  json::array* array = parent->if_array();
  std::size_t index = 0;
  if (array == nullptr || !IndexOf(tokens.back(), array->size(), &index)) return false;
  if (index > array->size()) return false;
  array->insert(array->begin() + static_cast<std::ptrdiff_t>(index), std::move(value));
  return true;
}

bool Remove(json::value& root, const std::vector<std::string>& tokens) {
  if (tokens.empty()) return false;
  json::value* parent = Walk(&root, tokens, tokens.size() - 1);
  if (parent == nullptr) return false;
  if (json::object* object = parent->if_object()) return object->erase(tokens.back()) > 0;
  json::array* array = parent->if_array();
  std::size_t index = 0;
  if (array == nullptr || !IndexOf(tokens.back(), array->size(), &index)) return false;
  if (index >= array->size()) return false;
  array->erase(array->begin() + static_cast<std::ptrdiff_t>(index));
  return true;
}

bool ApplyOne(const json::object& operation, json::value& target) {
  const std::string op = Text(operation, {"op"});
  std::vector<std::string> path, from;
  if (!Tokens(Text(operation, {"path"}), &path)) return false;
  if (!Tokens(Text(operation, {"from"}), &from)) return false;
  const json::value* value = operation.if_contains("value");
  json::value* at = Walk(&target, path, path.size());
  if (op == "test") {
    return value != nullptr && at != nullptr && Same(*at, *value);
  }
  if (op == "remove") return Remove(target, path);
  if (op == "add") return value != nullptr && Add(target, path, *value);
  if (op == "replace") {
    if (value == nullptr || at == nullptr) return false;
    *at = *value;
    return true;
  }
  if (op == "copy" || op == "move") {
    const json::value* source = Walk(&target, from, from.size());
    if (source == nullptr) return false;
    json::value taken = *source;
    if (op == "move" && !Remove(target, from)) return false;
    return Add(target, path, std::move(taken));
  }
  return false;
}

}  // namespace

bool ApplyJsonPatch(const json::value& patch, json::value& target) {
  const json::array* operations = patch.if_array();
  if (operations == nullptr) return false;
  for (const json::value& operation : *operations) {
    if (!operation.is_object() || !ApplyOne(operation.get_object(), target)) return false;
  }
  return true;
}

void ApplyMergePatch(const json::value& patch, json::value& target) {
  const json::object* fields = patch.if_object();
  if (fields == nullptr) {
    target = patch;
    return;
  }
  if (!target.is_object()) target.emplace_object();
  json::object& object = target.get_object();
  for (const auto& [name, value] : *fields) {
    if (value.is_null()) {
      object.erase(name);
    } else {
      ApplyMergePatch(value, object[name]);
    }
  }
}

}  // namespace muster::fake
