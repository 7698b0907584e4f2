// The filters of the store's reads: jobs, steps, the audit trail. Plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedd/base/ids.h"
#include "schedd/model/job.h"
#include "schedd/model/job_visibility.h"

namespace muster {

/// The filter of ReadJobs. Every field that is set must match.
struct JobQuery {
  std::string ns, queue, user;  // "" = any
  std::string name;             // "" = any; matches metadata.name or a script's --job-name
  std::optional<JobState> state;
  std::optional<ShapeKind> shape;
  JobId array;  // 0: any; the records and tasks of this array
  std::optional<std::int32_t> array_task;  // the task of this index; -1: records of waiting tasks
  bool include_deleted = false;
  JobId after;             // only jobs with a higher id: the last one of the page before
  std::vector<JobId> ids;  // empty: any
  std::size_t limit = 1000;
  WallTime ended_since;  // unset: any, also jobs that have not ended
  /// Which of them the reader may see (rule U23); null: all.
  std::shared_ptr<const JobVisibility> visible = {};
};

/// A page of steps, by job, attempt and step.
struct StepQuery {
  std::vector<JobId> jobs;
  /// Only steps after this one: the last one of the page before.
  JobId after_job;
  std::int32_t after_attempt = 0, after_step = -1;
  std::size_t limit = 1000;
};

/// The filter of ReadAudit. Every field that is set must match.
struct AuditQuery {
  WallTime since, until;   // not before, and before
  std::string user, verb;  // "" = any
  std::string object;      // "" = any; with a "/" at its end: everything below it
  std::int64_t after = 0;  // only rows with a higher number
  bool last = false;       // the last `limit` rows that match instead of the first ones
  std::size_t limit = 1000;
};

}  // namespace muster
