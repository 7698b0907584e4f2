// Work: the configuration objects that one placement has on one member. ResourceSnapshot: the
// objects that it selected at one moment (rules P20, P23, P26). One row each; a Work is KubeFleet's
// binding and Work together. Plain values.
//
// A row is written before anything is done on the member, so that it is always known which objects
// may be there because of a placement.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "schedd/base/shared_map.h"
#include "schedd/base/time.h"
#include "schedd/model/resource_ref.h"

namespace muster {

/// The result for one manifest on one member, with KubeFleet's names. Values are stored: never
/// renumber.
enum class ManifestResult : std::uint8_t {
  kPending = 1,  // not tried yet, or the member did not answer
  kApplied = 2,
  kApplyFailed = 3,       // ManifestApplyFailed
  kFailedToTakeOver = 4,  // the object existed before, and differs (IfNoDiff)
  kNotTakenOver = 5,      // the object existed before (Never), or another placement owns it
  kFoundDrifts = 6,       // IfNotDrifted: another author has changed the object
  kFoundDriftsInDegradedMode = 7,
  kFoundDiff = 8,  // ReportDiff
  kFoundDiffInDegradedMode = 9,
  kNoDiffFound = 10,
  kFailedToReportDiff = 11,
};
/// "Applied", "ManifestApplyFailed", ...
std::string_view ManifestResultName(ManifestResult result);

enum class ManifestAvailability : std::uint8_t {
  kUnknown = 1,
  kAvailable = 2,
  kNotYet = 3,        // ManifestNotAvailableYet
  kNotTrackable = 4,  // objects of this kind do not say whether they are available
};

/// One place where an object differs from its manifest. nullopt: absent there. Values are JSON
/// text, or the bare text of a string; "(redacted)" for a Secret.
struct Difference {
  /// JSON pointer; "/" is the whole object.
  std::string path;
  std::optional<std::string> in_member, in_hub;
  bool operator==(const Difference&) const = default;
};

/// One object of a Work.
struct ManifestStatus {
  ResourceRef ref;
  /// The envelope that holds it, "Kind/name"; "": none.
  std::string envelope;
  ManifestResult result = ManifestResult::kPending;
  /// A sentence, unless the object is well.
  std::string message;
  /// Hash of the manifest that was applied last; "": none was.
  std::string applied;
  /// Of the object there if it is ours; "": none.
  std::string remote_uid;
  /// Of that object when it was looked at last.
  std::int64_t generation = 0;
  ManifestAvailability availability = ManifestAvailability::kUnknown;
  /// Since when it has this result.
  WallTime since;
  /// Drifts (changes by other authors after it was applied) or, if the object was never ours,
  /// diffs.
  std::vector<Difference> differences;
  /// Of `differences`.
  WallTime observed_at, first_differed_at;
  bool operator==(const ManifestStatus&) const = default;
};

/// Values are stored: never renumber.
enum class WorkState : std::uint8_t {
  kScheduled = 1,  // the member is picked; the rollout has not come to it
  kBound = 2,      // the member should have `snapshot`
  kLeaving = 3,    // its objects are being removed, or left behind; then the row ends
};

/// Namespace, placement, member.
using WorkKey = std::tuple<std::string, std::string, std::string>;

struct Work {
  /// Of the placement; "": a ClusterResourcePlacement.
  std::string ns;
  std::string placement;
  std::string cluster;
  WorkState state = WorkState::kScheduled;
  /// Index of the ResourceSnapshot that the member should have.
  std::int32_t snapshot = -1;
  /// Overrides that were applied to the manifests, "Kind/name"; and a hash of the result.
  std::vector<std::string> overrides;
  std::string rendered;
  /// Why they could not be applied; then nothing is applied on the member.
  std::string override_error;
  std::int32_t affinity_score = 0, spread_score = 0;
  /// Hash of the policy that picked the member; a changed policy picks anew.
  std::string policy;
  /// Of kLeaving: objects stay on the member, no longer ours.
  bool abandon = false;
  /// What holds up the row, in the rollout or on the member; "": nothing.
  std::string waits;
  /// All objects that may be on the member because of this row, in the order in which they are
  /// applied. Those that the snapshot does not have (any more) are removed first.
  std::vector<ManifestStatus> manifests;
  /// When the member was picked (of kLeaving: unset if an eviction ended the pick, so that the
  /// member is picked anew only when the row is gone), when the row was bound to `snapshot`, and
  /// when all objects were applied.
  WallTime scheduled_at, bound_at, synced_at;
  bool operator==(const Work&) const = default;
};
using WorkPtr = std::shared_ptr<const Work>;
inline WorkKey KeyOf(const Work& work) { return {work.ns, work.placement, work.cluster}; }

/// One selected object: without status, uid, resourceVersion and the like.
struct SelectedResource {
  ResourceRef ref;
  /// The envelope that holds it, "Kind/name"; "": none.
  std::string envelope;
  std::string manifest;  // JSON text
  bool operator==(const SelectedResource&) const = default;
};

/// Namespace, placement, index.
using SnapshotKey = std::tuple<std::string, std::string, std::int32_t>;

struct ResourceSnapshot {
  std::string ns, placement;
  /// Grows with every change of the selection.
  std::int32_t index = 0;
  /// Of the manifests.
  std::string hash;
  WallTime created_at;
  /// In the order in which they are applied.
  std::vector<SelectedResource> resources;
  bool operator==(const ResourceSnapshot&) const = default;
};
using SnapshotPtr = std::shared_ptr<const ResourceSnapshot>;
inline SnapshotKey KeyOf(const ResourceSnapshot& snapshot) {
  return {snapshot.ns, snapshot.placement, snapshot.index};
}

/// All works and snapshots, as one version. Copies share their common entries.
struct WorkTable {
  SharedMap<WorkKey, WorkPtr> works;
  SharedMap<SnapshotKey, SnapshotPtr> snapshots;
};

}  // namespace muster
