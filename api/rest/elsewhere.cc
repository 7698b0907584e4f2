// The headers: Muster-Leader is the address of the leader, or "none" where no request was carried
// out because nobody is known to lead; a client with a list of servers goes on to the next one
// then. Muster-Copy-Age is the age of the copy in seconds.
#include "api/rest/elsewhere.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "api/rest/http/plain_problem.h"
#include "api/rest/problem.h"
#include "schedd/base/time.h"

namespace muster::rest {
namespace {

constexpr std::array<std::string_view, 4> kLeadersAlone = {
    "GET /v1/events", "GET /v1/jobs/{id}/logs", "GET /v1/jobs/{id}/pods",
    "GET /v1/jobs/{id}/member-events"};

// The leader's address as far as it is known, "" if no other daemon leads.
std::string LeaderOf(const LeaseBoard& lease) {
  return lease.OtherLeads() ? lease.standing().row.address : "";
}

std::string SecondsText(std::int64_t ms) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f",
                static_cast<double>(std::max<std::int64_t>(ms, 0)) / 1e3);
  return text;
}

}  // namespace

bool IsLeadersAlone(std::string_view way) {
  return std::find(kLeadersAlone.begin(), kLeadersAlone.end(), way) != kLeadersAlone.end();
}

// A leader whose address is not known cannot be named: the answer is 503 with its host.
std::optional<Response> Elsewhere(const ApiContext& api, const Request& request,
                                  bool leaders_alone) {
  if (api.lease == nullptr) return std::nullopt;
  const bool reads = request.method == Method::kGet && !leaders_alone;
  if (reads && api.lease->copied().has_value()) return std::nullopt;
  const Status ready = api.service.Ready();
  if (ready.ok()) return std::nullopt;
  const std::string leader = LeaderOf(*api.lease);
  if (leader.empty() || !request.raw_target.starts_with('/')) {
    Response refused = ErrorResponse(request, ready.error());
    refused.headers.emplace_back("Muster-Leader", "none");
    return refused;
  }
  Response sent = PlainProblem(request.IsKubernetesPath(), 307, "the leader is at " + leader);
  sent.headers.emplace_back("Muster-Leader", leader);
  sent.headers.emplace_back("Location", leader + request.raw_target);
  return sent;
}

std::optional<Monotonic> Copied(const ApiContext& api) {
  return api.lease == nullptr ? std::nullopt : api.lease->copied();
}

void MarkCopy(const ApiContext& api, std::optional<Monotonic> before, Response* response) {
  std::optional<Monotonic> copied = Copied(api);
  if (before && (!copied || *before < *copied)) copied = before;
  if (!copied) return;
  response->headers.emplace_back("Muster-Copy-Age", SecondsText(api.lease->AgeMs(*copied)));
  if (const std::string leader = LeaderOf(*api.lease); !leader.empty())
    response->headers.emplace_back("Muster-Leader", leader);
}

json::object LeadJson(const ApiContext& api) {
  json::object out;
  if (api.lease == nullptr) return out;
  const LeaseBoard::Standing standing = api.lease->standing();
  const bool current = api.service.Ready().ok();
  const bool other = api.lease->OtherLeads();
  out["role"] = current ? "leader" : other || standing.copied ? "standby" : "none";
  if (const auto copied = api.lease->copied())
    out["copyAgeSeconds"] = static_cast<double>(api.lease->AgeMs(*copied)) / 1e3;
  if (!current && !other) return out;
  const LeaseRow& row = standing.row;
  json::object leader{{"epoch", row.epoch.value},
                      {"host", row.holder},
                      {"address", row.address},
                      {"since", FormatRfc3339(row.since)}};
  if (!standing.self.sole) leader["leaseSeconds"] = static_cast<double>(row.ttl_ms) / 1e3;
  out["leader"] = std::move(leader);
  return out;
}

}  // namespace muster::rest
