// Errors that the HTTP layer itself answers (404, 405, 413, 431, ...), in the form of the path:
// problem+json, or metav1.Status below /api and /apis. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "api/rest/http/message.h"

namespace muster::rest {

/// `detail` is one sentence for the user. A 503 carries Retry-After.
Response PlainProblem(bool kubernetes, int status, const std::string& detail);

/// "Bad Request", ...; "" for a status that this server never sends.
std::string_view StatusPhrase(int status);

}  // namespace muster::rest
