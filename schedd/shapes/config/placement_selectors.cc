// spec.resourceSelectors of a placement: which jobs it governs, and which configuration objects it
// sends to members.
//
// A selector names a kind of job or a kind that Muster keeps; every other kind has to be sent
// inside an envelope. A ClusterResourcePlacement selects cluster-scoped objects, and namespaced
// ones only beside the one Namespace that is selected with NamespaceWithResourceSelectors.
#include <algorithm>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/shapes/config/object_readers.h"
#include "schedd/shapes/config/placement_parts.h"
#include "schedd/shapes/config/queue_objects.h"
#include "schedd/shapes/kinds/shape_ops.h"
#include "schedd/shapes/parts/metadata.h"

namespace muster::shapes {
namespace {

bool IsNamespace(const ResourceSelector& selector) {
  return selector.group.empty() && selector.kind == "Namespace";
}

bool IsJobKind(const ResourceSelector& selector) {
  return IsPlacedJob(selector.group, selector.kind);
}

// The refusal of a kind that Muster does not keep, with the way to send its objects nevertheless.
std::string NotKept(const ResourceSelector& selector, bool of_cluster) {
  return Quoted(ApiVersion(selector.group, selector.version) + ", " + selector.kind) +
         " is no kind that Muster keeps: put it into a " +
         (of_cluster ? "ClusterResourceEnvelope or ResourceEnvelope" : "ResourceEnvelope");
}

// A selector's kind must be a kind of job, or a kind of configuration in the placement's scope.
void CheckKind(const Field& item, const ResourceSelector& selector, bool of_cluster) {
  const Field kind = item["kind"];
  // That these are missing is reported already.
  if (selector.kind.empty() || !item["group"].present()) return;
  if (IsNeverPlaced(selector.group, selector.kind)) {
    kind.Fail(selector.kind + " is never placed: it belongs to the cluster that made it");
    return;
  }
  if (IsJobKind(selector)) {
    if (!selector.version.empty() &&
        FindShape(ApiVersion(selector.group, selector.version), selector.kind) == nullptr) {
      item["version"].Fail(selector.kind + " is served in " +
                           std::string(VersionOf(ApiVersionOf(selector.kind))) + ", not " +
                           Quoted(selector.version));
    }
    return;
  }
  const KindInfo* info = FindKindOf(selector.group, selector.kind);
  if (info == nullptr) {
    kind.Fail(NotKept(selector, of_cluster));
    return;
  }
  // Roles and bindings say who may use Muster itself.
  if (!info->sent) {
    kind.Fail(selector.kind + " is for Muster itself and not sent: put that of a member into a " +
              (of_cluster ? "ClusterResourceEnvelope or ResourceEnvelope" : "ResourceEnvelope"));
    return;
  }
  if (!of_cluster && !info->namespaced) {
    kind.Fail(selector.kind + " lies in no namespace: select it in a ClusterResourcePlacement");
  }
  if (!selector.version.empty() && !Serves(*info, selector.version))
    item["version"].Fail(NotServed(*info, selector.version));
}

bool LiesInNamespace(const ResourceSelector& selector) {
  if (IsJobKind(selector)) return true;
  const KindInfo* info = FindKindOf(selector.group, selector.kind);
  return info != nullptr && info->namespaced && !IsNeverPlaced(selector.group, selector.kind);
}

// Refuses the labels that choose a job's queue, priority class and longest run: Muster turns them
// into fields of the job, so that selectors would not find them among its labels.
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

// The scopes of a ClusterResourcePlacement's selectors. Namespaced objects may be selected only
// beside one Namespace, named and with NamespaceWithResourceSelectors, in which they are looked
// for.
void CheckScopes(const std::vector<Field>& items, const std::vector<ResourceSelector>& selectors) {
  // The index of the selector with NamespaceWithResourceSelectors; the size if there is none.
  std::size_t inside = selectors.size();
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
    } else if (LiesInNamespace(selectors[i]) && inside == selectors.size()) {
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
