// batch/v1 Job: one pod set `main` of min(parallelism, completions) pods (rule A6).
#include <algorithm>
#include <charconv>

#include "schedd/model/scale_lifecycle.h"
#include "schedd/shapes/kinds/job_change.h"
#include "schedd/shapes/kinds/job_spec.h"
#include "schedd/shapes/kinds/shape_ops.h"
#include "schedd/shapes/parts/metadata.h"

namespace muster::shapes {
namespace {

bool SyncsCompletions(const Field& annotations) {
  return annotations.Named(kSyncCompletionsKey).OneOf({"true", "false"}) == "true";
}

// Fewer pods at once than asked for will do (KEP-420).
void ReadMinParallelism(const Field& root, const JobSpecFacts& facts, PodSet* main) {
  const Field annotations = root["metadata"]["annotations"];
  const Field sync = annotations.Named(kSyncCompletionsKey);
  if (SyncsCompletions(annotations) &&
      (root["spec"]["completionMode"].StringOr("") != "Indexed" ||
       root["spec"]["completions"].Int() != root["spec"]["parallelism"].Int())) {
    sync.Fail("needs completionMode Indexed and as many completions as parallelism");
  }
  const Field least = annotations.Named(kMinParallelismKey);
  const auto text = least.String();
  if (!text) return;
  std::int32_t pods = 0;
  const auto [end, ec] = std::from_chars(text->data(), text->data() + text->size(), pods);
  if (ec != std::errc() || end != text->data() + text->size() || pods <= 0 ||
      pods >= facts.parallelism) {
    least.Fail("must be a whole number greater than 0 and less than parallelism, " +
               std::to_string(facts.parallelism));
    return;
  }
  main->min_count = std::min(pods, main->count);
}

void Parse(const Field& root, ParsedJob* job) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "spec", "status"});
  ReadJobMetadata(root, {.max_bytes = 63}, job);
  const Field spec = root["spec"];
  if (!spec.Require() || spec.Object() == nullptr) return;
  const JobSpecFacts facts = ReadJobSpec(spec, {.job_name = job->name});
  CheckManagedBy(spec["managedBy"], "kubernetes.io/job-controller");
  job->pod_sets.push_back(ReadPodSet(spec["template"], "main", facts.pods,
                                     {.restart = RestartRule::kNeverOrOnFailure}));
  ReadMinParallelism(root, facts, &job->pod_sets.back());
  const Field elastic = root["metadata"]["annotations"].Named(kElasticJobKey);
  job->elastic = elastic.OneOf({"true", "false"}) == "true";
  if (job->elastic && job->pod_sets.back().min_count)
    elastic.Fail("partial admission and elastic job cannot be used together");
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

// A job admitted with fewer pods runs that many at once; its completions follow if it said so.
void SetParallelism(json::object& manifest, const JobRecord& job) {
  if (job.pod_sets == nullptr || job.pod_sets->empty()) return;
  const PodSet& main = job.pod_sets->front();
  const std::int32_t pods = AdmittedCount(job, main.name, main.count);
  if (!main.min_count || pods >= main.count) return;
  auto& spec = ObjectAt(manifest, "spec");
  spec["parallelism"] = pods;
  Problems problems;
  const json::value copy = manifest;
  if (SyncsCompletions(Field(copy, &problems)["metadata"]["annotations"]))
    spec["completions"] = pods;
}

void Prepare(json::object& manifest, const RenderContext& context, std::vector<RenderedObject>*) {
  auto& spec = ObjectAt(manifest, "spec");
  CleanJobSpec(spec);
  spec["suspend"] = context.suspended;
  if (const ElasticScale* scale = ScaleOf(context.job)) SetSize(scale->size, manifest);
  SetParallelism(manifest, context.job);
}

}  // namespace

const ShapeOps kJobOps = {ShapeKind::kJob, "batch/v1", "Job", Parse, VisitTemplates, Prepare};

}  // namespace muster::shapes
