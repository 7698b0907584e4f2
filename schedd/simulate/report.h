// Report: decisions and summaries as JSON and as lines for people. Pure.
#pragma once

#include <string>

#include "schedd/simulate/simulator.h"
#include "schedd/simulate/summary.h"
#include "schedd/text/json.h"

namespace muster::simulate {

/// {"at": 12.5, "decision": "Admitted", "job": "team-a/train", "id": 3, "clusterQueue": ..., ...};
/// times in seconds after `start`.
json::object DecisionJson(const Decision& decision, WallTime start);
/// "      12.500s  Admitted   team-a/train (3)  team-a: gpu a100 8  after 2.5s", without line end.
std::string DecisionLine(const Decision& decision, WallTime start);
/// All figures of a summary; times in seconds, amounts as quantities, use in percent of nominal
/// quota.
json::object SummaryJson(const Summary& summary);
/// A job that still waits at the end, with the reason: {"job": ..., "reason": ..., "message": ...}.
json::object WaitingJson(const JobRecord& job);

/// "12.5s": seconds with up to three decimals.
std::string SecondsText(std::int64_t us);

}  // namespace muster::simulate
