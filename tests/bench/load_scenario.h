// Kueue's loads as scenarios for the virtual clock, and builders for a world of queues.
#pragma once

#include <memory>
#include <string>

#include "schedd/simulate/simulator.h"
#include "tests/bench/reference_loads.h"

namespace muster::bench {

/// The pod sets of a job class; all its jobs share them.
PodSetsPtr PodSetsOf(const JobClass& job_class);
/// Queues, flavor, topology and machines of a load, without its jobs.
std::shared_ptr<ConfigView> ConfigOf(const ReferenceLoad& load);
/// The whole load; the clock starts at kScenarioStart.
simulate::Scenario ScenarioOf(const ReferenceLoad& load);

inline constexpr WallTime kScenarioStart{1'700'000'000 * kMicrosPerSecond};

/// Adds a ClusterQueue with one flavor "bench" and one resource cpu, and a LocalQueue of its name
/// in namespace "bench".
void AddQueue(ConfigView* config, const std::string& name, const std::string& cohort,
              std::int64_t nominal, std::int64_t borrowing);
/// A pending job that needs `cpu` thousandths of a CPU.
std::shared_ptr<JobRecord> MakeJob(std::int64_t id, const std::string& queue, std::int32_t priority,
                                   PodSetsPtr pod_sets, WallTime submitted);

}  // namespace muster::bench
