// Each check is a combination that a cycle could decide but that has no controller behind it yet.
// The fields themselves are valid, so the parsers of schedd/shapes accept them.
#include "api/service/unserved.h"

#include <algorithm>

#include "schedd/shapes/parts/field.h"

namespace muster::api {
namespace {

constexpr const char* kElastic = "metadata.annotations[kueue.x-k8s.io/elastic-job]";

}  // namespace

Status CheckServed(const shapes::ParsedObject& object) {
  shapes::Problems problems;
  const shapes::Field root(object.manifest, &problems);
  const shapes::Field spec = root["spec"];
  switch (object.kind) {
    case ObjectKind::kClusterQueue:
      if (spec["admissionChecks"].present() || spec["admissionChecksStrategy"].present()) {
        spec["concurrentAdmissionPolicy"].Refuse(
            "concurrent admission together with admission checks is not supported by this version");
      }
      break;
    default:
      break;
  }
  if (!problems.empty()) return problems.ToError();
  return Done{};
}

Status CheckServed(const shapes::ParsedJob& job, const AdmissionSettings& settings,
                   const ClusterQueue* queue) {
  const bool elastic = job.elastic && settings.elastic_jobs;
  const bool placed = std::any_of(job.pod_sets.begin(), job.pod_sets.end(),
                                  [](const PodSet& pods) { return pods.topology != nullptr; });
  if (elastic && placed) {
    return InvalidField(kElastic,
                        "elastic jobs that ask for a topology are not supported by this version");
  }
  if (elastic && settings.concurrent_admission && queue != nullptr && queue->concurrent_admission) {
    return InvalidField(kElastic,
                        "elastic jobs in a ClusterQueue with concurrentAdmissionPolicy "
                        "are not supported by this version");
  }
  if (!job.preemption_gates.empty()) {
    return InvalidField("spec.preemptionGates",
                        "preemption gates are not supported by this version");
  }
  return Done{};
}

}  // namespace muster::api
