// JobUpdate: a change of a batch script after its submission (scontrol update), as the service has
// read and checked it. Plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "schedd/model/job.h"

namespace muster {

/// What follows from the job's manifest when it is read with its changed fields: only what differs
/// is taken. Made from the record with `base_version`.
struct Respecified {
  std::shared_ptr<const BatchDetails> batch;
  PodSetsPtr pod_sets;
  JobPlacementPtr placement;
  std::string display_name;
  std::int64_t time_limit_s = 0;
  /// BatchState::changed_spec from now on.
  std::string changed_spec;
  std::string resource_problem;  // as AdmissionState has it
};

/// Absent fields stay.
struct JobUpdate {
  /// The record that the service has read: kAborted if it has changed since.
  std::int64_t base_version = 0;
  std::optional<Respecified> spec;
  /// The LocalQueue with the ClusterQueue that it leads to.
  std::optional<std::string> queue, cluster_queue;
  /// A WorkloadPriorityClass and its value.
  std::optional<std::string> priority_class;
  std::optional<std::int32_t> class_priority;
  /// Unset inside: the class's again. 0: the job is held.
  std::optional<std::optional<std::int64_t>> own_priority;
  std::optional<std::int64_t> nice;
  /// The whole list: of the state, only dependencies and any_dependency count.
  std::optional<BatchState> dependencies;
  std::optional<std::optional<WallTime>> begin_at, deadline;
  std::optional<std::int32_t> task_throttle;
  /// The caller may do what only operators may.
  bool by_operator = false;
};

}  // namespace muster
