// Use cases that read the steps of batch scripts (rule B53). They block on the store.
//
// Thread-safe, like the service whose jobs they are about.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "api/service/scheduler_service.h"
#include "schedd/model/step.h"

namespace muster::api {

struct StepPage {
  std::vector<StepRecord> items;  // by job, attempt and step
  std::string next_page_token;    // "" = the last page
};

/// The steps of all attempts of one job; at most limits::kStepItems, which is what `limit` 0 gives.
/// Asks what reading the job asks.
Result<StepPage> JobSteps(const SchedulerService& service, const auth::Principal& who,
                          const std::string& id, const std::string& page_token, std::size_t limit);
/// The same of many jobs. Jobs that do not exist, or that the caller may not see, are left out.
Result<StepPage> StepsOf(const SchedulerService& service, const auth::Principal& who,
                         const std::vector<JobId>& jobs, const std::string& page_token,
                         std::size_t limit);

}  // namespace muster::api
