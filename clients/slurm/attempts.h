// Steps and attempts of jobs, with what was measured of them, as the server tells them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "clients/lib/api_client.h"
#include "clients/slurm/job_row.h"
#include "schedd/model/step.h"

namespace muster::slurm {

/// One step of a job.
struct StepInfo {
  std::int64_t job = 0;
  std::int32_t attempt = 0, step = 0;
  std::string name, nodes;
  std::int32_t node_count = 1, tasks = 1, cpus = 1;
  State state = State::kRunning;
  std::string start_time, end_time;  // RFC 3339; empty if not yet
  std::int32_t exit_code = 0, exit_signal = 0;
  MeasuredUse use;
};

/// One attempt of a job.
struct AttemptInfo {
  std::int32_t attempt = 0;
  std::string cluster, start_time, end_time;  // times in RFC 3339; empty if not yet
  State state = State::kRunning;
  std::string reason;  // Muster's word
  bool has_exit_code = false;
  std::int32_t exit_code = 0, exit_signal = 0;
  MeasuredUse use;
};

/// By the job's id. Jobs without steps or attempts have no entry.
using StepsByJob = std::map<std::int64_t, std::vector<StepInfo>>;        // in order of steps
using AttemptsByJob = std::map<std::int64_t, std::vector<AttemptInfo>>;  // in order of attempts

/// GET /v1/steps for these jobs, in portions. A caller without the right to read them, and a server
/// that has none, give none.
client::Outcome<StepsByJob> FetchSteps(client::ApiClient& api,
                                       const std::vector<std::int64_t>& jobs);

/// GET /v1/accounting for these jobs, in portions; as FetchSteps.
client::Outcome<AttemptsByJob> FetchAttempts(client::ApiClient& api,
                                             const std::vector<std::int64_t>& jobs);

/// True if anything was measured.
inline bool Measured(const MeasuredUse& use) { return !(use == MeasuredUse{}); }

/// A member `use` as the server writes it.
MeasuredUse UseOf(const json::value& value);

/// An RFC 3339 stamp in microseconds since 1970; 0 if empty or malformed.
std::int64_t StampMicros(std::string_view stamp);

}  // namespace muster::slurm
