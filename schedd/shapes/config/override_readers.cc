// ClusterResourceOverride and ResourceOverride (rule P28): their reader, which applies the rules of
// KubeFleet's webhook, and their entries in the table of kinds.
//
// An override selects objects by name and changes them by JSON patches on their way to a member
// cluster. A patch may change neither what an object is (its kind, its name) nor its status; of the
// metadata it may change labels and annotations. Values may hold the two variables
// ${MEMBER-CLUSTER-NAME} and ${MEMBER-CLUSTER-LABEL-KEY-key}; any other ${MEMBER-CLUSTER-...} is
// refused, so that a misspelt one is not sent as it stands.
#include <algorithm>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/shapes/config/config_tables.h"
#include "schedd/shapes/config/kind_list.h"
#include "schedd/shapes/config/object_readers.h"
#include "schedd/shapes/config/placement_parts.h"
#include "schedd/shapes/kinds/shape_ops.h"

namespace muster::shapes {
namespace {

constexpr std::string_view kVariable = "${MEMBER-CLUSTER-";
constexpr std::string_view kNameVariable = "${MEMBER-CLUSTER-NAME}";
constexpr std::string_view kLabelVariable = "${MEMBER-CLUSTER-LABEL-KEY-";
constexpr std::size_t kClusterTerms = 10;

void AtMost(const Field& field, std::size_t most) {
  const json::array* list = field.Array();
  if (list != nullptr && list->size() > most)
    field.Fail("must have at most " + std::to_string(most) + " entries");
}

// Requires a list with at least one entry and at most `most`. True if its entries may be read: not
// where they are too many.
bool RequireSome(const Field& list, std::size_t most) {
  if (!list.Require() || list.Array() == nullptr) return false;
  if (list.Array()->empty()) list.Fail("must have at least one entry");
  AtMost(list, most);
  return list.Array()->size() <= most;
}

// The kind must be one whose objects are sent under their own name, in the override's scope.
void CheckSentKind(const Field& item, const ResourceRef& ref, bool of_cluster) {
  const Field kind = item["kind"];
  // That these are missing is reported already.
  if (ref.kind.empty() || !item["group"].present()) return;
  const KindInfo* info = FindKindOf(ref.group, ref.kind);
  if (IsEnvelope(ref.group, ref.kind)) {
    kind.Fail(ref.kind + " is not sent itself: name the objects inside it");
  } else if (IsNeverPlaced(ref.group, ref.kind)) {
    kind.Fail(ref.kind + " is never placed: it belongs to the cluster that made it");
  } else if (IsPlacedJob(ref.group, ref.kind)) {
    kind.Fail(ref.kind + " is a kind of job: overrides change configuration objects alone");
  } else if (!of_cluster && IsClusterScoped(ref.group, ref.kind)) {
    kind.Fail(ref.kind + " lies in no namespace: name it in a ClusterResourceOverride");
  } else if (of_cluster && info != nullptr && info->namespaced) {
    kind.Fail(ref.kind + " lies in a namespace: name it in a ResourceOverride");
  } else if (info != nullptr && !ref.version.empty() && !Serves(*info, ref.version)) {
    item["version"].Fail(NotServed(*info, ref.version));
  }
}

ResourceRef ReadRef(const Field& item, const ResourceOverride& owner) {
  item.OnlyMembers({"group", "version", "kind", "name", "labelSelector"});
  ResourceRef ref;
  ref.ns = owner.ns;
  if (item["group"].Require()) ref.group = item["group"].StringOr("");
  for (const char* key : {"version", "kind", "name"}) {
    const Field field = item[key];
    if (field.Require() && field.String() == "") field.Fail("must not be empty");
  }
  ref.version = item["version"].StringOr("");
  ref.kind = item["kind"].StringOr("");
  ref.name = item["name"].StringOr("");
  item["labelSelector"].Refuse("is not for overrides: they are for objects by name");
  CheckSentKind(item, ref, owner.ns.empty());
  if (ref.group.empty() && ref.kind == "Namespace" && IsReservedNamespace(ref.name))
    item["name"].Fail("namespace " + Quoted(ref.name) + " is never placed");
  return ref;
}

std::vector<ResourceRef> ReadRefs(const Field& selectors, const ResourceOverride& owner) {
  std::vector<ResourceRef> refs;
  if (!RequireSome(selectors, limits::kOverrideResources)) return refs;
  for (const Field& item : selectors.Elements()) {
    ResourceRef ref = ReadRef(item, owner);
    const bool known = std::any_of(refs.begin(), refs.end(), [&](const ResourceRef& other) {
      return other.group == ref.group && other.kind == ref.kind && other.name == ref.name;
    });
    if (known && !ref.name.empty()) item.Fail("must be unique: " + Quoted(MentionOf(ref)));
    refs.push_back(std::move(ref));
  }
  return refs;
}

// What is wrong with the variables in a text; "" if nothing is.
std::string ProblemOfVariables(std::string_view text) {
  constexpr char kKnown[] =
      "; known are ${MEMBER-CLUSTER-NAME} and ${MEMBER-CLUSTER-LABEL-KEY-key}, key being a label";
  for (std::size_t at = text.find(kVariable); at != std::string_view::npos;
       at = text.find(kVariable, at)) {
    const std::size_t end = text.find('}', at);
    if (end == std::string_view::npos)
      return "has a variable without its '}': " + Quoted(text.substr(at));
    const std::string_view variable = text.substr(at, end + 1 - at);
    at = end + 1;
    if (variable == kNameVariable) continue;
    const bool labelled = variable.starts_with(kLabelVariable) &&
                          IsQualifiedName(variable.substr(
                              kLabelVariable.size(), variable.size() - kLabelVariable.size() - 1));
    if (!labelled) return "has the unknown variable " + std::string(Quoted(variable)) + kKnown;
  }
  return "";
}

// The first problem of the variables in any text or key of a value.
std::string ProblemOfVariablesIn(const json::value& value) {
  std::string problem;
  if (const json::string* text = value.if_string()) return ProblemOfVariables(*text);
  if (const json::array* list = value.if_array()) {
    for (const json::value& item : *list) {
      if (problem = ProblemOfVariablesIn(item); !problem.empty()) return problem;
    }
  } else if (const json::object* members = value.if_object()) {
    for (const json::key_value_pair& member : *members) {
      if (problem = ProblemOfVariables(member.key()); !problem.empty()) return problem;
      if (problem = ProblemOfVariablesIn(member.value()); !problem.empty()) return problem;
    }
  }
  return problem;
}

// The parts of a JSON pointer that begins with '/'.
std::vector<std::string_view> PartsOf(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t end = path.find('/', 1);
    parts.push_back(path.substr(1, end == std::string_view::npos ? end : end - 1));
    path.remove_prefix(end == std::string_view::npos ? path.size() : end);
  }
  return parts;
}

// Why a patch may not have this path; "" if it may.
std::string ProblemOfPath(std::string_view path) {
  if (!path.starts_with('/')) return "must begin with '/': it is a JSON pointer";
  if (path.find(kVariable) != std::string_view::npos)
    return "must have no variables: they are for values";
  for (std::size_t at = path.find('~'); at != std::string_view::npos; at = path.find('~', at + 1)) {
    if (at + 1 == path.size() || (path[at + 1] != '0' && path[at + 1] != '1'))
      return "has a '~' that is neither ~0 nor ~1";
  }
  const auto parts = PartsOf(path);
  if (std::find(parts.begin(), parts.end(), "") != parts.end()) return "must have no empty part";
  const std::string_view first = parts.front();
  if (first == "kind" || first == "apiVersion" || first == "status")
    return "may not change " + std::string(first);
  if (first != "metadata") return "";
  if (parts.size() > 1 && (parts[1] == "labels" || parts[1] == "annotations")) return "";
  return "may change of metadata only labels and annotations";
}

JsonPatch ReadPatch(const Field& item) {
  item.OnlyMembers({"op", "path", "value"});
  JsonPatch patch;
  const Field op = item["op"];
  const auto word = op.OneOf({"add", "remove", "replace"});
  (void)op.Require();
  if (word == "remove") patch.op = PatchOp::kRemove;
  if (word == "replace") patch.op = PatchOp::kReplace;
  const Field path = item["path"];
  if (const auto text = path.String(); path.Require() && text) {
    patch.path = *text;
    if (const std::string problem = ProblemOfPath(patch.path); !problem.empty()) path.Fail(problem);
  }
  const Field value = item["value"];
  if (word == "remove") {
    value.Refuse("is not for remove");
  } else if (word && value.Require()) {
    patch.value = WriteJson(*value.value());
    if (const std::string problem = ProblemOfVariablesIn(*value.value()); !problem.empty())
      value.Fail(problem);
  }
  return patch;
}

// clusterSelector of a rule: nullopt if it is absent, which selects no member; an empty list, which
// selects every member, if it has no terms.
std::optional<std::vector<LabelSelector>> ReadClusters(const Field& selector) {
  if (selector.Object() == nullptr) return std::nullopt;
  selector.OnlyMembers({"clusterSelectorTerms"});
  std::vector<LabelSelector> terms;
  const Field list = selector["clusterSelectorTerms"];
  AtMost(list, kClusterTerms);
  for (const Field& item : list.Elements()) {
    item.OnlyMembers({"labelSelector", "propertySelector", "propertySorter"});
    item["propertySelector"].Refuse("is not for overrides: they look at labels alone");
    item["propertySorter"].Refuse("is not for overrides: they look at labels alone");
    const Field labels = item["labelSelector"];
    terms.push_back(labels.Object() == nullptr ? LabelSelector{} : ReadLabelSelector(labels));
  }
  return terms;
}

// A rule patches the selected objects on the members that it selects, or, with overrideType Delete,
// keeps them away from there.
OverrideRule ReadRule(const Field& item) {
  item.OnlyMembers({"clusterSelector", "overrideType", "jsonPatchOverrides"});
  OverrideRule rule;
  rule.clusters = ReadClusters(item["clusterSelector"]);
  const Field type = item["overrideType"];
  const auto word = type.OneOf({"JSONPatch", "Delete"});
  rule.remove = word == "Delete";
  const Field patches = item["jsonPatchOverrides"];
  if (rule.remove) {
    if (!patches.Elements().empty()) patches.Fail("is not for overrideType Delete");
    return rule;
  }
  // A wrong type is reported already.
  if (type.present() && !word) return rule;
  if (!RequireSome(patches, limits::kOverridePatches)) return rule;
  for (const Field& patch : patches.Elements()) rule.patches.push_back(ReadPatch(patch));
  return rule;
}

void ReadPlacementReference(const Field& reference, bool of_cluster, ResourceOverride* read) {
  if (reference.Object() == nullptr) return;
  reference.OnlyMembers({"name", "scope"});
  const Field name = reference["name"];
  if (name.Require()) read->placement = name.StringOr("");
  if (name.present() &&
      (read->placement.size() > kPlacementNameBytes || !IsDnsSubdomain(read->placement))) {
    name.Fail("must be the name of a placement: a DNS subdomain of at most 63 bytes");
  }
  const Field scope = reference["scope"];
  const bool namespaced = scope.OneOf({"Cluster", "Namespaced"}) == "Namespaced";
  if (namespaced && of_cluster)
    scope.Fail("must be Cluster: a ClusterResourceOverride is for ClusterResourcePlacements");
  read->placement_of_cluster = !namespaced;
}

ResourceOverride ReadOverride(const Field& root, bool of_cluster) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "spec"});
  ResourceOverride read;
  read.name = NameOf(root);
  // The API fills in the namespace of a document that has none before it stores the document.
  if (!of_cluster) read.ns = NamespaceOf(root).empty() ? "default" : NamespaceOf(root);
  const Field spec = root["spec"];
  if (!spec.Require()) return read;
  const char* selectors = of_cluster ? "clusterResourceSelectors" : "resourceSelectors";
  spec.OnlyMembers({"placement", selectors, "policy"});
  ReadPlacementReference(spec["placement"], of_cluster, &read);
  read.resources = ReadRefs(spec[selectors], read);
  const Field policy = spec["policy"];
  if (!policy.Require()) return read;
  policy.OnlyMembers({"overrideRules"});
  const Field rules = policy["overrideRules"];
  if (!RequireSome(rules, limits::kOverrideRules)) return read;
  for (const Field& rule : rules.Elements()) read.rules.push_back(ReadRule(rule));
  return read;
}

