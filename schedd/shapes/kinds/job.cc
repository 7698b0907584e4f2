// batch/v1 Job: one pod set `main` of min(parallelism, completions) pods (rule A6).
//
// Two annotations make its size flexible: job-min-parallelism lets it be admitted with fewer pods
// (KEP-420), elastic-job lets its parallelism change after the submission (KEP-77). They exclude
// each other. What reaches the member is the size that admission or the user decided last.
#include <algorithm>
#include <charconv>

#include "schedd/model/scale_lifecycle.h"
#include "schedd/shapes/kinds/job_change.h"
#include "schedd/shapes/kinds/job_spec.h"
#include "schedd/shapes/kinds/shape_list.h"
#include "schedd/shapes/kinds/shape_ops.h"
#include "schedd/shapes/parts/metadata.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

// True if completions are to change together with parallelism.
bool SyncsCompletions(const Field& annotations) {
  return annotations.Named(kSyncCompletionsKey).OneOf({"true", "false"}) == "true";
}

// The least number of pods with which the Job may be admitted (KEP-420).
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

void ParseJob(const Field& root, ParsedJob* job) {
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
  // The job's time limit is the shorter one of its own and of its maximum execution time.
  if (facts.active_deadline_s > 0 &&
      (job->time_limit_s == 0 || facts.active_deadline_s < job->time_limit_s)) {
    job->time_limit_s = facts.active_deadline_s;
  }
  job->ttl_after_finished_s = spec["ttlSecondsAfterFinished"].Int(0, INT32_MAX).value_or(-1);
  CheckPodSets(spec, job->pod_sets);
}

void VisitJobTemplates(json::object& manifest, const TemplateVisitor& visit) {
  visit("main", MakeObjectAt(MakeObjectAt(manifest, "spec"), "template"));
}

// A job admitted with fewer pods runs that many at once; completions change with it if the
// annotation job-completions-equal-parallelism is "true".
void SetParallelism(json::object& manifest, const JobRecord& job) {
  if (job.pod_sets == nullptr || job.pod_sets->empty()) return;
  const PodSet& main = job.pod_sets->front();
  const std::int32_t pods = AdmittedCount(job, main.name, main.count);
  if (!main.min_count || pods >= main.count) return;
  auto& spec = MakeObjectAt(manifest, "spec");
  spec["parallelism"] = pods;
  Problems problems;
  const json::value copy = manifest;
  if (SyncsCompletions(Field(copy, &problems)["metadata"]["annotations"]))
    spec["completions"] = pods;
}

void PrepareJob(json::object& manifest, const RenderContext& context,
                std::vector<RenderedObject>*) {
  auto& spec = MakeObjectAt(manifest, "spec");
  CleanJobSpec(spec);
  spec["suspend"] = context.suspended;
  if (const ElasticScale* scale = ScaleOf(context.job)) SetSize(scale->size, manifest);
  SetParallelism(manifest, context.job);
}

}  // namespace

const ShapeOps kJobOps = {ShapeKind::kJob, ParseJob, VisitJobTemplates, PrepareJob};

}  // namespace muster::shapes
