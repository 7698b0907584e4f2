// What of a job's manifest may change after its submission, and how a manifest reads then: the size
// of an elastic Job (KEP-77), gates that are taken away (KEP-6915). Pure.
#pragma once

#include <optional>
#include <string>

#include "schedd/shapes/kinds/shape.h"

namespace muster::shapes {

/// spec.parallelism and spec.completions of a Job, with Kubernetes' defaults.
JobSize SizeOfJob(const json::value& manifest);
/// Writes them; completions only if the size has them.
void SetSize(const JobSize& size, json::object& manifest);

/// metadata.annotations[kueue.x-k8s.io/admission-gated-by]; "" if it has none.
std::string GatesOf(const json::value& manifest);
/// Makes what may change read in `wanted` as in `now`.
void CopyChangeable(const JobRecord& job, const json::value& now, json::value* wanted);

/// Turns the manifest as it was submitted into what its user has asked for since.
void ShowChanges(const JobRecord& job, json::value* manifest);

/// What a new manifest wants of a job; nothing: it says what the job is already.
struct JobChange {
  std::optional<JobSize> size;
  JobSize submitted;
  std::optional<std::string> admission_gated_by;
  bool empty() const { return !size && !admission_gated_by; }
};

/// Reads it off `wanted`, which is to take the place of `now`, the manifest as the job is; nothing
/// else of them is compared. kInvalidArgument naming the field that cannot change so.
Result<JobChange> ReadChange(const JobRecord& job, const json::value& now, const ParsedJob& wanted);
/// The same of `submitted`, the manifest that `job` was made of; and nothing else may differ, but
/// for spec.suspend, which the scheduler sets. kInvalidArgument naming the first field that does.
Result<JobChange> ChangeOf(const JobRecord& job, const json::value& submitted,
                           const ParsedJob& wanted);

}  // namespace muster::shapes
