#include "api/rest/json_patch.h"

#include <boost/beast/core/string.hpp>
#include <charconv>
#include <utility>

#include "api/rest/http/plain_problem.h"
#include "schedd/base/limits.h"

namespace muster::rest {
namespace {

constexpr std::size_t kOperations = 1000;

void Merge(const json::value& patch, json::value* into) {
  if (!patch.is_object()) {
    *into = patch;
    return;
  }
  if (!into->is_object()) *into = json::object();
  json::object& object = into->get_object();
  for (const auto& member : patch.get_object()) {
    if (member.value().is_null()) {
      object.erase(member.key());
    } else {
      Merge(member.value(), &object[member.key()]);
    }
  }
}

// "/a~1b/0" as {"a/b", "0"}; false if it is no JSON pointer.
bool SplitPointer(std::string_view text, std::vector<std::string>* parts) {
  if (text.empty()) return true;
  if (text.front() != '/') return false;
  parts->emplace_back();
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '/') {
      parts->emplace_back();
    } else if (text[i] == '~') {
      if (++i == text.size() || (text[i] != '0' && text[i] != '1')) return false;
      parts->back() += text[i] == '0' ? '~' : '/';
    } else {
      parts->back() += text[i];
    }
  }
  return true;
}

// A position in a list of `size` elements; nullopt if it is none.
std::optional<std::size_t> IndexOf(const std::string& part, std::size_t size) {
  std::size_t index = 0;
  const auto parsed = std::from_chars(part.data(), part.data() + part.size(), index);
  const bool plain = !part.empty() && (part.size() == 1 || part.front() != '0');
  if (!plain || parsed.ec != std::errc() || parsed.ptr != part.data() + part.size() ||
      index >= size)
    return std::nullopt;
  return index;
}

json::value* Child(json::value* parent, const std::string& part) {
  if (json::object* object = parent->if_object()) return object->if_contains(part);
  json::array* array = parent->if_array();
  if (array == nullptr) return nullptr;
  const auto index = IndexOf(part, array->size());
  return index ? &(*array)[*index] : nullptr;
}

struct Operation {
  std::string_view op, path;
  std::vector<std::string> parts;
  const json::value* value = nullptr;
};

Result<Operation> ReadOperation(const json::value& item, const std::string& field) {
  Operation operation;
  const json::object* object = item.if_object();
  if (object == nullptr) return InvalidField(field, "must be an object");
  const auto text = [&](const char* key, std::string_view* out) {
    const json::value* member = object->if_contains(key);
    if (member == nullptr || !member->is_string()) return false;
    *out = member->get_string();
    return true;
  };
  if (!text("op", &operation.op)) return InvalidField(field + ".op", "is required");
  if (!text("path", &operation.path) || !SplitPointer(operation.path, &operation.parts))
    return InvalidField(field + ".path", "must be a JSON pointer");
  if (operation.parts.size() > static_cast<std::size_t>(limits::kJsonDepth))
    return InvalidField(field + ".path", "is too deep");
  operation.value = object->if_contains("value");
  const bool removes = operation.op == "remove";
  if (!removes && operation.op != "add" && operation.op != "replace" && operation.op != "test") {
    return InvalidField(field + ".op", "must be one of: add, remove, replace, test");
  }
  if (!removes && operation.value == nullptr) return InvalidField(field + ".value", "is required");
  if (operation.parts.empty() && operation.op != "test")
    return InvalidField(field + ".path", "must name a part of the object");
  return operation;
}

bool AddTo(json::value* parent, const std::string& part, const json::value& value) {
  if (json::object* object = parent->if_object()) {
    (*object)[part] = value;
    return true;
  }
  json::array* array = parent->if_array();
  if (array == nullptr) return false;
  const auto index = part == "-" ? std::optional(array->size()) : IndexOf(part, array->size() + 1);
  if (!index) return false;
  array->insert(array->begin() + static_cast<std::ptrdiff_t>(*index), value);
  return true;
}

void RemoveFrom(json::value* parent, const std::string& part) {
  if (json::object* object = parent->if_object()) {
    object->erase(part);
  } else {
    json::array& array = parent->get_array();
    array.erase(array.begin() + static_cast<std::ptrdiff_t>(*IndexOf(part, array.size())));
  }
}

Status Perform(const Operation& operation, const std::string& field, json::value* document) {
  const Error absent =
      InvalidField(field + ".path", "\"" + std::string(operation.path) + "\" does not exist");
  json::value* parent = document;
  for (std::size_t i = 0; i + 1 < operation.parts.size() && parent != nullptr; ++i)
    parent = Child(parent, operation.parts[i]);
  if (parent == nullptr) return absent;
  if (operation.op == "add")
    return AddTo(parent, operation.parts.back(), *operation.value) ? Status(Done{}) : absent;
  json::value* target = operation.parts.empty() ? document : Child(parent, operation.parts.back());
  if (operation.op == "test") {
    if (target != nullptr && *target == *operation.value) return Done{};
    return Aborted(field + ": \"" + std::string(operation.path) +
                   "\" is another than the patch tests for");
  }
  if (target == nullptr) return absent;
  if (operation.op == "replace") {
    *target = *operation.value;
  } else {
    RemoveFrom(parent, operation.parts.back());
  }
  return Done{};
}

Result<json::value> ByJsonPatch(const json::value& patch, json::value now) {
  const json::array* list = patch.if_array();
  if (list == nullptr) return InvalidArgument("a JSON patch is a list of operations");
  if (list->size() > kOperations) {
    return InvalidArgument("a JSON patch has at most " + std::to_string(kOperations) +
                           " operations");
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string field = "[" + std::to_string(i) + "]";
    const Result<Operation> operation = ReadOperation((*list)[i], field);
    if (!operation.ok()) return operation.error();
    const Status done = Perform(*operation, field, &now);
    if (!done.ok()) return done.error();
  }
  return now;
}

}  // namespace

PatchMedia PatchMediaOf(const std::string& content_type) {
  std::string type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.pop_back();
  if (boost::beast::iequals(type, "application/merge-patch+json")) return PatchMedia::kMerge;
  if (boost::beast::iequals(type, "application/json-patch+json")) return PatchMedia::kJson;
  return PatchMedia::kOther;
}

Result<json::value> Patched(const Request& request, json::value now) {
  const Result<json::value> patch = ParseJson(request.body);
  if (!patch.ok()) return patch.error();
  if (PatchMediaOf(request.content_type) == PatchMedia::kJson)
    return ByJsonPatch(*patch, std::move(now));
  if (!patch->is_object()) return InvalidArgument("a merge patch of an object is an object");
  if (json::object* object = now.if_object(); object != nullptr) {
    json::value* metadata = object->if_contains("metadata");
    if (metadata != nullptr && metadata->is_object())
      metadata->get_object().erase("resourceVersion");
  }
  Merge(*patch, &now);
  return now;
}

Response UnsupportedPatch() {
  return PlainProblem(true, 415,
                      "the Content-Type of the patch is not taken: send "
                      "application/merge-patch+json or application/json-patch+json");
}

}  // namespace muster::rest
