// One page of a list of steps. SchedulerService::JobSteps and StepsOf answer with it.
#pragma once

#include <string>
#include <vector>

#include "schedd/model/step.h"

namespace muster::api {

struct StepPage {
  std::vector<StepRecord> items;  // by job, attempt and step
  std::string next_page_token;    // "" = the last page
};

}  // namespace muster::api
