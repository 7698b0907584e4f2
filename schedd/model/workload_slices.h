// ElasticScale: how large an elastic job is, how large its user wants it, and the workload slices
// on the way from one to the other (KEP-77, rule A55). Plain values, kept only by elastic jobs
// whose size was changed after their submission.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedd/base/ids.h"
#include "schedd/base/time.h"
#include "schedd/model/reason.h"

namespace muster {

/// What a user may change of an elastic Job while it waits or runs.
struct JobSize {
  std::int32_t parallelism = 1;             // spec.parallelism
  std::optional<std::int32_t> completions;  // spec.completions; absent: none declared
  /// Pods that these make: parallelism, but no more than completions.
  std::int32_t pods() const {
    return completions && *completions < parallelism ? *completions : parallelism;
  }
  bool operator==(const JobSize&) const = default;
};

/// The larger slice that waits to take the place of the one that runs.
struct PendingSlice {
  Uid uid;
  JobSize size;
  WallTime since;
  std::int64_t sequence = 0;  // event number of the wish; orders equal times
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
  std::int64_t generation = 1;  // metadata.generation: grows with every change of the wish
  JobSize size;                 // of the slice that waits for quota or holds it
  Uid slice;                    // its uid; unset: the job's own
  std::optional<PendingSlice> pending;
  std::vector<FinishedSlice> finished;  // the last limits::kFinishedSlices of them, oldest first
  /// What the user asked for last.
  const JobSize& wanted() const { return pending ? pending->size : size; }
  bool operator==(const ElasticScale&) const = default;
};

}  // namespace muster
