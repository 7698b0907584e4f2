#include "api/service/unserved.h"

#include "schedd/shapes/field.h"

namespace muster::api {
namespace {

constexpr std::string_view kChecks =
    "admission checks are not supported by this version: no controller could answer them";
constexpr std::string_view kUsageBased = "admission fair sharing is not supported by this version";

}  // namespace

Status CheckServed(const shapes::ParsedObject& object) {
  shapes::Problems problems;
  const shapes::Field root(object.manifest, &problems);
  const shapes::Field spec = root["spec"];
  switch (object.kind) {
    case ObjectKind::kClusterQueue:
      spec["admissionChecks"].Refuse(kChecks);
      spec["admissionChecksStrategy"].Refuse(kChecks);
      spec["admissionScope"].Refuse(kUsageBased);
      spec["concurrentAdmissionPolicy"].Refuse(
          "concurrent admission is not supported by this version");
      break;
    case ObjectKind::kLocalQueue:
      spec["fairSharing"].Refuse(kUsageBased);
      break;
    case ObjectKind::kAdmissionCheck:
      root["kind"].Refuse(kChecks);
      break;
    default:
      break;
  }
  if (!problems.empty()) return problems.ToError();
  return Done{};
}

Status CheckServed(const shapes::ParsedJob& job) {
  if (!job.admission_gated_by.empty()) {
    return InvalidField("metadata.annotations[kueue.x-k8s.io/admission-gated-by]",
                        "admission gates are not supported by this version: submit the job held");
  }
  if (!job.preemption_gates.empty()) {
    return InvalidField("spec.preemptionGates",
                        "preemption gates are not supported by this version");
  }
  return Done{};
}

}  // namespace muster::api