// The placement that an override is for, as the refusal of a change names it.
std::string ReferenceOf(const ResourceOverride& one) {
  if (one.placement.empty()) return "it is for every placement";
  return std::string("it is for ") + (one.placement_of_cluster ? "Cluster" : "") +
         "ResourcePlacement " + one.placement;
}

ResourceOverride ReadClusterResourceOverride(const Field& root) { return ReadOverride(root, true); }

ResourceOverride ReadResourceOverride(const Field& root) { return ReadOverride(root, false); }

// An override stays with its placement.
Status CheckOverrideChange(const ResourceOverride& old, const ResourceOverride& now) {
  if (old.placement == now.placement && old.placement_of_cluster == now.placement_of_cluster)
    return Done{};
  return InvalidField("spec.placement", "field is immutable: " + ReferenceOf(old));
}

constexpr PrinterColumn kClusterOverrideColumns[] = {
    kNameColumn,
    TextColumn("PLACEMENT", "spec.placement.name"),
    CountColumn("RESOURCES", "spec.clusterResourceSelectors"),
    CountColumn("RULES", "spec.policy.overrideRules"),
    kAgeColumn,
};

constexpr PrinterColumn kOverrideColumns[] = {
    kNameColumn,
    TextColumn("PLACEMENT", "spec.placement.name"),
    CountColumn("RESOURCES", "spec.resourceSelectors"),
    CountColumn("RULES", "spec.policy.overrideRules"),
    kAgeColumn,
};

}  // namespace

