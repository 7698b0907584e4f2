// JobExplanation as JSON. Pure: equal values give equal text.
#pragma once

#include "api/service/job_explanation.h"
#include "schedd/text/json.h"

namespace muster::api {

json::object ExplanationJson(const JobExplanation& explained);

}  // namespace muster::api
