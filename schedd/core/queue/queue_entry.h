// Which workloads may wait for quota at all (rule A11). Pure.
#pragma once

#include <optional>

#include "schedd/core/queue/gates.h"

namespace muster::core {

/// Why the workload may not be in a queue, whatever the queues are: it has ended, holds quota, is
/// deactivated, gated or on hold; nullopt if it may.
std::optional<GateVerdict> EntryGate(const JobRecord& job);

/// The result of CheckEntry.
enum class QueueEntry : std::uint8_t {
  kEnters,
  kNotAdmissible,   // EntryGate, or its variants wait in its place (KEP-8691)
  kNoLocalQueue,    // its LocalQueue does not exist or is stopped
  kNoClusterQueue,  // the LocalQueue's ClusterQueue does not exist
};
/// Whether a workload enters the queue that its LocalQueue names.
QueueEntry CheckEntry(const ConfigView& config, const AdmissionSettings& settings,
                      const JobRecord& job);

}  // namespace muster::core
