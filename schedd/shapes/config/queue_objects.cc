// What all kinds of configuration objects share: finding the kind of a document, checking its
// metadata, and handing it to the functions of its entry (object_kinds.h). The order in ParseObject
// is: kind and version, metadata, the kind's own check; only a document without a problem is
// brought into the form that is stored.
#include "schedd/shapes/config/queue_objects.h"

#include <algorithm>
#include <charconv>

#include "schedd/base/names.h"
#include "schedd/shapes/config/object_readers.h"
#include "schedd/shapes/parts/canonical.h"
#include "schedd/shapes/parts/metadata.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

// A kind of these groups that is unknown here is one that exists elsewhere.
constexpr std::string_view kOwnGroups[] = {kKueueGroup, kClusterGroup, kPlacementGroup};

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

// The part of the metadata that is the same for every kind.
void ReadMetadata(const Field& root, const KindInfo& info, ParsedObject* object) {
  const Field metadata = root["metadata"];
  if (!metadata.Require() || metadata.Object() == nullptr) return;
  CheckMetadataMembers(metadata);
  metadata["generateName"].Refuse("is for jobs; an object of this kind is named");
  object->name = ReadObjectName(metadata, info.path_names);
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
  info->check(root);
  if (!problems.empty()) return problems.ToError();
  object.manifest = WithoutServerFields(document);
  if (info->normalise != nullptr) info->normalise(object.manifest.get_object());
  CanonicaliseQuantities(&object.manifest);
  return object;
}

Status ApplyTo(ConfigView* config, ObjectKind kind, const json::value& manifest) {
  const KindInfo& info = InfoOf(kind);
  if (info.put == nullptr) return Done{};
  return info.put(manifest, config);
}

void RemoveFrom(ConfigView* config, ObjectKind kind, const std::string& ns,
                const std::string& name) {
  const KindInfo& info = InfoOf(kind);
  if (info.remove != nullptr) info.remove(config, ns, name);
}

}  // namespace muster::shapes
