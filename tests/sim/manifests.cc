#include "tests/sim/manifests.h"

#include "schedd/base/check.h"
#include "schedd/shapes/batch/array_spec.h"
#include "schedd/shapes/batch/batch_manifest.h"
#include "schedd/shapes/kinds/shape.h"
#include "schedd/text/json.h"
#include "tests/support/builders.h"

namespace muster::sim {
namespace {

std::string Pod(std::int64_t cpus) {
  return R"({"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"busybox",)"
         R"("resources":{"requests":{"cpu":")" +
         std::to_string(cpus) + R"("}}}]}})";
}

std::string JobSpecOf(std::int32_t pods) {
  return R"({"parallelism":)" + std::to_string(pods) + R"(,"completions":)" + std::to_string(pods) +
         R"(,"template":)" + Pod(1) + "}";
}

std::string MetadataOf(const JobPlan& plan) {
  return R"("metadata":{"name":")" + plan.name +
         R"(","namespace":"default","labels":{"kueue.x-k8s.io/queue-name":"queue-)" +
         std::to_string(plan.queue) + R"("}})";
}

json::value ManifestOf(const JobPlan& plan, JobId parent) {
  if (plan.kind == JobKind::kJob) {
    return *ParseJson(R"({"apiVersion":"batch/v1","kind":"Job",)" + MetadataOf(plan) +
                      R"(,"spec":)" + JobSpecOf(plan.pods) + "}");
  }
  if (plan.kind == JobKind::kGang) {
    const auto set = [](const char* name, std::int32_t pods) {
      return std::string(R"({"name":")") + name + R"(","replicas":1,"template":{"spec":)" +
             JobSpecOf(pods) + "}}";
    };
    return *ParseJson(R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet",)" +
                      MetadataOf(plan) + R"(,"spec":{"replicatedJobs":[)" + set("head", 1) + "," +
                      set("workers", plan.pods) + "]}}");
  }
  std::string script = "#!/bin/sh\n#SBATCH -c " + std::to_string(plan.pods) + "\n";
  if (plan.kind == JobKind::kArray) {
    script += "#SBATCH --array=0-" + std::to_string(plan.tasks - 1) +
              (plan.throttle > 0 ? "%" + std::to_string(plan.throttle) : "") + "\n";
  }
  if (parent.value != 0) {
    script += std::string("#SBATCH --kill-on-invalid-dep=yes --dependency=") +
              (plan.after_ok ? "afterok:" : "afterany:") + std::to_string(parent.value) + "\n";
  }
  if (plan.held) script += "#SBATCH --hold\n";
  json::object form{{"script", script + "true\n"},
                    {"queue", "queue-" + std::to_string(plan.queue)}};
  auto manifest = shapes::BatchScriptManifest(form, "default");
  MUSTER_CHECK(manifest.ok());
  return std::move(manifest).value();
}

}  // namespace

Submission SubmissionOf(const JobPlan& plan, int tries, JobId parent) {
  const json::value manifest = ManifestOf(plan, parent);
  auto parsed = shapes::ParseJob(manifest);
  if (!parsed.ok()) CheckFailed(__FILE__, __LINE__, parsed.error().detail.c_str());
  auto draft = std::make_shared<JobRecord>();
  draft->uid = test::UidOf(plan.name + "/" + std::to_string(tries));
  draft->shape = parsed->shape;
  draft->name = parsed->name;
  draft->display_name = parsed->display_name.empty() ? plan.name : parsed->display_name;
  draft->ns = "default";
  draft->user = "alice";
  draft->local_queue = "queue-" + std::to_string(plan.queue);
  draft->cluster_queue = "cq-" + std::to_string(plan.queue);
  draft->priority = plan.priority;
  draft->pod_sets = std::make_shared<const PodSets>(parsed->pod_sets);
  draft->time_limit_s = plan.time_limit_s;
  draft->suspended_by_user = plan.held;
  draft->batch = parsed->batch;
  draft->batch_state = parsed->batch_state;
  if (plan.kind == JobKind::kArray) {
    const auto spec = shapes::ParseArraySpec(draft->batch->array_spec);
    MUSTER_CHECK(spec.ok());
    auto state = std::make_shared<BatchState>(BatchStateOf(*draft));
    state->waiting_tasks = spec->tasks;
    state->task_throttle = spec->throttle;
    draft->batch_state = std::move(state);
  }
  Submission submission;
  submission.draft = std::move(draft);
  submission.manifest = WriteJson(manifest);
  submission.idempotency = IdempotencyKey{"alice/default", plan.name, 1};
  return submission;
}

}  // namespace muster::sim
