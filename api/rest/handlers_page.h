// Handlers of the web page under /ui: its files, and the page for the address of each view.
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

Response PageIndex(ApiContext& api, const Caller& who, Request& request);
Response PageAsset(ApiContext& api, const Caller& who, Request& request);

}  // namespace muster::rest
