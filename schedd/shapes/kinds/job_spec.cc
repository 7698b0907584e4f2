// Checks a JobSpec without its template, and finds how many pods it runs at once. A count of 0 is
// refused: for Kubernetes it means "paused until somebody raises it", but a submitted job that
// never asks for pods would wait for ever.
#include "schedd/shapes/kinds/job_spec.h"

#include <algorithm>

#include "schedd/base/limits.h"
#include "schedd/shapes/kinds/shape_ops.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

constexpr std::size_t kHostNameBytes = 63;

void CheckIndexed(const Field& spec, const JobSpecRules& rules,
                  std::optional<std::int32_t> completions) {
  if (!completions) {
    // In a JobSet the mode is Indexed by default; with both counts absent too that is one pod with
    // index 0.
    if (spec["completionMode"].present() || spec["parallelism"].present()) {
      spec["completions"].Fail("is required when completionMode is Indexed");
    }
    return;
  }
  const std::string last_index = std::to_string(*completions - 1);
  if (!rules.job_name.empty() && rules.job_name.size() + 1 + last_index.size() > kHostNameBytes) {
    spec["completions"].Fail(
        "makes pod names too long: the job's name, '-' and the last index must fit in 63 bytes");
  }
  if (*completions > limits::kPodsPerJob) {
    spec["completions"].Fail("must be at most " + std::to_string(limits::kPodsPerJob) +
                             " when completionMode is Indexed");
  }
}

// Only manualSelector is refused: a selector without it is one that an API server generated.
void CheckSelector(const Field& spec) {
  if (spec["manualSelector"].BoolOr(false)) {
    spec["manualSelector"].Fail("a selector of your own is not supported: members generate it");
  }
}

}  // namespace

JobSpecFacts ReadJobSpec(const Field& spec, const JobSpecRules& rules) {
  spec.OnlyMembers({"parallelism", "completions", "completionMode", "backoffLimit",
                    "backoffLimitPerIndex", "maxFailedIndexes", "activeDeadlineSeconds",
                    "ttlSecondsAfterFinished", "podFailurePolicy", "successPolicy",
                    "podReplacementPolicy", "suspend", "selector", "manualSelector", "managedBy",
                    "template"});
  JobSpecFacts facts;
  const Field parallelism = spec["parallelism"];
  const Field completions = spec["completions"];
  const std::int32_t parallel = parallelism.CountOr(1, 1);
  const auto wanted = completions.Count(1);
  facts.parallelism = parallel;
  facts.pods = wanted ? std::min(parallel, *wanted) : parallel;
  const Field mode = spec["completionMode"];
  const auto mode_text = mode.OneOf({"NonIndexed", "Indexed"});
  const bool indexed = mode_text ? *mode_text == "Indexed" : rules.indexed_by_default;
  facts.completions = wanted.value_or(1);
  facts.indexed = indexed;
  if (indexed) CheckIndexed(spec, rules, wanted);
  (void)spec["backoffLimit"].Count(0);
  facts.active_deadline_s = spec["activeDeadlineSeconds"].Int(1).value_or(0);
  (void)spec["ttlSecondsAfterFinished"].Count(0);
  (void)spec["suspend"].Bool();
  CheckSelector(spec);
  CheckJobPolicies(spec, rules, indexed, wanted);
  return facts;
}

void CleanJobSpec(json::object& spec) {
  spec.erase("ttlSecondsAfterFinished");
  spec.erase("selector");
  spec.erase("manualSelector");
  spec.erase("managedBy");
  json::object* metadata = MutableObject(MutableObject(&spec, "template"), "metadata");
  json::object* labels = MutableObject(metadata, "labels");
  if (labels == nullptr) return;
  for (const auto* key : {"controller-uid", "job-name", "batch.kubernetes.io/controller-uid",
                          "batch.kubernetes.io/job-name"}) {
    labels->erase(key);
  }
}

}  // namespace muster::shapes
