// Answers that handlers share: errors (problem+json on /v1, metav1.Status on Kubernetes paths) and
// JSON.
#pragma once

#include <string>

#include "api/rest/http/message.h"
#include "schedd/base/result.h"
#include "schedd/model/job.h"
#include "schedd/text/json.h"

namespace muster::rest {

/// The answer for an error on `request`'s path. 429 and 503 carry Retry-After, 401
/// WWW-Authenticate.
Response ErrorResponse(const Request& request, const Error& error);
Response ErrorResponse(bool kubernetes, const Error& error);

Response JsonResponse(const json::value& value, int status = 200);
/// The job view.
Response JobResponse(const JobRecord& job, int status = 200);

}  // namespace muster::rest
