// The manifest of a job: as it was submitted, and as its member gets it.
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

/// {"submitted": {...}, "sent": [...]}: the object and what goes with it, with the decisions of the
/// job's latest admission; `sent` is null while it holds no quota, or if it cannot be made.
Response JobManifest(ApiContext& api, const Caller& who, Request& request);

}  // namespace muster::rest
