#include "tests/support/fake_member/answers.h"

namespace muster::fake {
namespace {

json::object Details(const Resource& resource, const std::string& name) {
  json::object details{{"name", name}};
  if (!resource.group.empty()) details["group"] = resource.group;
  details["kind"] = resource.plural;
  return details;
}

}  // namespace

Answer Failure(int code, const std::string& reason, const std::string& message,
               json::object details) {
  json::object status{{"kind", "Status"},
                      {"apiVersion", "v1"},
                      {"metadata", json::object()},
                      {"status", "Failure"},
                      {"message", message}};
  if (!reason.empty()) status["reason"] = reason;
  if (!details.empty()) status["details"] = std::move(details);
  status["code"] = code;
  return {code, json::serialize(status)};
}

Answer BadRequest(const std::string& message) { return Failure(400, "BadRequest", message); }
Answer Unauthorized() { return Failure(401, "Unauthorized", "Unauthorized"); }

Answer NotFound(const Resource& resource, const std::string& name) {
  return Failure(404, "NotFound", resource.qualified() + " \"" + name + "\" not found",
                 Details(resource, name));
}

Answer AlreadyExists(const Resource& resource, const std::string& name) {
  return Failure(409, "AlreadyExists", resource.qualified() + " \"" + name + "\" already exists",
                 Details(resource, name));
}

Answer Conflict(const Resource& resource, const std::string& name, const std::string& why) {
  return Failure(
      409, "Conflict",
      "Operation cannot be fulfilled on " + resource.qualified() + " \"" + name + "\": " + why,
      Details(resource, name));
}

Answer Forbidden(const Resource& resource, const std::string& name, const std::string& why) {
  return Failure(403, "Forbidden", resource.qualified() + " \"" + name + "\" is forbidden: " + why,
                 Details(resource, name));
}

Answer Invalid(const Resource& resource, const std::string& name,
               const std::vector<Cause>& causes) {
  std::string text;
  json::array list;
  for (const Cause& cause : causes) {
    text += (text.empty() ? "" : ", ") + cause.field + ": " + cause.message;
    list.push_back(
        json::object{{"reason", cause.reason}, {"message", cause.message}, {"field", cause.field}});
  }
  if (causes.size() > 1) text = "[" + text + "]";
  json::object details{{"name", name}, {"group", resource.group}, {"kind", resource.kind}};
  details["causes"] = std::move(list);
  return Failure(422, "Invalid",
                 resource.qualified_kind() + " \"" + name + "\" is invalid: " + text,
                 std::move(details));
}

Answer PatchRefused() {
  return Failure(422, "Invalid", "the server rejected our request due to an error in our request");
}

Answer NoSuchResource() {
  return Failure(404, "NotFound", "the server could not find the requested resource");
}

Answer NoSuchPath() { return {404, "404 page not found\n", "text/plain; charset=utf-8"}; }

Answer Expired(const std::string& message) { return Failure(410, "Expired", message); }

Answer Succeeded(const Resource& resource, const std::string& name, const std::string& uid) {
  json::object details = Details(resource, name);
  details["uid"] = uid;
  return {200, json::serialize(json::object{{"kind", "Status"},
                                            {"apiVersion", "v1"},
                                            {"metadata", json::object()},
                                            {"status", "Success"},
                                            {"details", std::move(details)}})};
}

}  // namespace muster::fake
