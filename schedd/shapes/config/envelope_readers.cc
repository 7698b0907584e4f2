// ClusterResourceEnvelope and ResourceEnvelope (rule P29): manifests that have no meaning
// here and are carried to members as they are.
#include <algorithm>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/shapes/config/object_readers.h"
#include "schedd/shapes/config/placement_parts.h"
#include "schedd/shapes/parts/metadata.h"

namespace muster::shapes {
namespace {

constexpr std::size_t kNameBytes = 253;

// Names of some kinds are no DNS subdomains, such as those of roles ("system:reader").
bool IsPathSegment(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytes && name != "." && name != ".." &&
         name.find_first_of("/%") == std::string_view::npos;
}

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

void ReadItemMetadata(const Field& metadata, const ResourceEnvelope& owner, ResourceRef* ref) {
  ref->ns = owner.ns;
  if (!metadata.Require() || metadata.Object() == nullptr) return;
  metadata["generateName"].Refuse("is not for envelopes: what is applied again has a name");
  const Field name = metadata["name"];
  if (name.Require()) ref->name = name.StringOr("");
  if (name.String() && !IsPathSegment(ref->name))
    name.Fail("must be a name: at most 253 bytes, without '/' and '%'");
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

}  // namespace

ResourceEnvelope ReadClusterResourceEnvelope(const Field& root) { return ReadEnvelope(root, true); }

ResourceEnvelope ReadResourceEnvelope(const Field& root) { return ReadEnvelope(root, false); }

}  // namespace muster::shapes
