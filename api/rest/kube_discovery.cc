// Kubernetes' plain discovery: groups, versions and resources, for clients that do not ask for
// aggregated discovery. All answers are derived from KubeResources(), which lists each resource
// once per served version, and from ReviewResources().
#include "api/rest/kube_discovery.h"

#include <map>

#include "api/rest/http/plain_problem.h"
#include "api/rest/kube_resources.h"
#include "api/rest/kube_reviews.h"
#include "api/rest/problem.h"

namespace muster::rest {
namespace {

// A group with its versions in the order of KubeResources(); none if the group is not served.
json::object GroupJson(const std::string& group) {
  std::vector<std::string> versions;
  for (const KubeResource& resource : KubeResources()) {
    if (resource.group != group) continue;
    bool known = false;
    for (const std::string& version : versions) known = known || version == resource.version;
    if (!known) versions.push_back(resource.version);
  }
  for (const ReviewResource& review : ReviewResources()) {
    if (group == review.group && versions.empty()) versions.emplace_back("v1");
  }
  json::array list;
  for (const std::string& version : versions) {
    list.push_back(json::object{{"groupVersion", group + "/" + version}, {"version", version}});
  }
  json::object out{{"name", group}, {"versions", list}};
  // The last one is the newest: kinds list their versions from old to new.
  if (!list.empty()) out["preferredVersion"] = list.back();
  return out;
}

// One resource with its verbs; `singularName` is the kind in lower case.
json::object ResourceJson(const KubeResource& resource) {
  json::array verbs{"create", "delete", "get", "list", "patch", "update"};
  std::string singular = resource.kind;
  for (char& c : singular) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  json::object out{{"name", resource.plural},
                   {"singularName", singular},
                   {"namespaced", resource.namespaced},
                   {"kind", resource.kind},
                   {"verbs", std::move(verbs)}};
  if (!resource.short_names.empty()) {
    json::array names;
    for (const std::string_view name : resource.short_names) names.push_back(json::value(name));
    out["shortNames"] = std::move(names);
  }
  return out;
}

// The subresource `status`, which can always be read and sometimes be written.
json::object StatusResourceJson(const KubeResource& resource) {
  json::array verbs{"get"};
  if (resource.has_written_status()) verbs = {"get", "patch", "update"};
  return {{"name", resource.plural + "/status"},
          {"singularName", ""},
          {"namespaced", resource.namespaced},
          {"kind", resource.kind},
          {"verbs", std::move(verbs)}};
}

// A review can only be created.
json::object ReviewJson(const ReviewResource& review) {
  return {{"name", review.plural},
          {"singularName", ""},
          {"namespaced", review.namespaced},
          {"kind", review.kind},
          {"verbs", json::array{"create"}}};
}

}  // namespace

Response ApiVersions(ApiContext&, const Caller&, Request&) {
  return JsonResponse(json::object{{"kind", "APIVersions"},
                                   {"versions", {"v1"}},
                                   {"serverAddressByClientCIDRs", json::array{}}});
}

Response ApiGroups(ApiContext&, const Caller&, Request&) {
  std::map<std::string, bool> seen;
  json::array groups;
  for (const KubeResource& resource : KubeResources()) {
    if (resource.group.empty() || !seen.emplace(resource.group, true).second) continue;
    groups.push_back(GroupJson(resource.group));
  }
  for (const ReviewResource& review : ReviewResources()) {
    if (seen.emplace(review.group, true).second) groups.push_back(GroupJson(review.group));
  }
  return JsonResponse(
      json::object{{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}});
}

Response ApiGroup(ApiContext&, const Caller&, Request& request) {
  json::object group = GroupJson(request.params[0]);
  if (group["versions"].as_array().empty())
    return PlainProblem(true, 404, "the server has no API group \"" + request.params[0] + "\"");
  group["kind"] = "APIGroup";
  group["apiVersion"] = "v1";
  return JsonResponse(group);
}

// "/api/v1" is the core group, "/apis/{group}/{version}" any other.
Response ApiResources(ApiContext&, const Caller&, Request& request) {
  const bool core = request.segments[0] == "api";
  const std::string group = core ? "" : request.segments[1];
  const std::string& version = request.segments.back();
  json::array resources;
  for (const KubeResource& resource : KubeResources()) {
    if (resource.group != group || resource.version != version) continue;
    resources.push_back(ResourceJson(resource));
    resources.push_back(StatusResourceJson(resource));
  }
  for (const ReviewResource& review : ReviewResources()) {
    if (review.group == group && version == "v1") resources.push_back(ReviewJson(review));
  }
  const std::string group_version = core ? version : group + "/" + version;
  if (resources.empty())
    return PlainProblem(true, 404, "the server has no API \"" + group_version + "\"");
  return JsonResponse(json::object{{"kind", "APIResourceList"},
                                   {"apiVersion", "v1"},
                                   {"groupVersion", group_version},
                                   {"resources", std::move(resources)}});
}

}  // namespace muster::rest
