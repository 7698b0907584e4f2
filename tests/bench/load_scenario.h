// Kueue's own loads as scenarios for the virtual clock, and a world of queues to fill.
#pragma once

#include <memory>
#include <string>

#include "schedd/simulate/simulator.h"
#include "tests/bench/reference_loads.h"

namespace muster::bench {

/// What a job class asks for; shared by all its jobs.
PodSetsPtr PodSetsOf(const JobClass& job_class);
/// Queues, flavor, topology and machines of a load, without jobs.
std::shared_ptr<ConfigView> ConfigOf(const ReferenceLoad& load);
/// All of it; the clock starts at kScenarioStart.
simulate::Scenario ScenarioOf(const ReferenceLoad& load);

inline constexpr WallTime kScenarioStart{1'700'000'000 * kMicrosPerSecond};

/// A ClusterQueue of one flavor "bench" and one resource cpu, with a LocalQueue of its name in
/// namespace "bench".
void AddQueue(ConfigView* config, const std::string& name, const std::string& cohort,
              std::int64_t nominal, std::int64_t borrowing);
/// A pending job that wants `cpu` thousandths.
std::shared_ptr<JobRecord> MakeJob(std::int64_t id, const std::string& queue, std::int32_t priority,
                                   PodSetsPtr pod_sets, WallTime submitted);

}  // namespace muster::bench
