// batch/v1 Job: one pod set `main` of min(parallelism, completions) pods (kueue.md 6).
#include "schedd/shapes/job_spec.h"
#include "schedd/shapes/metadata.h"
#include "schedd/shapes/shape_ops.h"

namespace muster::shapes {
namespace {

void Parse(const Field& root, ParsedJob* job) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "spec", "status"});
  ReadJobMetadata(root, {.max_bytes = 63}, job);
  const Field spec = root["spec"];
  if (!spec.Require() || spec.Object() == nullptr) return;
  const JobSpecFacts facts = ReadJobSpec(spec, {.job_name = job->name});
  CheckManagedBy(spec["managedBy"], "kubernetes.io/job-controller");
  job->pod_sets.push_back(ReadPodSet(spec["template"], "main", facts.pods,
                                     {.restart = RestartRule::kNeverOrOnFailure}));
  if (facts.active_deadline_s > 0 &&
      (job->time_limit_s == 0 || facts.active_deadline_s < job->time_limit_s)) {
    job->time_limit_s = facts.active_deadline_s;
  }
  job->ttl_after_finished_s = spec["ttlSecondsAfterFinished"].Int(0, INT32_MAX).value_or(-1);
  CheckPodSets(spec, job->pod_sets);
}

void VisitTemplates(json::object& manifest, const TemplateVisitor& visit) {
  visit("main", ObjectAt(ObjectAt(manifest, "spec"), "template"));
}

void Prepare(json::object& manifest, const RenderContext& context, std::vector<RenderedObject>*) {
  auto& spec = ObjectAt(manifest, "spec");
  CleanJobSpec(spec);
  spec["suspend"] = context.suspended;
  if (context.job.time_limit_s > 0) spec["activeDeadlineSeconds"] = context.job.time_limit_s;
}

}  // namespace

const ShapeOps kJobOps = {ShapeKind::kJob, "batch/v1", "Job", Parse, VisitTemplates, Prepare};

}  // namespace muster::shapes
