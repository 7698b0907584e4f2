// The documents are derived from KubeResources(), as discovery is. A kind's schema has the members
// that all objects have; the others are those of the kind's own API, which are not repeated here.
#include "api/rest/kube_openapi.h"

#include "api/rest/http/plain_problem.h"
#include "api/rest/kube_resources.h"
#include "api/rest/problem.h"

namespace muster::rest {
namespace {

// "api/v1", "apis/batch/v1".
std::string GroupPath(const KubeResource& resource) {
  return (resource.group.empty() ? "api/" : "apis/") + resource.api_version();
}

json::object KindJson(const KubeResource& resource) {
  return {{"group", resource.group}, {"version", resource.version}, {"kind", resource.kind}};
}

json::object ParameterJson(const char* name, const char* in) {
  json::object out{{"name", name}, {"in", in}, {"schema", json::object{{"type", "string"}}}};
  if (std::string_view(in) == "path") out["required"] = true;
  return out;
}

// One method of a path. Those that write say that `fieldValidation` is taken.
json::object OperationJson(const KubeResource& resource, const char* action, bool writes) {
  json::array parameters;
  if (writes)
    parameters = {ParameterJson("dryRun", "query"), ParameterJson("fieldValidation", "query")};
  return {{"x-kubernetes-action", action},
          {"x-kubernetes-group-version-kind", KindJson(resource)},
          {"parameters", std::move(parameters)},
          {"responses", json::object{{"200", json::object{{"description", "OK"}}}}}};
}

void AddPaths(const KubeResource& resource, json::object* paths) {
  json::array names;
  std::string path = "/" + GroupPath(resource);
  if (resource.namespaced) {
    path += "/namespaces/{namespace}";
    names.push_back(ParameterJson("namespace", "path"));
  }
  path += "/" + resource.plural;
  (*paths)[path] = json::object{{"parameters", names},
                                {"get", OperationJson(resource, "list", false)},
                                {"post", OperationJson(resource, "post", true)}};
  names.push_back(ParameterJson("name", "path"));
  (*paths)[path + "/{name}"] = json::object{{"parameters", std::move(names)},
                                            {"get", OperationJson(resource, "get", false)},
                                            {"put", OperationJson(resource, "put", true)},
                                            {"patch", OperationJson(resource, "patch", true)},
                                            {"delete", OperationJson(resource, "delete", false)}};
}

json::object MemberJson(const char* type, const char* description) {
  return {{"type", type}, {"description", description}};
}

json::object SchemaJson(const KubeResource& resource) {
  return {
      {"type", "object"},
      {"description", "A " + resource.kind + " of " + resource.api_version() +
                          ". Its other fields are those of that API: Muster keeps them, and "
                          "its documents say which it reads."},
      {"x-kubernetes-group-version-kind", json::array{KindJson(resource)}},
      {"x-kubernetes-preserve-unknown-fields", true},
      {"properties",
       json::object{{"apiVersion", MemberJson("string", "The group and version of the kind.")},
                    {"kind", MemberJson("string", "The kind of the object.")},
                    {"metadata", MemberJson("object", "Name, namespace, labels, annotations.")}}}};
}

}  // namespace

Response OpenApiIndex(ApiContext&, const Caller&, Request&) {
  json::object paths;
  for (const KubeResource& resource : KubeResources()) {
    const std::string path = GroupPath(resource);
    paths[path] = json::object{{"serverRelativeURL", "/openapi/v3/" + path}};
  }
  return JsonResponse(json::object{{"paths", std::move(paths)}});
}

Response OpenApiOfGroup(ApiContext&, const Caller&, Request& request) {
  std::string wanted;
  for (std::size_t i = 2; i < request.segments.size(); ++i)
    wanted += (i == 2 ? "" : "/") + request.segments[i];
  json::object paths, schemas;
  for (const KubeResource& resource : KubeResources()) {
    if (GroupPath(resource) != wanted) continue;
    AddPaths(resource, &paths);
    schemas[resource.kind] = SchemaJson(resource);
  }
  if (paths.empty()) return PlainProblem(true, 404, "the server has no API \"" + wanted + "\"");
  return JsonResponse(json::object{{"openapi", "3.0.0"},
                                   {"info", json::object{{"title", "Muster"}, {"version", "v1"}}},
                                   {"paths", std::move(paths)},
                                   {"components", json::object{{"schemas", std::move(schemas)}}}});
}

}  // namespace muster::rest
