// What may change in a job's manifest after its submission, and how the manifest reads afterwards:
// the size of an elastic Job (KEP-77), and gates that are removed (KEP-6915). Pure.
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
/// Copies the fields that may change from `now` into `wanted`.
void CopyChangeable(const JobRecord& job, const json::value& now, json::value* wanted);

/// Turns the submitted manifest into the manifest with the changes that the user made since.
void ShowChanges(const JobRecord& job, json::value* manifest);

/// The changes that a new manifest asks for; empty if it describes the job as it is.
struct JobChange {
  std::optional<JobSize> size;
  JobSize submitted;  // in the manifest that `wanted` was compared with
  std::optional<std::string> admission_gated_by;
  bool empty() const { return !size && !admission_gated_by; }
};

/// The changes from `now`, the manifest as the job is, to `wanted`. Fields that may never change
/// are not compared. kInvalidArgument naming a field that may not change in this way.
Result<JobChange> ReadChange(const JobRecord& job, const json::value& now, const ParsedJob& wanted);
/// The same from `submitted`, the manifest that `job` was made of. Here no other field may differ,
/// except spec.suspend, which the scheduler sets. kInvalidArgument naming the first one that does.
Result<JobChange> ChangeOf(const JobRecord& job, const json::value& submitted,
                           const ParsedJob& wanted);

}  // namespace muster::shapes
