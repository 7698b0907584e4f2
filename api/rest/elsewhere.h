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

/// When the world was as reads show it that begin now, if that is an earlier time; unset at a
/// leader.
std::optional<Monotonic> Copied(const ApiContext& api);

/// Marks an answer that was made from the copy; any other one is left alone. `before`: what Copied
/// told before the answer was made, because the daemon may have begun to lead meanwhile.
void MarkCopy(const ApiContext& api, std::optional<Monotonic> before, Response* response);

/// What /v1/status and /readyz say about the lead: role, leader, age of the copy.
json::object LeadJson(const ApiContext& api);

}  // namespace muster::rest
