// Refusals that the HTTP layer itself makes (404, 405, 413, 431, ...), in the form of the path:
// problem+json, or metav1.Status below /api and /apis. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "api/rest/http/message.h"

namespace muster::rest {

/// `detail` is one sentence for the user. 503 carries Retry-After.
Response PlainProblem(bool kubernetes, int status, const std::string& detail);

/// "Bad Request", ...; "" for a status never sent here.
std::string_view StatusPhrase(int status);

}  // namespace muster::rest
