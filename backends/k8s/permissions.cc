// The list of permissions, and its forms: questions to the API server (SelfSubjectAccessReview), a
// sentence for users, and a ClusterRole in YAML. Permissions of one resource follow each other in
// the list, so that the sentence and the role can join their verbs.
#include "backends/k8s/permissions.h"

#include <initializer_list>
#include <utility>

#include "backends/k8s/member_json.h"
#include "backends/k8s/status/reader.h"
#include "schedd/text/json.h"
#include "schedd/text/yaml_write.h"

namespace muster::k8s {
namespace {

void Add(std::vector<Permission>* all, std::string_view group, std::string_view resource,
         std::string_view subresource, std::initializer_list<std::string_view> verbs) {
  for (const std::string_view verb : verbs) {
    all->push_back(
        {std::string(group), std::string(resource), std::string(subresource), std::string(verb)});
  }
}

// The resource as RBAC names it: "pods/log".
std::string RuleName(const Permission& one) {
  return one.resource + (one.subresource.empty() ? "" : "/" + one.subresource);
}

// The resource with its group: "rayjobs.ray.io".
std::string NameOf(const Permission& one) {
  return RuleName(one) + (one.group.empty() ? "" : "." + one.group);
}

bool SameResource(const Permission& a, const Permission& b) {
  return a.group == b.group && a.resource == b.resource && a.subresource == b.subresource &&
         a.ns == b.ns;
}

// Ranges [first, last) of permissions of the same resource.
std::vector<std::pair<std::size_t, std::size_t>> ByResource(const std::vector<Permission>& all) {
  std::vector<std::pair<std::size_t, std::size_t>> runs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == 0 || !SameResource(all[i], all[i - 1])) runs.emplace_back(i, i);
    runs.back().second = i + 1;
  }
  return runs;
}

}  // namespace

std::vector<Permission> PermissionsFor(const std::vector<const KindInfo*>& kinds) {
  std::vector<Permission> all;
  for (const KindInfo* kind : kinds) {
    const std::string_view group = kind->api_version.substr(0, kind->api_version.find('/'));
    Add(&all, group, kind->resource, "", {"create", "get", "list", "watch", "patch", "delete"});
  }
  Add(&all, "", "pods", "", {"get", "list", "watch", "deletecollection"});
  Add(&all, "", "pods", "log", {"get"});
  Add(&all, "", "configmaps", "", {"create", "get", "update"});
  Add(&all, "", "secrets", "", {"create", "get", "update"});
  Add(&all, "", "events", "", {"list"});
  Add(&all, "", "nodes", "", {"list", "watch"});
  Add(&all, "scheduling.k8s.io", "priorityclasses", "", {"list"});
  Add(&all, "", "namespaces", "", {"list", "create"});
  return all;
}

// Kueue's kinds, plain configuration, and what leftovers and copies need.
std::vector<Permission> ConfigurationPermissions() {
  std::vector<Permission> all;
  const std::initializer_list<std::string_view> verbs = {"create", "get",    "list",  "watch",
                                                         "patch",  "update", "delete"};
  for (const char* kind : {"resourceflavors", "clusterqueues", "cohorts", "localqueues",
                           "workloadpriorityclasses", "admissionchecks", "topologies"}) {
    Add(&all, "kueue.x-k8s.io", kind, "", verbs);
  }
  // Of batch scripts on several nodes.
  Add(&all, "", "services", "", {"create", "get", "update"});
  for (const char* kind : {"namespaces", "configmaps", "limitranges"})
    Add(&all, "", kind, "", verbs);
  // A list would show all Secrets of the member (S26). Without it each Secret of a placement is
  // asked for by its name, and changes by others are found when it is compared next.
  Add(&all, "", "secrets", "", {"create", "get", "patch", "update", "delete"});
  Add(&all, "node.k8s.io", "runtimeclasses", "", verbs);
  // For the leftovers of a LeaderWorkerSet that was deleted without its children.
  Add(&all, "apps", "statefulsets", "", {"list", "delete"});
  // Copies for the member's own queue.
  Add(&all, "kueue.x-k8s.io", "workloads", "", {"create", "get", "list", "delete"});
  return all;
}

std::string AccessReview(const Permission& permission) {
  json::object wanted{{"verb", permission.verb}, {"resource", permission.resource}};
  if (!permission.group.empty()) wanted["group"] = permission.group;
  if (!permission.subresource.empty()) wanted["subresource"] = permission.subresource;
  if (!permission.ns.empty()) wanted["namespace"] = permission.ns;
  return WriteJson(json::object{{"apiVersion", "authorization.k8s.io/v1"},
                                {"kind", "SelfSubjectAccessReview"},
                                {"spec", json::object{{"resourceAttributes", std::move(wanted)}}}});
}

bool IsAllowed(std::string_view answer) {
  const auto body = ParseMemberJson(answer);
  return body.ok() && Reader(&*body)["status"]["allowed"].IsTrue();
}

// Joins the verbs of each resource: "create, get and watch of rayjobs.ray.io".
std::string DescribePermissions(const std::vector<Permission>& permissions) {
  std::string text;
  for (const auto& [first, last] : ByResource(permissions)) {
    if (!text.empty()) text += ", ";
    for (std::size_t i = first; i < last; ++i) {
      if (i > first) text += i + 1 == last ? " and " : ", ";
      text += permissions[i].verb;
    }
    text += " of " + NameOf(permissions[first]);
    if (!permissions[first].ns.empty()) text += " in namespace " + permissions[first].ns;
  }
  return text;
}

std::string ClusterRoleYaml(const std::vector<Permission>& permissions) {
  json::array rules;
  for (const auto& [first, last] : ByResource(permissions)) {
    json::array verbs;
    for (std::size_t i = first; i < last; ++i) verbs.emplace_back(permissions[i].verb);
    rules.push_back(json::object{{"apiGroups", json::array{permissions[first].group}},
                                 {"resources", json::array{RuleName(permissions[first])}},
                                 {"verbs", std::move(verbs)}});
  }
  return WriteYaml(json::object{{"apiVersion", "rbac.authorization.k8s.io/v1"},
                                {"kind", "ClusterRole"},
                                {"metadata", json::object{{"name", "muster"}}},
                                {"rules", std::move(rules)}});
}

}  // namespace muster::k8s
