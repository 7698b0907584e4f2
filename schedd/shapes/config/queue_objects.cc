#include "schedd/shapes/config/queue_objects.h"

#include <algorithm>
#include <charconv>

#include "schedd/base/names.h"
#include "schedd/shapes/config/object_readers.h"
#include "schedd/shapes/parts/canonical.h"
#include "schedd/shapes/parts/metadata.h"
#include "schedd/text/base64.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

constexpr std::string_view kOwnGroups[] = {"kueue.x-k8s.io", "cluster.kubernetes-fleet.io",
                                           "placement.kubernetes-fleet.io"};

std::string_view GroupOf(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
}

Error UnknownKind(std::string_view api_version, std::string_view kind) {
  const std::string named(kind.substr(0, 80));
  const std::string_view group = GroupOf(api_version);
  if (std::find(std::begin(kOwnGroups), std::end(kOwnGroups), group) != std::end(kOwnGroups)) {
    return InvalidField("kind",
                        named + " of " + std::string(group) + " is not supported by this version");
  }
  return InvalidField("kind", "no object of this kind is known: " +
                                  Quoted(std::string(api_version) + ", " + std::string(kind)));
}

template <auto read>
void Check(const Field& root) {
  (void)read(root);
}

// What checks all but the metadata of a kind.
void (*CheckerOf(ObjectKind kind))(const Field& root) {
  switch (kind) {
    case ObjectKind::kNamespace:
      return Check<ReadNamespace>;
    case ObjectKind::kResourceFlavor:
      return Check<ReadResourceFlavor>;
    case ObjectKind::kClusterQueue:
      return Check<ReadClusterQueue>;
    case ObjectKind::kCohort:
      return Check<ReadCohort>;
    case ObjectKind::kLocalQueue:
      return Check<ReadLocalQueue>;
    case ObjectKind::kWorkloadPriorityClass:
      return Check<ReadWorkloadPriorityClass>;
    case ObjectKind::kMemberCluster:
      return Check<ReadMemberCluster>;
    case ObjectKind::kConfigMap:
      return CheckConfigMap;
    case ObjectKind::kSecret:
      return CheckSecret;
    case ObjectKind::kTopology:
      return Check<ReadTopology>;
    case ObjectKind::kAdmissionCheck:
      return Check<ReadAdmissionCheck>;
    case ObjectKind::kLimitRange:
      return Check<ReadLimitRange>;
    case ObjectKind::kRuntimeClass:
      return Check<ReadRuntimeClass>;
    case ObjectKind::kClusterResourcePlacement:
      return Check<ReadClusterResourcePlacement>;
    case ObjectKind::kResourcePlacement:
      return Check<ReadResourcePlacement>;
    case ObjectKind::kClusterResourcePlacementEviction:
      return Check<ReadClusterPlacementEviction>;
    case ObjectKind::kResourcePlacementEviction:
      return Check<ReadPlacementEviction>;
    case ObjectKind::kClusterResourcePlacementDisruptionBudget:
      return Check<ReadClusterDisruptionBudget>;
    case ObjectKind::kResourcePlacementDisruptionBudget:
      return Check<ReadDisruptionBudget>;
    case ObjectKind::kClusterResourceOverride:
      return Check<ReadClusterResourceOverride>;
    case ObjectKind::kResourceOverride:
      return Check<ReadResourceOverride>;
    case ObjectKind::kClusterResourceEnvelope:
      return Check<ReadClusterResourceEnvelope>;
    case ObjectKind::kResourceEnvelope:
      return Check<ReadResourceEnvelope>;
  }
  MUSTER_CHECK(!"every ObjectKind has a reader");
  return CheckConfigMap;
}

void ReadMetadata(const Field& root, const KindInfo& info, ParsedObject* object) {
  const Field metadata = root["metadata"];
  if (!metadata.Require() || metadata.Object() == nullptr) return;
  CheckMetadataMembers(metadata);
  metadata["generateName"].Refuse("is for jobs; an object of this kind is named");
  object->name = ReadObjectName(metadata);
  CheckLabels(metadata["labels"]);
  CheckAnnotations(metadata["annotations"]);
  const Field ns = metadata["namespace"];
  if (const auto text = ns.String(); text && !text->empty()) {
    if (!info.namespaced) {
      ns.Fail(std::string("a ") + info.name + " belongs to no namespace");
    } else if (!IsDnsLabel(*text)) {
      ns.Fail(kDnsLabelRule);
    }
    object->ns = *text;
  }
  const Field version = metadata["resourceVersion"];
  if (const auto text = version.String(); text && !text->empty()) {
    const auto [end, ec] = std::from_chars(text->data(), text->data() + text->size(),
                                           object->expected_resource_version);
    if (ec != std::errc() || end != text->data() + text->size())
      version.Fail("must be a number that Muster gave");
  }
}

// A Secret's stringData is another way to write data, and never shown again.
void FoldStringData(json::object& secret) {
  auto* strings = secret.if_contains("stringData");
  if (strings == nullptr) return;
  if (strings->is_object()) {
    auto& data = secret["data"];
    if (!data.is_object()) data.emplace_object();
    // secret["data"] may have moved the members: look again.
    for (const auto& member : secret.at("stringData").as_object()) {
      data.get_object()[member.key()] = EncodeBase64(std::string_view(member.value().as_string()));
    }
  }
  secret.erase("stringData");
}

}  // namespace

std::string_view VersionOf(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? api_version : api_version.substr(slash + 1);
}

bool IsConfigObject(const json::value& document) {
  const std::string_view api_version = ViewAt(document, "apiVersion");
  const auto* info = FindKindOf(GroupOf(api_version), ViewAt(document, "kind"));
  return info != nullptr && Serves(*info, VersionOf(api_version));
}

Result<ParsedObject> ParseObject(const json::value& document) {
  if (!document.is_object()) return InvalidArgument("a manifest must be an object");
  const std::string_view api_version = ViewAt(document, "apiVersion");
  const std::string_view kind = ViewAt(document, "kind");
  if (api_version.empty()) return InvalidField("apiVersion", "is required");
  if (kind.empty()) return InvalidField("kind", "is required");
  const auto* info = FindKindOf(GroupOf(api_version), kind);
  if (info == nullptr) return UnknownKind(api_version, kind);
  if (!Serves(*info, VersionOf(api_version))) {
    return InvalidField("apiVersion", NotServed(*info, VersionOf(api_version)));
  }
  ParsedObject object;
  object.kind = info->kind;
  Problems problems;
  const Field root(document, &problems);
  ReadMetadata(root, *info, &object);
  CheckerOf(info->kind)(root);
  if (!problems.empty()) return problems.ToError();
  object.manifest = WithoutServerFields(document);
  if (info->kind == ObjectKind::kSecret) FoldStringData(object.manifest.get_object());
  CanonicaliseQuantities(&object.manifest);
  return object;
}

}  // namespace muster::shapes
