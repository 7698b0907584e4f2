// The marks by which Muster knows whose a configuration object on a member is, and the parts of a
// manifest that are applied. The marks are on the object itself, so that even a store that has lost
// writes can neither take nor remove an object of others.
//
// Pure functions; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "schedd/model/resource_ref.h"
#include "schedd/text/json.h"

namespace muster::k8s {

/// "true" on every object of ours; reflectors select by it.
inline constexpr std::string_view kPropagatedLabel = "muster.io/propagated";
/// The OwnerMark of the placement.
inline constexpr std::string_view kPlacementAnnotation = "muster.io/placement";
/// ObjectOrder::hash of the manifest that was applied last, and the text of that manifest, where a
/// later comparison needs it.
inline constexpr std::string_view kManifestHashAnnotation = "muster.io/manifest-hash";
inline constexpr std::string_view kLastAppliedAnnotation = "muster.io/last-applied";
/// "true" if Muster created the object.
inline constexpr std::string_view kCreatedAnnotation = "muster.io/created";

/// Labels and annotations with this prefix are Muster's own and are never compared.
inline constexpr std::string_view kMarkPrefix = "muster.io/";

struct ObjectMarks {
  /// "": the object has no mark of a placement.
  std::string owner;
  std::string hash, last_applied;
  bool created = false;
  bool labelled = false;
};

/// "group/version", or "v1" of the core group.
std::string ApiVersionOf(const ResourceRef& ref);

/// The value of kPlacementAnnotation: installation and placement ("ns/name" or "/name").
std::string OwnerMark(std::string_view instance, std::string_view placement);
/// The owner for a user's eyes: "ResourcePlacement ns/name", "ClusterResourcePlacement name", or "a
/// placement of another Muster (MARK)".
std::string MentionOwner(std::string_view instance, std::string_view mark);

ObjectMarks ReadMarks(const json::object& object);
/// Adds the marks to a manifest. Marks that are "" or false are left out.
void PutMarks(const ObjectMarks& marks, json::object* manifest);
/// A merge patch that removes all marks from the object as it is in `resource_version`.
std::string UnmarkPatch(std::string_view resource_version);

/// True for objects, ConfigMaps and Secrets of Muster's jobs.
bool BelongsToJobs(const json::object& object);

/// True if the object has ownerReferences.
bool IsOwned(const json::object& object);
/// True if an AppliedWork of KubeFleet owns the object.
bool IsOfKubeFleet(const json::object& object);
/// Bytes of the object's annotations that are not Muster's, keys and values.
std::size_t AnnotationBytes(const json::object& object);

/// The manifest as it is applied to `ref`: its apiVersion, kind and name; of metadata the labels
/// and annotations that are not Muster's; no status; no null members; a Secret's stringData as
/// data.
json::object CleanManifest(const ResourceRef& ref, json::object manifest);

}  // namespace muster::k8s
