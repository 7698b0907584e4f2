// ClusterResourceEnvelope and ResourceEnvelope (rule P29): their reader and their entries in the
// table of kinds. An envelope holds whole manifests under `data`. They have no effect here and are
// sent to member clusters as they are, so only their identity is read: each must be one object, of
// a kind that may be placed, in the envelope's own scope, and no object may be there twice.
#include <algorithm>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/shapes/config/config_tables.h"
#include "schedd/shapes/config/kind_list.h"
#include "schedd/shapes/config/object_readers.h"
#include "schedd/shapes/config/placement_parts.h"
#include "schedd/shapes/parts/metadata.h"

namespace muster::shapes {
namespace {

// A kind of job is refused: in an envelope it would run without being charged to a queue.
void CheckCarriedKind(const Field& kind, const ResourceRef& ref, bool of_cluster) {
  if (IsEnvelope(ref.group, ref.kind) || ref.group.ends_with("kubernetes-fleet.io") ||
      ref.group.ends_with("fleet.azure.com")) {
    kind.Fail(ref.kind + " is the fleet's own: it cannot be in an envelope");
  } else if (IsNeverPlaced(ref.group, ref.kind)) {
    kind.Fail(ref.kind + " is never placed: it belongs to the cluster that made it");
  } else if (IsPlacedJob(ref.group, ref.kind)) {
    kind.Fail(ref.kind +
              " is a kind of job: in an envelope it would run uncounted; submit it, and place it "
              "by a ResourcePlacement");
  } else if (!of_cluster && IsClusterScoped(ref.group, ref.kind)) {
    kind.Fail(ref.kind + " lies in no namespace: put it into a ClusterResourceEnvelope");
  } else if (const KindInfo* info = FindKindOf(ref.group, ref.kind);
             of_cluster && info != nullptr && info->namespaced) {
    kind.Fail(ref.kind + " lies in a namespace: put it into a ResourceEnvelope");
  }
}

// Name and namespace of one manifest of an envelope; the namespace is always that of the envelope.
void ReadItemMetadata(const Field& metadata, const ResourceEnvelope& owner, ResourceRef* ref) {
  ref->ns = owner.ns;
  if (!metadata.Require() || metadata.Object() == nullptr) return;
  metadata["generateName"].Refuse("is not for envelopes: what is applied again has a name");
  const Field name = metadata["name"];
  if (name.Require()) ref->name = name.StringOr("");
  // The weakest rule that names of any kind obey.
  if (name.String() && !IsPathSegment(ref->name)) name.Fail(kPathSegmentRule);
  if (ref->group.empty() && ref->kind == "Namespace" && IsReservedNamespace(ref->name))
    name.Fail("namespace " + Quoted(ref->name) + " is never placed");
  const Field ns = metadata["namespace"];
  const std::string_view said = ns.StringOr("");
  if (!said.empty() && said != owner.ns) {
    ns.Fail(owner.ns.empty() ? "is not for a ClusterResourceEnvelope: its objects lie in none"
                             : "must be that of the envelope, " + Quoted(owner.ns));
  }
  CheckLabels(metadata["labels"]);
  CheckAnnotations(metadata["annotations"]);
}

ResourceEnvelope::Item ReadItem(std::string_view key, const Field& field,
                                const ResourceEnvelope& owner) {
  ResourceEnvelope::Item item;
  item.key = key;
  if (!IsDataKey(key)) field.Fail(std::string("a key ") + kDataKeyRule);
  if (!field.present()) field.Fail("must be a whole manifest");
  if (field.Object() == nullptr) return item;
  const Field version = field["apiVersion"];
  if (version.Require()) {
    const std::string_view text = version.StringOr("");
    const std::size_t slash = text.find('/');
    if (slash != std::string_view::npos) item.ref.group = text.substr(0, slash);
    item.ref.version = slash == std::string_view::npos ? text : text.substr(slash + 1);
    const bool good = IsDnsLabel(item.ref.version) &&
                      (slash == std::string_view::npos || IsDnsSubdomain(item.ref.group));
    if (version.String() && !good) version.Fail("must be GROUP/VERSION, or v1");
  }
  const Field kind = field["kind"];
  if (kind.Require()) item.ref.kind = kind.StringOr("");
  if (kind.String() == "") kind.Fail("must not be empty");
  if (!item.ref.kind.empty() && !item.ref.version.empty())
    CheckCarriedKind(kind, item.ref, owner.ns.empty());
  ReadItemMetadata(field["metadata"], owner, &item.ref);
  item.manifest = WriteJson(*field.value());
  return item;
}

ResourceEnvelope ReadEnvelope(const Field& root, bool of_cluster) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "data"});
  ResourceEnvelope read;
  read.name = NameOf(root);
  if (!of_cluster) read.ns = NamespaceOf(root).empty() ? "default" : NamespaceOf(root);
  const Field data = root["data"];
  if (!data.Require() || data.Object() == nullptr) return read;
  if (data.Object()->empty()) data.Fail("must have at least one manifest");
  if (data.Object()->size() > limits::kEnvelopeItems) {
    data.Fail("must have at most " + std::to_string(limits::kEnvelopeItems) + " manifests");
    return read;
  }
  for (const auto& [key, field] : data.Members()) {
    read.items.push_back(ReadItem(key, field, read));
    const ResourceRef& ref = read.items.back().ref;
    for (std::size_t i = 0; i + 1 < read.items.size(); ++i) {
      const ResourceRef& other = read.items[i].ref;
      if (ref.name.empty() || other.group != ref.group || other.kind != ref.kind ||
          other.name != ref.name)
        continue;
      field.Fail("is the same object as that of key " + read.items[i].key);
      break;
    }
  }
  std::sort(read.items.begin(), read.items.end(),
            [](const auto& a, const auto& b) { return a.key < b.key; });
  return read;
}

