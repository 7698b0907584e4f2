// Kubernetes' description of its API at /openapi/v3: an index of groups, and a document of each
// with the paths of its kinds. kubectl asks it whether a server checks the fields of manifests
// itself (`kubectl apply`, `create`), and what a kind is (`kubectl explain`).
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

Response OpenApiIndex(ApiContext& api, const Caller& who, Request& request);
Response OpenApiOfGroup(ApiContext& api, const Caller& who, Request& request);

}  // namespace muster::rest
