// Explain: why a job waits, in numbers, re-derived from the same functions that decide. Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/core/flavor_assigner.h"
#include "schedd/core/placement.h"
#include "schedd/core/snapshot.h"

namespace muster::core {

struct Explanation {
  JobState state = JobState::kPending;
  std::string reason;        // Reason's name
  std::string summary;       // one sentence
  std::size_t position = 0;  // in its ClusterQueue, from 1; 0 if not pending
  std::vector<FlavorVerdict> flavors;
  std::vector<ClusterVerdict> clusters;
  /// "team-research: 1 more nvidia.com/gpu of flavor gpu-a100 must become free"
  std::vector<std::string> would_help;
};

/// `position` is 1-based in the ClusterQueue's order, 0 if unknown.
Explanation Explain(const Snapshot& snapshot, const JobRecord& job, std::size_t position);

}  // namespace muster::core
