// The records that `scontrol show` prints. Tools parse them, so their order and spelling are
// Slurm's (rule B24).
#pragma once

#include <string>

#include "clients/slurm/attempts.h"
#include "clients/slurm/fleet_view.h"
#include "clients/slurm/job_row.h"

namespace muster::slurm {

/// What all records of one invocation have in common.
struct ShowContext {
  std::string default_ns, time_format;
  std::int64_t now = 0;
  bool one_line = false;  // -o
};

std::string ShowJob(const JobRow& row, const ShowContext& context);
/// `step` null: the batch step of a script.
std::string ShowStep(const JobRow& row, const StepInfo* step, const ShowContext& context);
std::string ShowPartition(const PartitionInfo& partition, const Fleet& fleet,
                          const ShowContext& context);
std::string ShowNode(const NodeInfo& node, const Fleet& fleet, const ShowContext& context);
/// The settings that tools look up: MinJobAge, MaxArraySize, ClusterName.
std::string ShowConfig(const ShowContext& context);

}  // namespace muster::slurm
