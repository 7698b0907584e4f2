// The kinds of jobs, with the names that every part of Muster knows them by: one line per kind. How
// a kind is read and rendered is in schedd/shapes/kinds, how a member reports it in backends.
//
// Constants and pure functions; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace muster {

/// The kinds of jobs that Muster accepts. Values are stored: never renumber.
enum class ShapeKind : std::uint8_t {
  kJob = 1,
  kJobSet = 2,
  kRayJob = 3,
  kRayCluster = 4,
  kPyTorchJob = 5,
  kLeaderWorkerSet = 6,
  kBatchScript = 7,
  kWorkload = 8,
};

/// The names of one kind.
struct ShapeInfo {
  ShapeKind kind = {};
  std::string_view name;                // "Job"
  std::string_view api_version;         // "batch/v1"; the oldest where several are served
  std::string_view newer_version = {};  // the api_version of a second served version; "" if none
  /// "jobs", as in paths; "" if the Kubernetes API has no path to it.
  std::string_view plural = {};
  /// True if its `spec.suspend` says whether it waits.
  bool suspend_in_spec = false;
  /// The short names that discovery tells kubectl; "" where there are fewer.
  std::array<std::string_view, 3> short_names = {};

  /// "batch".
  constexpr std::string_view group() const { return api_version.substr(0, api_version.find('/')); }
  /// The plural that roles name: also of batch scripts, which have no path.
  constexpr std::string_view resource() const {
    return plural.empty() ? std::string_view("batchscripts") : plural;
  }
};

/// Every kind, in the order of discovery.
inline constexpr ShapeInfo kShapeInfos[] = {
    {ShapeKind::kJob, "Job", "batch/v1", "", "jobs", true},
    {ShapeKind::kRayJob, "RayJob", "ray.io/v1", "", "rayjobs", true},
    {ShapeKind::kRayCluster, "RayCluster", "ray.io/v1", "", "rayclusters", true, {"raycluster"}},
    {ShapeKind::kPyTorchJob, "PyTorchJob", "kubeflow.org/v1", "", "pytorchjobs"},
    {ShapeKind::kJobSet, "JobSet", "jobset.x-k8s.io/v1alpha2", "", "jobsets", true},
    {ShapeKind::kLeaderWorkerSet,
     "LeaderWorkerSet",
     "leaderworkerset.x-k8s.io/v1",
     "",
     "leaderworkersets",
     false,
     {"lws"}},
    {ShapeKind::kBatchScript, "BatchScript", "muster.io/v1"},
    {ShapeKind::kWorkload,
     "Workload",
     "kueue.x-k8s.io/v1beta1",
     "kueue.x-k8s.io/v1beta2",
     "workloads",
     false,
     {"wl", "kueueworkload", "kueueworkloads"}},
};

/// What is returned for a number that is no kind: all its names are "".
inline constexpr ShapeInfo kNoShapeInfo = {};

constexpr const ShapeInfo& ShapeInfoOf(ShapeKind kind) {
  for (const ShapeInfo& info : kShapeInfos) {
    if (info.kind == kind) return info;
  }
  return kNoShapeInfo;
}

/// "Job", "RayJob", ...; a batch script's is "BatchScript".
constexpr std::string_view ShapeKindName(ShapeKind kind) { return ShapeInfoOf(kind).name; }

}  // namespace muster
