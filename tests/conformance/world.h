// World: the API objects of a case as the values that decisions are taken on. Read with the
// daemon's own readers, leniently: case objects are not defaulted or validated, so problems are
// dropped and what could be read counts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedd/model/config.h"
#include "schedd/model/job.h"
#include "schedd/shapes/parts/pod_amounts.h"
#include "tests/conformance/case.h"

namespace muster::conformance {

/// A pod that admission did not place.
struct Pod {
  std::string ns, name, node;
  bool ended = false;  // Succeeded or Failed: holds nothing
  LabelMap labels;
  ResourceList requests;
};

struct World {
  WallTime now;
  AdmissionSettings settings;
  ConfigView config;            // no member clusters: everything that has quota fits
  std::vector<JobRecord> jobs;  // inputs.objects.workloads in their order, ids 1, 2, ...
  std::vector<Node> nodes;      // by name; used_by_others counts `pods`
  std::vector<Pod> pods;

  /// Null if there is none. `key` is namespace/name.
  const JobRecord* Find(std::string_view key) const;
};

/// settings of the case on top of Kueue's defaults.
AdmissionSettings LoadSettings(const Case& test);
World LoadWorld(const Case& test);

/// One Workload object. Its ClusterQueue is that of its reservation, else the one that its
/// LocalQueue points to, else "". `admission` is set only with condition QuotaReserved.
JobRecord LoadJob(const json::value& workload, const World& world, JobId id);

/// What the pod templates of a workload ask for, one entry per pod set.
std::vector<shapes::PodAmounts> LoadPods(const json::value& workload);

/// An admission object as it stands in a workload's status; null for null.
AdmissionPtr LoadAdmission(const json::value& admission);

/// A duration as Go writes it: "10s", "1h0m0s", "500ms" (rounded down to seconds).
std::int64_t SecondsOf(const std::string& text);
/// Amounts by resource: {"cpu": "500m"}.
ResourceList LoadAmounts(const json::value& map);

/// "namespace/name" of a workload.
std::string KeyOf(const JobRecord& job);

/// Uids of cases are free text ("wl-uid"); a Uid that sorts as the text does stands for it.
Uid UidOf(const std::string& text);
/// The text again (the first 16 bytes of it); "" for none.
std::string TextOf(Uid uid);
/// metadata.labels[kueue.x-k8s.io/job-uid] of a workload object.
std::string JobUidOf(const json::value& workload);

}  // namespace muster::conformance