ResourceEnvelope ReadClusterResourceEnvelope(const Field& root) { return ReadEnvelope(root, true); }

ResourceEnvelope ReadResourceEnvelope(const Field& root) { return ReadEnvelope(root, false); }

constexpr PrinterColumn kEnvelopeColumns[] = {kNameColumn, CountColumn("MANIFESTS", "data"),
                                              kAgeColumn};

}  // namespace

constinit const KindInfo kClusterResourceEnvelopeKind = {
    .kind = ObjectKind::kClusterResourceEnvelope,
    .name = "ClusterResourceEnvelope",
    .plural = "clusterresourceenvelopes",
    .group = kPlacementGroup,
    .versions = {"v1beta1", "v1"},
    .namespaced = false,
    .table = "cluster_resource_envelopes",
    .check = CheckBy<ReadClusterResourceEnvelope>,
    .put = PutInto<ReadClusterResourceEnvelope, &ConfigView::envelopes>,
    .remove = EraseFrom<&ConfigView::envelopes>,
    .concern = Concern::kMembers,
    .sent = true,
    .cli_place = 19,
    .columns = kEnvelopeColumns,
};

constinit const KindInfo kResourceEnvelopeKind = {
    .kind = ObjectKind::kResourceEnvelope,
    .name = "ResourceEnvelope",
    .plural = "resourceenvelopes",
    .group = kPlacementGroup,
    .versions = {"v1beta1", "v1"},
    .namespaced = true,
    .table = "resource_envelopes",
    .check = CheckBy<ReadResourceEnvelope>,
    .put = PutInto<ReadResourceEnvelope, &ConfigView::envelopes>,
    .remove = EraseFrom<&ConfigView::envelopes>,
    .concern = Concern::kMembers,
    .sent = true,
    .cli_place = 20,
    .columns = kEnvelopeColumns,
};

}  // namespace muster::shapes
