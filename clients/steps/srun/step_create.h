// Asks the manager for a step and waits until it may begin.
#pragma once

#include <string>
#include <vector>

#include "clients/steps/messages.h"
#include "clients/steps/srun/components.h"
#include "clients/steps/wire.h"

namespace muster::steps {

/// The name of a step: -J, or that of its program.
std::string StepName(const Component& component);

/// 0 with `out`, or the exit status after an error on stderr. A signal ends the waiting.
int CreateStepFor(Channel* channel, const std::string& job,
                  const std::vector<Component>& components, int signals, StepCreated* out);

}  // namespace muster::steps
