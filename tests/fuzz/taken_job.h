// What is done with a job that was taken: what may be said against it, and what a member would get.
#pragma once

#include "schedd/shapes/kinds/containers.h"
#include "schedd/shapes/kinds/job_change.h"
#include "schedd/shapes/kinds/shape.h"
#include "schedd/shapes/parts/manifest_warnings.h"
#include "schedd/shapes/parts/template_places.h"
#include "schedd/shapes/security/identity.h"
#include "schedd/shapes/security/pod_security.h"
#include "schedd/text/json.h"
#include "tests/fuzz/fuzz.h"

namespace muster::fuzz {

/// True if every pod template of the job is of this level of Kubernetes' Pod Security Standards.
inline bool IsOfLevel(const shapes::ParsedJob& job, PodSecurityLevel level) {
  shapes::Problems problems;
  shapes::VisitPodTemplates(shapes::Field(job.manifest, &problems), ShapeKindName(job.shape),
                            [level](const shapes::Field& pod_template) {
    shapes::CheckPodSecurity({level}, shapes::FieldsOfTemplate(pod_template));
  });
  return problems.empty();
}

/// The job as the engine has it once it is admitted, without flavors.
inline JobRecord AdmittedRecord(const shapes::ParsedJob& parsed) {
  JobRecord job;
  job.id = {1};
  job.name = parsed.name.empty() ? "job-1" : parsed.name;
  job.display_name = parsed.display_name;
  job.ns = "team";
  job.user = "ada";
  job.shape = parsed.shape;
  job.local_queue = "main";
  job.cluster_queue = "team";
  job.cluster = "east";
  job.attempt = 1;
  job.time_limit_s = parsed.time_limit_s;
  job.batch = parsed.batch;
  job.batch_state = parsed.batch_state;
  job.pod_sets = std::make_shared<const PodSets>(parsed.pod_sets);
  Admission admission;
  for (const PodSet& pod_set : parsed.pod_sets)
    admission.pod_sets.push_back({pod_set.name, pod_set.count, {}, {}});
  job.admission = std::make_shared<const Admission>(std::move(admission));
  AdmissionState state;
  state.admission_gated_by = parsed.admission_gated_by;
  job.admission_state = std::make_shared<const AdmissionState>(std::move(state));
  return job;
}

/// The job with the answer of an admission check that adds a label to the pods of its first pod
/// set.
inline JobRecord WithAddedLabel(JobRecord job) {
  AdmissionCheckStatus check;
  check.name = "fuzz";
  check.updates.push_back({job.pod_sets->front().name, {{"fuzz", "added"}}, {}, {}, {}});
  AdmissionState state = *job.admission_state;
  state.checks.push_back(std::move(check));
  job.admission_state = std::make_shared<const AdmissionState>(std::move(state));
  return job;
}

/// Whatever was taken can be judged, and rendered for a member under the name by which the
/// dispatcher looks for it, with what an admission check adds.
inline void UseTaken(const shapes::ParsedJob& parsed) {
  static_cast<void>(shapes::WarningsOf(parsed.manifest));
  shapes::Problems problems;
  shapes::CheckIdentity(shapes::Field(parsed.manifest, &problems), ShapeKindName(parsed.shape),
                        {"team", NamespaceTenancy{}});
  Require(!IsOfLevel(parsed, PodSecurityLevel::kRestricted) ||
              IsOfLevel(parsed, PodSecurityLevel::kBaseline),
          "what is restricted is baseline");

  const JobRecord job = AdmittedRecord(parsed);
  static_cast<void>(shapes::ReferencedObjects(job, parsed.manifest));
  static_cast<void>(shapes::ContainersOf(job, parsed.manifest));
  const auto change = shapes::ChangeOf(job, parsed.manifest, parsed);
  Require(change.ok() && change->empty(), "a manifest does not differ from itself");
  for (const bool suspended : {false, true}) {
    const auto rendered =
        shapes::Render(job, parsed.manifest, ConfigView{}, {"fuzz", suspended, "image:1"});
    Require(rendered.ok(), "a job that was taken can be rendered");
    const shapes::RenderedObject& object = rendered->object;
    Require(shapes::RemoteObjectOf(job) ==
                RemoteObject{object.api_version, object.kind, object.ns, object.name},
            "a job is rendered under the name that the dispatcher looks for");
  }
  if (parsed.pod_sets.empty()) return;
  // Not rendered where the manifest has that label with another value.
  const auto added = shapes::Render(WithAddedLabel(job), parsed.manifest, ConfigView{},
                                    {"fuzz", false, "image:1"});
  Require(!added.ok() ||
              WriteJson(added->object.manifest).find(R"("fuzz":"added")") != std::string::npos,
          "what a check adds is in what a member gets");
}

}  // namespace muster::fuzz
