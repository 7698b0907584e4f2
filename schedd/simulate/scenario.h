// Scenario from manifests: what `muster apply` and `muster submit` would be given, with two
// annotations on jobs that say when they come and how long they run. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "schedd/base/result.h"
#include "schedd/shapes/kinds/shape.h"
#include "schedd/simulate/simulator.h"
#include "schedd/text/json.h"

namespace muster::simulate {

/// After the start: "90", "1h30m", "1500ms".
inline constexpr std::string_view kArrivalKey = "muster.io/arrival";
/// The same form: how long each attempt would run undisturbed.
inline constexpr std::string_view kRunTimeKey = "muster.io/run-time";

/// Where the virtual clock of a scenario from manifests or a trace starts.
inline constexpr WallTime kClockStart{1'000'000'000 * kMicrosPerSecond};

struct ReadOptions {
  ConfigPtr base;  // objects that are there before; null: none
  AdmissionSettingsPtr settings = std::make_shared<const AdmissionSettings>();
  std::optional<std::int64_t> run_us;  // of jobs that do not say it
  std::int64_t arrival_us = 0;         // likewise
  std::string ns;                      // of documents without one; "": "default"
  std::size_t max_jobs = 0;            // 0: no limit
};

/// Objects in any order, and jobs. Namespaces that are named and not declared exist. Errors
/// (kInvalidArgument) name each wrong field below `documents[i]`.
Result<Scenario> ReadScenario(std::span<const json::value> documents, const ReadOptions& options);

/// Adds a job as it would be accepted, numbered behind those before it. `config` must have its
/// queue.
void AddJob(JobRecord job, std::int64_t arrival_us, std::int64_t run_us, Scenario* scenario);

/// Numbers the jobs in the order of their arrival, as a daemon would have.
void NumberByArrival(Scenario* scenario);

}  // namespace muster::simulate
