// ElasticScale: the size of an elastic job, the size that its user wants, and the workload slices
// between the two (KEP-77, rule A55). Plain values, kept only by elastic jobs whose size was
// changed after their submission.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedd/base/ids.h"
#include "schedd/base/time.h"
#include "schedd/model/reason.h"

namespace muster {

/// The fields of an elastic Job that a user may change while it waits or runs.
struct JobSize {
  std::int32_t parallelism = 1;             // spec.parallelism
  std::optional<std::int32_t> completions;  // spec.completions; absent: none declared
  /// The number of pods: parallelism, but no more than completions.
  std::int32_t pods() const {
    return completions && *completions < parallelism ? *completions : parallelism;
  }
  bool operator==(const JobSize&) const = default;
};

/// The larger slice that waits to replace the running one.
struct PendingSlice {
  Uid uid;
  JobSize size;
  WallTime since;
  /// Event number of the change; orders equal times.
  std::int64_t sequence = 0;
  Reason reason = Reason::kPendingEvaluation;
  std::string message;
  bool operator==(const PendingSlice&) const = default;
};

/// A slice that a larger one has replaced: Finished, WorkloadSliceReplaced.
struct FinishedSlice {
  Uid uid;
  std::int32_t pods = 0;
  WallTime end;
  std::string message;
  bool operator==(const FinishedSlice&) const = default;
};

struct ElasticScale {
  /// metadata.generation: grows with every change that the user makes.
  std::int64_t generation = 1;
  /// Of the slice that waits for quota or holds it.
  JobSize size;
  /// Its uid; unset: that of the job.
  Uid slice;
  std::optional<PendingSlice> pending;
  /// The last limits::kFinishedSlices of them, oldest first.
  std::vector<FinishedSlice> finished;
  /// The size that the user asked for last.
  const JobSize& wanted() const { return pending ? pending->size : size; }
  bool operator==(const ElasticScale&) const = default;
};

}  // namespace muster
