// Whose a configuration object on a member is, and what of a manifest is applied there (README.md,
// "Configuration objects"). The marks lie on the object itself, so that a store that has lost
// writes can neither take nor remove what belongs to somebody else.
//
// Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "schedd/model/resource_ref.h"
#include "schedd/text/json.h"

namespace muster::k8s {

/// "true" on every object of ours: what is followed.
inline constexpr std::string_view kPropagatedLabel = "muster.io/propagated";
/// OwnerMark of the placement.
inline constexpr std::string_view kPlacementAnnotation = "muster.io/placement";
/// ObjectOrder::hash of what was applied last, and its text where it is needed again.
inline constexpr std::string_view kManifestHashAnnotation = "muster.io/manifest-hash";
inline constexpr std::string_view kLastAppliedAnnotation = "muster.io/last-applied";
/// "true" where the object did not exist before.
inline constexpr std::string_view kCreatedAnnotation = "muster.io/created";

/// Keys that begin with it are Muster's own: never compared.
inline constexpr std::string_view kMarkPrefix = "muster.io/";

struct ObjectMarks {
  std::string owner;  // "": no placement's
  std::string hash, last_applied;
  bool created = false;
  bool labelled = false;
};

/// "group/version", or "v1" of the core group.
std::string ApiVersionOf(const ResourceRef& ref);

/// kPlacementAnnotation of a placement ("ns/name" or "/name") of an installation.
std::string OwnerMark(std::string_view instance, std::string_view placement);
/// "ResourcePlacement ns/name", "ClusterResourcePlacement name"; of another installation's mark
/// "a placement of another Muster (MARK)".
std::string MentionOwner(std::string_view instance, std::string_view mark);

ObjectMarks ReadMarks(const json::object& object);
/// Adds the marks to a manifest; those that are "" or false are left out.
void PutMarks(const ObjectMarks& marks, json::object* manifest);
/// A merge patch that takes them all off the object as it is in `resource_version`.
std::string UnmarkPatch(std::string_view resource_version);

/// True of what Muster's jobs have on a member: their objects, ConfigMaps and Secrets.
bool BelongsToJobs(const json::object& object);

/// The manifest as it is applied to `ref`: its apiVersion, kind and name, of metadata labels and
/// annotations without Muster's own, no status, and no member that is null; a Secret's stringData
/// as data.
json::object CleanManifest(const ResourceRef& ref, json::object manifest);

}  // namespace muster::k8s
