// Applies a patch to a JSON value in memory. The sizes are bounded before anything is applied: the
// text by a ParseBudget, the number of operations, and the depth of a path, since an operation may
// add a level to the document. Operations that change the document are in schedd/text; `test` and
// the checks of an operation's members are here. A patch of several operations applies all or fails
// as a whole, because it works on a copy.
#include "api/rest/json_patch.h"

#include <boost/beast/core/string.hpp>
#include <optional>
#include <utility>

#include "api/rest/body.h"
#include "api/rest/http/plain_problem.h"
#include "api/rest/strategic_patch.h"
#include "schedd/base/limits.h"
#include "schedd/text/json_patch.h"
#include "schedd/text/lenient.h"

namespace muster::rest {
namespace {

// Operations of one JSON patch.
constexpr std::size_t kOperations = 1000;

// RFC 7386: objects are merged member by member, null removes a member, anything else replaces.
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

// The number of parts of a JSON pointer (RFC 6901); nullopt if `pointer` is none.
std::optional<std::size_t> DepthOf(std::string_view pointer) {
  if (!pointer.empty() && pointer.front() != '/') return std::nullopt;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') ++depth;
    // "~0" stands for '~' and "~1" for '/'; no other escape exists.
    const bool escape = pointer[i] == '~';
    if (escape && (i + 1 == pointer.size() || (pointer[i + 1] != '0' && pointer[i + 1] != '1')))
      return std::nullopt;
  }
  return depth;
}

// One operation of a JSON patch; it points into the parsed patch.
struct Operation {
  std::string_view op, path;
  const json::value* value = nullptr;
};

// Checks one operation; `field` is its path in errors. The whole document can only be tested.
Result<Operation> ReadOperation(const json::value& item, const std::string& field) {
  Operation operation;
  const json::object* object = item.if_object();
  if (object == nullptr) return InvalidField(field, "must be an object");
  const auto text = [&](const char* key, std::string_view* out) {
    const json::string* member = FindText(object, key);
    if (member != nullptr) *out = *member;
    return member != nullptr;
  };
  if (!text("op", &operation.op)) return InvalidField(field + ".op", "is required");
  const bool has_path = text("path", &operation.path);
  const auto depth = has_path ? DepthOf(operation.path) : std::nullopt;
  if (!depth) return InvalidField(field + ".path", "must be a JSON pointer");
  if (*depth > static_cast<std::size_t>(limits::kJsonDepth))
    return InvalidField(field + ".path", "is too deep");
  operation.value = object->if_contains("value");
  const bool removes = operation.op == "remove";
  if (!removes && operation.op != "add" && operation.op != "replace" && operation.op != "test") {
    return InvalidField(field + ".op", "must be one of: add, remove, replace, test");
  }
  if (!removes && operation.value == nullptr) return InvalidField(field + ".value", "is required");
  if (*depth == 0 && operation.op != "test")
    return InvalidField(field + ".path", "must name a part of the object");
  return operation;
}

// Applies one operation to `document`.
Status Perform(const Operation& operation, const std::string& field, json::value* document) {
  const std::string path(operation.path);
  if (operation.op == "test") {
    boost::system::error_code error;
    const json::value* target = document->find_pointer(path, error);
    if (target != nullptr && *target == *operation.value) return Done{};
    return Aborted(field + ": \"" + path + "\" is another than the patch tests for");
  }
  const std::string problem = operation.op == "add" ? AddAt(path, *operation.value, document)
                              : operation.op == "replace"
                                  ? ReplaceAt(path, *operation.value, document)
                                  : RemoveAt(path, document);
  if (problem.empty()) return Done{};
  return InvalidField(field + ".path", "\"" + path + "\" does not exist: " + problem);
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
  if (boost::beast::iequals(type, "application/strategic-merge-patch+json"))
    return PatchMedia::kStrategic;
  return PatchMedia::kOther;
}

Result<json::value> Patched(const Request& request, json::value now) {
  const Result<json::value> patch = ParseJson(request.body, BudgetOf(request));
  if (!patch.ok()) return patch.error();
  if (PatchMediaOf(request.content_type) == PatchMedia::kJson)
    return ByJsonPatch(*patch, std::move(now));
  if (!patch->is_object()) return InvalidArgument("a merge patch of an object is an object");
  if (json::object* metadata = MutableObject(now.if_object(), "metadata"))
    metadata->erase("resourceVersion");
  if (PatchMediaOf(request.content_type) == PatchMedia::kStrategic)
    return MergedStrategically(*patch, std::move(now));
  Merge(*patch, &now);
  return now;
}

Response UnsupportedPatch() {
  return PlainProblem(true, 415,
                      "the Content-Type of the patch is not taken: send "
                      "application/merge-patch+json or application/json-patch+json (strategic "
                      "merge patches are for the kinds that Kubernetes itself has)");
}

}  // namespace muster::rest
