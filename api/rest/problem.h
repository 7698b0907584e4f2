// Answers that handlers share: errors (problem+json on /v1, metav1.Status on Kubernetes paths,
// Retry-After where a retry may help) and JSON.
#pragma once

#include <string>

#include "api/rest/http/message.h"
#include "schedd/base/result.h"
#include "schedd/model/job.h"
#include "schedd/text/json.h"

namespace muster::rest {

/// The answer that an Error becomes on `request`'s path.
Response ErrorResponse(const Request& request, const Error& error);
Response ErrorResponse(bool kubernetes, const Error& error);

Response JsonResponse(const json::value& value, int status = 200);
/// The job view.
Response JobResponse(const JobRecord& job, int status = 200);

}  // namespace muster::rest
