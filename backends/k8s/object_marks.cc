// Marks on configuration objects: `muster.io/placement` (installation and placement) and the label
// `muster.io/propagated` on every object of ours; `muster.io/manifest-hash`,
// `muster.io/last-applied` and `muster.io/created` for later comparisons and the removal.
#include "backends/k8s/object_marks.h"

#include <utility>
#include <vector>

#include "backends/k8s/status/reader.h"
#include "schedd/model/member_labels.h"
#include "schedd/text/base64.h"
#include "schedd/text/lenient.h"

namespace muster::k8s {
namespace {

constexpr std::string_view kMarkAnnotations[] = {kPlacementAnnotation, kManifestHashAnnotation,
                                                 kLastAppliedAnnotation, kCreatedAnnotation};

// Removes null members at any depth: an API server takes a null as "not given".
void DropNulls(json::value* value) {
  if (json::object* object = value->if_object()) {
    std::vector<std::string> nulls;
    for (auto& [key, one] : *object) {
      if (one.is_null()) {
        nulls.emplace_back(key);
      } else {
        DropNulls(&one);
      }
    }
    for (const std::string& key : nulls) object->erase(key);
  } else if (json::array* array = value->if_array()) {
    for (json::value& one : *array) DropNulls(&one);
  }
}

// Turns a Secret's stringData into data, as the API server does. Server-side apply removes a field
// that a manifest no longer has only if it was applied under the same name.
void TakeStringData(json::object* secret) {
  const json::object* given = Reader(*secret)["stringData"].Object();
  if (given == nullptr) return;
  const json::object texts = *given;
  secret->erase("stringData");
  json::object& data = MakeObjectAt(*secret, "data");
  for (const auto& [key, text] : texts) {
    if (text.is_string()) data[key] = EncodeBase64(text.get_string());
  }
}

// The labels or annotations of a manifest that are not Muster's own.
json::object ForeignKeys(const json::object& metadata, std::string_view which) {
  json::object kept;
  if (const json::object* all = Reader(metadata)[which].Object()) {
    for (const auto& [key, value] : *all) {
      if (!std::string_view(key).starts_with(kMarkPrefix)) kept[key] = value;
    }
  }
  return kept;
}

}  // namespace

std::string ApiVersionOf(const ResourceRef& ref) {
  return ref.group.empty() ? ref.version : ref.group + "/" + ref.version;
}

// The installation comes first, so that MentionOwner can tell our marks from those of another
// Muster.
std::string OwnerMark(std::string_view instance, std::string_view placement) {
  return std::string(instance) + "/" + std::string(placement);
}

std::string MentionOwner(std::string_view instance, std::string_view mark) {
  const std::string ours = std::string(instance) + "/";
  if (!mark.starts_with(ours))
    return "a placement of another Muster (" + CleanText(mark, kNameBytes) + ")";
  const std::string placement = CleanText(mark.substr(ours.size()), kMessageBytes);
  if (placement.starts_with('/')) return "ClusterResourcePlacement " + placement.substr(1);
  return "ResourcePlacement " + placement;
}

ObjectMarks ReadMarks(const json::object& object) {
  const Reader metadata = Reader(object)["metadata"];
  const Reader annotations = metadata["annotations"];
  ObjectMarks marks;
  marks.owner = annotations[kPlacementAnnotation].View();
  marks.hash = annotations[kManifestHashAnnotation].View();
  marks.last_applied = annotations[kLastAppliedAnnotation].View();
  marks.created = annotations[kCreatedAnnotation].View() == "true";
  marks.labelled = metadata["labels"][kPropagatedLabel].View() == "true";
  return marks;
}

void PutMarks(const ObjectMarks& marks, json::object* manifest) {
  json::object& metadata = MakeObjectAt(*manifest, "metadata");
  json::object& annotations = MakeObjectAt(metadata, "annotations");
  if (!marks.owner.empty()) annotations[kPlacementAnnotation] = marks.owner;
  if (!marks.hash.empty()) annotations[kManifestHashAnnotation] = marks.hash;
  if (!marks.last_applied.empty()) annotations[kLastAppliedAnnotation] = marks.last_applied;
  if (marks.created) annotations[kCreatedAnnotation] = "true";
  if (marks.labelled) MakeObjectAt(metadata, "labels")[kPropagatedLabel] = "true";
}

// RFC 7386: a null removes the member.
std::string UnmarkPatch(std::string_view resource_version) {
  json::object annotations;
  for (const std::string_view mark : kMarkAnnotations) annotations[mark] = nullptr;
  return WriteJson(json::object{{"metadata",
                                 {{"resourceVersion", resource_version},
                                  {"labels", {{kPropagatedLabel, nullptr}}},
                                  {"annotations", std::move(annotations)}}}});
}

// By labels, or by the finalizer, which only objects of attempts have.
bool BelongsToJobs(const json::object& object) {
  const Reader metadata = Reader(object)["metadata"];
  const Reader labels = metadata["labels"];
  // A Namespace that was created for a job has the label too; it does not belong to the job.
  const bool made_for_jobs = labels[kInstanceLabel].present() &&
                             Reader(object)["kind"].View() != std::string_view("Namespace");
  if (made_for_jobs || labels[kJobUidLabel].present()) return true;
  bool recorded = false;
  metadata["finalizers"].Each(
      [&](const Reader& one) { recorded = recorded || one.View() == kRecordFinalizer; });
  return recorded;
}

bool IsOwned(const json::object& object) {
  const json::array* owners = Reader(object)["metadata"]["ownerReferences"].Array();
  return owners != nullptr && !owners->empty();
}

bool IsOfKubeFleet(const json::object& object) {
  bool is = false;
  Reader(object)["metadata"]["ownerReferences"].Each([&](const Reader& owner) {
    is = is || (owner["kind"].View() == "AppliedWork" &&
                owner["apiVersion"].View().starts_with("placement.kubernetes-fleet.io/"));
  });
  return is;
}

std::size_t AnnotationBytes(const json::object& object) {
  const json::object* all = Reader(object)["metadata"]["annotations"].Object();
  if (all == nullptr) return 0;
  std::size_t bytes = 0;
  for (const auto& [key, value] : *all) {
    if (!std::string_view(key).starts_with(kMarkPrefix))
      bytes += key.size() + Reader(&value).View().size();
  }
  return bytes;
}

json::object CleanManifest(const ResourceRef& ref, json::object manifest) {
  json::object metadata{{"name", ref.name}};
  if (!ref.ns.empty()) metadata["namespace"] = ref.ns;
  if (const json::object* given = Reader(manifest)["metadata"].Object()) {
    for (const char* which : {"labels", "annotations"}) {
      json::object kept = ForeignKeys(*given, which);
      if (!kept.empty()) metadata[which] = std::move(kept);
    }
  }
  json::value clean = json::object{{"apiVersion", ApiVersionOf(ref)}, {"kind", ref.kind}};
  clean.get_object()["metadata"] = std::move(metadata);
  for (auto& [key, value] : manifest) {
    if (key != "apiVersion" && key != "kind" && key != "metadata" && key != "status")
      clean.get_object()[key] = std::move(value);
  }
  DropNulls(&clean);
  if (ref.group.empty() && ref.kind == "Secret") TakeStringData(&clean.get_object());
  return std::move(clean.get_object());
}

}  // namespace muster::k8s
