// The environment that tasks find, but for what each node and task adds.
#pragma once

#include <vector>

#include "clients/steps/messages.h"
#include "clients/steps/srun/components.h"
#include "clients/steps/srun/connect.h"

namespace muster::steps {

/// Fills in the programs and which task runs which.
void AddPrograms(const std::vector<Component>& components, const StepCreated& step,
                 const JobPlace& place, const char* const* environment, Launch* out);

}  // namespace muster::steps
