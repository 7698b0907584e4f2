// Handlers of the web page under /ui: its files, and the page for the address of each view.
#pragma once

#include <string>

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

/// "https://id.example.org" of "https://id.example.org/realms/main".
std::string OriginOf(const std::string& url);

/// [{"name", "issuer", "client"}]: where the page lets its reader sign in.
Response PageProviders(ApiContext& api, const Caller& who, Request& request);
Response PageIndex(ApiContext& api, const Caller& who, Request& request);
Response PageAsset(ApiContext& api, const Caller& who, Request& request);

}  // namespace muster::rest
