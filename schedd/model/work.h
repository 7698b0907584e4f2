// Work: what one placement has on one member, and ResourceSnapshot: what it selected at one moment
// (rules P20, P23, P26). One row each; KubeFleet's binding and Work together. Plain values.
//
// The rows are written before anything is done on the member, so that what may be there because of
// a placement is always known.
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

/// What became of one manifest on one member, with KubeFleet's names. Values are stored: never
/// renumber.
enum class ManifestResult : std::uint8_t {
  kPending = 1,  // not tried yet, or the member did not answer
  kApplied = 2,
  kApplyFailed = 3,       // ManifestApplyFailed
  kFailedToTakeOver = 4,  // it was there before, and differs (IfNoDiff)
  kNotTakenOver = 5,      // it was there before (Never), or another placement owns it
  kFoundDrifts = 6,       // IfNotDrifted: somebody else has changed it
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
  kNotTrackable = 4,  // its kind does not tell
};

/// One place where an object is not as its manifest says. nullopt: absent there. Values are JSON
/// text, or the bare text of a string; of a Secret "(redacted)".
struct Difference {
  std::string path;  // JSON pointer; "/" is the whole object
  std::optional<std::string> in_member, in_hub;
  bool operator==(const Difference&) const = default;
};

struct ManifestStatus {
  ResourceRef ref;
  std::string envelope;  // that it came in, "Kind/name"; "": none
  ManifestResult result = ManifestResult::kPending;
  std::string message;          // a sentence, unless it is well
  std::string applied;          // hash of the manifest as it was applied last; "": it never was
  std::string remote_uid;       // of the object that we own there; "": none
  std::int64_t generation = 0;  // of that object when it was looked at
  ManifestAvailability availability = ManifestAvailability::kUnknown;
  WallTime since;  // of `result`
  /// Drifts (written by others after it was applied) or, where it was never ours, diffs.
  std::vector<Difference> differences;
  WallTime observed_at, first_differed_at;  // of `differences`
  bool operator==(const ManifestStatus&) const = default;
};

/// Values are stored: never renumber.
enum class WorkState : std::uint8_t {
  kScheduled = 1,  // the member is picked; the rollout has not come to it
  kBound = 2,      // it is told to have `snapshot`
  kLeaving = 3,    // its objects are being removed, or left behind; then the row goes
};

using WorkKey = std::tuple<std::string, std::string, std::string>;  // namespace, placement, member

struct Work {
  std::string ns;  // of the placement; "": a ClusterResourcePlacement
  std::string placement;
  std::string cluster;
  WorkState state = WorkState::kScheduled;
  std::int32_t snapshot = -1;  // index of the ResourceSnapshot that the member is to have
  /// Overrides by which the manifests were made, "Kind/name"; and a hash of what they made of them.
  std::vector<std::string> overrides;
  std::string rendered;
  std::string override_error;  // why they could not be: nothing is applied then
  std::int32_t affinity_score = 0, spread_score = 0;
  std::string policy;    // hash of the policy that picked the member: a changed one is asked anew
  bool abandon = false;  // of kLeaving: objects stay on the member, no longer ours
  std::string waits;     // why the rollout or the member holds it up; "": nothing does
  /// All that may be on the member because of it, in the order in which it is applied. What the
  /// snapshot does not have (any more) is removed first.
  std::vector<ManifestStatus> manifests;
  /// Picked (of kLeaving: unset if an eviction took it away, so that the member is picked anew only
  /// when the row is gone); told of `snapshot`; all applied.
  WallTime scheduled_at, bound_at, synced_at;
  bool operator==(const Work&) const = default;
};
using WorkPtr = std::shared_ptr<const Work>;
inline WorkKey KeyOf(const Work& work) { return {work.ns, work.placement, work.cluster}; }

/// One object as it was selected: without status, uid, resourceVersion and the like.
struct SelectedResource {
  ResourceRef ref;
  std::string envelope;  // that it came in, "Kind/name"; "": none
  std::string manifest;  // JSON text
  bool operator==(const SelectedResource&) const = default;
};

using SnapshotKey = std::tuple<std::string, std::string, std::int32_t>;  // ns, placement, index

struct ResourceSnapshot {
  std::string ns, placement;
  std::int32_t index = 0;  // grows with every change of what is selected
  std::string hash;        // of the manifests
  WallTime created_at;
  std::vector<SelectedResource> resources;  // in the order in which they are applied
  bool operator==(const ResourceSnapshot&) const = default;
};
using SnapshotPtr = std::shared_ptr<const ResourceSnapshot>;
inline SnapshotKey KeyOf(const ResourceSnapshot& snapshot) {
  return {snapshot.ns, snapshot.placement, snapshot.index};
}

/// Both, as one version. Copies share what they have in common.
struct WorkTable {
  SharedMap<WorkKey, WorkPtr> works;
  SharedMap<SnapshotKey, SnapshotPtr> snapshots;
};

}  // namespace muster