constinit const KindInfo kClusterResourceOverrideKind = {
    .kind = ObjectKind::kClusterResourceOverride,
    .name = "ClusterResourceOverride",
    .plural = "clusterresourceoverrides",
    .group = kPlacementGroup,
    .versions = {"v1beta1", "v1"},
    .namespaced = false,
    .table = "cluster_resource_overrides",
    .check = CheckBy<ReadClusterResourceOverride>,
    .put = PutInto<ReadClusterResourceOverride, &ConfigView::overrides, CheckOverrideChange>,
    .remove = EraseFrom<&ConfigView::overrides>,
    .concern = Concern::kMembers,
    .short_names = {"cro"},
    .cli_name = "cro",
    .cli_place = 17,
    .columns = kClusterOverrideColumns,
};

constinit const KindInfo kResourceOverrideKind = {
    .kind = ObjectKind::kResourceOverride,
    .name = "ResourceOverride",
    .plural = "resourceoverrides",
    .group = kPlacementGroup,
    .versions = {"v1beta1", "v1"},
    .namespaced = true,
    .table = "resource_overrides",
    .check = CheckBy<ReadResourceOverride>,
    .put = PutInto<ReadResourceOverride, &ConfigView::overrides, CheckOverrideChange>,
    .remove = EraseFrom<&ConfigView::overrides>,
    .concern = Concern::kMembers,
    .short_names = {"ro"},
    .cli_name = "ro",
    .cli_place = 18,
    .columns = kOverrideColumns,
};

}  // namespace muster::shapes
