// spec.resourceSelectors of a placement: which jobs it governs.
#include <algorithm>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/shapes/metadata.h"
#include "schedd/shapes/object_readers.h"
#include "schedd/shapes/placement_parts.h"
#include "schedd/shapes/queue_objects.h"
#include "schedd/shapes/shape_ops.h"

namespace muster::shapes {
namespace {

constexpr std::string_view kNotPropagated =
    "propagating configuration objects to members is not supported by this version";

// What belongs to one cluster and is made there (placement.md 1.3).
struct NeverPlaced {
  std::string_view group, kind;  // kind "": all of the group
};
constexpr NeverPlaced kNeverPlaced[] = {
    {"", "Pod"},
    {"", "Node"},
    {"", "Event"},
    {"events.k8s.io", ""},
    {"coordination.k8s.io", ""},
    {"metrics.k8s.io", ""},
};

bool IsNeverPlaced(const ResourceSelector& selector) {
  if (selector.group.ends_with("kubernetes-fleet.io") ||
      selector.group.ends_with("fleet.azure.com"))
    return true;
  return std::any_of(std::begin(kNeverPlaced), std::end(kNeverPlaced), [&](const auto& never) {
    return selector.group == never.group && (never.kind.empty() || selector.kind == never.kind);
  });
}

bool IsNamespace(const ResourceSelector& selector) {
  return selector.group.empty() && selector.kind == "Namespace";
}

std::string ApiVersion(std::string_view group, std::string_view version) {
  return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
}

bool IsJobKind(const ResourceSelector& selector) {
  const std::string_view served = ApiVersionOf(selector.kind);
  return !selector.group.empty() && served.starts_with(selector.group + "/");
}

std::string_view VersionOf(std::string_view api_version) {
  return api_version.substr(api_version.find('/') + 1);
}

bool IsConfigKind(const ResourceSelector& selector) {
  return std::any_of(Kinds().begin(), Kinds().end(), [&](const KindInfo& info) {
    return selector.group == info.group && selector.kind == info.name;
  });
}

// What is selected must be something that a placement of jobs can govern.
void CheckKind(const Field& item, const ResourceSelector& selector, bool of_cluster) {
  const Field kind = item["kind"];
  if (selector.kind.empty() || !item["group"].present()) return;  // told already
  if (IsNeverPlaced(selector)) {
    kind.Fail(selector.kind + " is never placed: it belongs to the cluster that made it");
  } else if (IsNamespace(selector)) {
    if (!of_cluster)
      kind.Fail("a Namespace lies in no namespace: select it in a ClusterResourcePlacement");
    if (!selector.version.empty() && selector.version != "v1")
      item["version"].Fail("Namespace is served in v1, not " + Quoted(selector.version));
  } else if (IsJobKind(selector)) {
    if (!selector.version.empty() &&
        FindShape(ApiVersion(selector.group, selector.version), selector.kind) == nullptr) {
      item["version"].Fail(selector.kind + " is served in " +
                           std::string(VersionOf(ApiVersionOf(selector.kind))) + ", not " +
                           Quoted(selector.version));
    }
  } else if (IsConfigKind(selector)) {
    kind.Fail(selector.kind + ": " + std::string(kNotPropagated));
  } else {
    kind.Fail(Quoted(ApiVersion(selector.group, selector.version) + ", " + selector.kind) +
              " is no kind of job that Muster runs; " + std::string(kNotPropagated));
  }
}

// Their values are fields of a job, not labels that it keeps.
void CheckLabelKeys(const Field& labels) {
  constexpr std::string_view kWhy =
      "is not looked at by placements: name the placement in annotation muster.io/placement of the "
      "LocalQueue or ClusterQueue instead";
  for (const auto& [key, field] : labels["matchLabels"].Members()) {
    if (IsQueueingLabel(key)) field.Fail(std::string(kWhy));
  }
  for (const auto& expression : labels["matchExpressions"].Elements()) {
    const Field key = expression["key"];
    if (IsQueueingLabel(key.StringOr(""))) key.Fail(std::string(kWhy));
  }
}

void CheckName(const Field& name, const ResourceSelector& selector) {
  if (selector.name.empty()) {
    if (name.present()) name.Fail("must not be empty: leave it out to select all of the kind");
    return;
  }
  if (!IsDnsSubdomain(selector.name)) name.Fail(kDnsSubdomainRule);
  if (IsNamespace(selector) && IsReservedNamespace(selector.name)) {
    name.Fail("namespace " + Quoted(selector.name) +
              " cannot be selected, nor can others of kube- and fleet-");
  }
}

SelectionScope ReadScope(const Field& scope, bool of_namespace) {
  const auto text =
      scope.OneOf({"NamespaceWithResources", "NamespaceOnly", "NamespaceWithResourceSelectors"});
  if (!text || text == "NamespaceWithResources") return SelectionScope::kNamespaceWithResources;
  if (!of_namespace) scope.Fail("is only for Namespaces in a ClusterResourcePlacement");
  return text == "NamespaceOnly" ? SelectionScope::kNamespaceOnly
                                 : SelectionScope::kNamespaceWithResourceSelectors;
}

ResourceSelector ReadOne(const Field& item, bool of_cluster) {
  item.OnlyMembers({"group", "version", "kind", "name", "labelSelector", "selectionScope"});
  ResourceSelector selector;
  if (item["group"].Require()) selector.group = item["group"].StringOr("");
  for (const char* key : {"version", "kind"}) {
    const Field field = item[key];
    if (field.Require() && field.String() == "") field.Fail("must not be empty");
  }
  selector.version = item["version"].StringOr("");
  selector.kind = item["kind"].StringOr("");
  selector.name = item["name"].StringOr("");
  CheckKind(item, selector, of_cluster);
  CheckName(item["name"], selector);
  const Field labels = item["labelSelector"];
  if (labels.Object() != nullptr) {
    selector.labels = ReadLabelSelector(labels);
    if (item["name"].present()) labels.Fail("must not be given together with name");
    if (IsJobKind(selector)) CheckLabelKeys(labels);
  }
  selector.scope = ReadScope(item["selectionScope"], of_cluster && IsNamespace(selector));
  return selector;
}

bool SelectsTheSame(const ResourceSelector& a, const ResourceSelector& b) {
  return a.group == b.group && a.kind == b.kind && a.name == b.name && a.labels == b.labels;
}

// Of a ClusterResourcePlacement: objects inside a namespace are selected beside the one namespace
// that says so, by name.
void CheckScopes(const std::vector<Field>& items, const std::vector<ResourceSelector>& selectors) {
  std::size_t inside = selectors.size();  // the one with NamespaceWithResourceSelectors
  for (std::size_t i = 0; i < selectors.size(); ++i) {
    if (selectors[i].scope != SelectionScope::kNamespaceWithResourceSelectors) continue;
    if (selectors[i].name.empty())
      items[i]["selectionScope"].Fail("NamespaceWithResourceSelectors needs the namespace's name");
    if (inside < selectors.size())
      items[i]["selectionScope"].Fail("NamespaceWithResourceSelectors may be said but once");
    inside = i;
  }
  for (std::size_t i = 0; i < selectors.size(); ++i) {
    if (IsNamespace(selectors[i]) && i != inside && inside < selectors.size()) {
      items[i].Fail("no other Namespace may be selected beside NamespaceWithResourceSelectors");
    } else if (IsJobKind(selectors[i]) && inside == selectors.size()) {
      items[i]["kind"].Fail(
          selectors[i].kind +
          " lies in a namespace: select that with NamespaceWithResourceSelectors beside it, or use "
          "a ResourcePlacement");
    }
  }
}

}  // namespace

std::vector<ResourceSelector> ReadResourceSelectors(const Field& selectors, bool of_cluster) {
  std::vector<ResourceSelector> read;
  if (!selectors.Require()) return read;
  const std::vector<Field> items = selectors.Elements();
  if (selectors.Array() != nullptr && items.empty()) selectors.Fail("must have at least one entry");
  if (items.size() > limits::kResourceSelectors) {
    selectors.Fail("must have at most " + std::to_string(limits::kResourceSelectors) + " entries");
    return read;
  }
  for (const Field& item : items) {
    read.push_back(ReadOne(item, of_cluster));
    for (std::size_t i = 0; i + 1 < read.size(); ++i) {
      if (!SelectsTheSame(read[i], read.back())) continue;
      item.Fail("selects the same as resourceSelectors[" + std::to_string(i) + "]");
      break;
    }
  }
  if (of_cluster) CheckScopes(items, read);
  return read;
}

}  // namespace muster::shapes
