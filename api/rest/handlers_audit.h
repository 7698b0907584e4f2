// GET /v1/audit: the audit trail.
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

/// The last rows that match, a page after `page_token`, or with format=jsonl all of them as JSON
/// lines.
Response ListAudit(ApiContext& api, const Caller& who, Request& request);

}  // namespace muster::rest
