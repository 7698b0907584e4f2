// Requests that reach a daemon which does not lead: writes, and reads that only the leader can
// answer, are sent to it; other reads are answered from the copy, marked with its age
// (docs/rules/leadership.md).
#pragma once

#include <optional>
#include <string_view>

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

/// True if a route, written as in the table of routes, can be answered by the leader alone although
/// it only reads: streams, and what is asked of member clusters.
bool IsLeadersAlone(std::string_view way);

/// The answer that sends a request elsewhere: 307 to the leader, or 503 if none is known. Unset:
/// this daemon leads, or can answer from its copy. `leaders_alone`: see above.
std::optional<Response> Elsewhere(const ApiContext& api, const Request& request,
                                  bool leaders_alone);

/// Marks an answer that was made from the copy; any other one is left alone.
void MarkCopy(const ApiContext& api, Response* response);

/// What /v1/status and /readyz say about the lead: role, leader, age of the copy.
json::object LeadJson(const ApiContext& api);

}  // namespace muster::rest
