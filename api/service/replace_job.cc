// The rules for what may change are in schedd/shapes (job_change.h). This file finds the two
// manifests to compare: the stored one for `muster apply`, the object as it was shown for PUT and
// PATCH.
#include "api/service/replace_job.h"

#include <utility>

#include "schedd/shapes/kinds/job_change.h"
#include "schedd/text/json.h"
#include "schedd/text/lenient.h"

namespace muster::api {

Result<ReplaceJobCommand> PlanReplacement(Store& store, const JobRecord& job,
                                          const shapes::ParsedJob& parsed) {
  const Result<std::vector<std::string>> texts = store.ReadManifests({job.id});
  if (!texts.ok()) return texts.error();
  if (texts->size() != 1) return Internal("the manifest of an existing job could not be read");
  const Result<json::value> submitted = ParseJson(texts->front());
  if (!submitted.ok()) return Internal("the manifest of an existing job could not be read");
  const Result<shapes::JobChange> change = shapes::ChangeOf(job, *submitted, parsed);
  if (!change.ok()) return change.error();
  ReplaceJobCommand command;
  command.job = job.id;
  command.size = change->size;
  command.submitted = change->submitted;
  command.admission_gated_by = change->admission_gated_by;
  return command;
}

Result<ReplaceJobCommand> TakeReplacement(const JobRecord& job, const json::value& now,
                                          json::value* wanted) {
  ReplaceJobCommand command;
  command.job = job.id;
  if (ViewAt(now, "kind") != ShapeKindName(job.shape)) return command;
  const bool sized =
      job.shape == ShapeKind::kJob && shapes::SizeOfJob(now) != shapes::SizeOfJob(*wanted);
  if (!sized && shapes::GatesOf(now) == shapes::GatesOf(*wanted)) return command;
  const Result<shapes::ParsedJob> parsed = shapes::ParseJob(*wanted);
  if (!parsed.ok()) return parsed.error();
  const Result<shapes::JobChange> change = shapes::ReadChange(job, now, *parsed);
  if (!change.ok()) return change.error();
  command.size = change->size;
  command.submitted = change->submitted;
  command.admission_gated_by = change->admission_gated_by;
  shapes::CopyChangeable(job, now, wanted);
  return command;
}

}  // namespace muster::api
