// Handlers about the caller itself and about access tokens.
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

/// GET /v1/whoami.
Response WhoAmI(ApiContext& api, const Caller& who, Request& request);
/// POST /v1/tokens: makes an AccessToken and shows its secret, this once.
void CreateToken(ApiContext& api, const Caller& who, Request& request, Responder respond);

}  // namespace muster::rest
