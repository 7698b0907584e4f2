// StepLine: one line of steps.jsonl, by which the agent beside a batch script reports its steps.
// Pure. The file belongs to the job's user, so a line may say anything.
#pragma once

#include <optional>
#include <string_view>

#include "schedd/model/step.h"

namespace muster::local {

/// The step as the line says, without job and attempt. nullopt if the line is no such object, a
/// number is out of range, or a text is too long.
std::optional<StepRecord> ReadStepLine(std::string_view line);

}  // namespace muster::local
