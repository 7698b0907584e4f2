// Scenario from manifests: the same documents that `muster apply` and `muster submit` take, with
// two annotations on jobs that say when they arrive and how long they run. Pure.
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
/// In the same form: how long each attempt runs if nothing stops it.
inline constexpr std::string_view kRunTimeKey = "muster.io/run-time";

/// Where the virtual clock of a scenario from manifests or a trace starts.
inline constexpr WallTime kClockStart{1'000'000'000 * kMicrosPerSecond};

struct ReadOptions {
  /// Objects that exist before; null: none.
  ConfigPtr base;
  AdmissionSettingsPtr settings = std::make_shared<const AdmissionSettings>();
  /// Of jobs without the annotation.
  std::optional<std::int64_t> run_us;
  /// Likewise.
  std::int64_t arrival_us = 0;
  /// Of documents that name none; "": "default".
  std::string ns;
  /// 0: no limit.
  std::size_t max_jobs = 0;
};

/// Objects in any order, and jobs. Namespaces that are named and not declared exist. Errors
/// (kInvalidArgument) name each wrong field below `documents[i]`.
Result<Scenario> ReadScenario(std::span<const json::value> documents, const ReadOptions& options);

/// Adds a job as it would be accepted, with the next number. `config` must have its queue.
void AddJob(JobRecord job, std::int64_t arrival_us, std::int64_t run_us, Scenario* scenario);

/// Numbers the jobs in the order of their arrival, as a daemon would have.
void NumberByArrival(Scenario* scenario);

}  // namespace muster::simulate
