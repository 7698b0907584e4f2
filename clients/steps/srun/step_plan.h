// What a step inside a job asks for: from the options of one component and the job's environment.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "clients/steps/messages.h"
#include "clients/steps/option_table.h"

namespace muster::steps {

/// "" if unset. A parameter, so that tests need no process environment.
using VariableLookup = std::function<std::string(const char* name)>;

struct PartPlan {
  PartRequest request;
  std::vector<std::string> warnings;  // for stderr, without the "srun: "
};

/// The component `het_group` of the job (0 of an ordinary one).
std::optional<OptionRefusal> PlanPart(const OptionValues& options, const VariableLookup& variable,
                                      std::int32_t het_group, PartPlan* out);

/// How tasks are bound; `error` if the value of --cpu-bind is unknown.
bool PlanBinding(const std::string& value, TaskWorld* out, std::string* error);

/// The environment that --export sends: `all` is that of srun.
std::vector<std::string> ExportedVariables(const std::string& list, const char* const* all);

}  // namespace muster::steps
