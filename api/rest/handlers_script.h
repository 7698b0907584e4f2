// The script of a batch job, for `scontrol write batch_script` and `sacct -B`.
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

/// {"script": "#!/bin/sh ...", "environment": {"NAME": "value"}} as submitted. A job that is no
/// batch script has none: 404.
Response JobScript(ApiContext& api, const Caller& who, Request& request);

}  // namespace muster::rest
