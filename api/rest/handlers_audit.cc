// The audit trail in three forms. Without a page token: the last rows that match, for people. With
// one: the rows after that number, in order, so that a reader may go through the whole trail and
// check its chain; the answer says where the chain begins (`chain`). With format=jsonl: all rows
// that match, one JSON object on a line, read in pages while the answer leaves; if the database
// fails in the middle, the answer ends with a line that has the problem.
#include "api/rest/handlers_audit.h"

#include <limits>
#include <memory>
#include <utility>

#include "api/rest/problem.h"
#include "api/rest/query_reader.h"
#include "api/service/views.h"
#include "schedd/base/limits.h"

namespace muster::rest {
namespace {

// Rows that are read at once for an answer of JSON lines: about a megabyte.
constexpr std::size_t kLinesAtOnce = 1000;

json::object AuditJson(const AuditRow& row) {
  return {{"id", row.id},
          {"time", FormatRfc3339Micros(row.time)},
          {"requestId", row.request_id},
          {"user", row.user},
          {"groups", json::array(row.groups.begin(), row.groups.end())},
          {"method", row.method},
          {"impersonator", row.impersonator},
          {"source", row.source},
          {"verb", row.verb},
          {"object", row.object},
          {"result", row.result},
          {"code", row.code},
          {"oldResourceVersion", row.old_version},
          {"newResourceVersion", row.new_version},
          {"count", row.count},
          {"detail", row.detail},
          {"prev", row.prev},
          {"hash", row.hash}};
}

Status ReadTime(const QueryReader& query, const char* name, WallTime* time) {
  const std::string text = query.Text(name);
  if (text.empty() || ParseRfc3339(text, time)) return Done{};
  return InvalidField(name, "must be a time such as 2026-11-21T10:00:00Z");
}

// What a request asks for; `lines`: as JSON lines.
Result<AuditQuery> QueryOf(const Request& request, bool* lines) {
  const QueryReader query(request);
  if (const Status known =
          query.Only({"since", "until", "user", "verb", "object", "limit", "page_token", "format"});
      !known.ok())
    return known.error();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::string format = query.Text("format");
  if (!format.empty() && format != "json" && format != "jsonl")
    return InvalidField("format", "must be json or jsonl");
  *lines = format == "jsonl";
  AuditQuery wanted;
  for (const auto& [name, time] : {std::pair("since", &wanted.since), {"until", &wanted.until}}) {
    if (const Status read = ReadTime(query, name, time); !read.ok()) return read.error();
  }
  wanted.user = query.Text("user");
  wanted.verb = query.Text("verb");
  wanted.object = query.Text("object");
  const auto limit = query.Number("limit", *lines ? kMost : limits::kAuditPage, 1,
                                  *lines ? kMost : limits::kAuditPageMax);
  if (!limit.ok()) return limit.error();
  wanted.limit = static_cast<std::size_t>(*limit);
  const auto after = query.Number("page_token", 0, 0, kMost);
  if (!after.ok()) return after.error();
  wanted.after = *after;
  wanted.last = !*lines && query.Text("page_token").empty();
  return wanted;
}

// The first page is read before the answer begins, so that a refusal has its status.
Response AuditLines(ApiContext& api, const Caller& who, AuditQuery query) {
  struct Reading {
    AuditQuery query;
    std::size_t left = 0;
    std::vector<AuditRow> rows;
  };
  auto reading = std::make_shared<Reading>();
  reading->left = query.limit;
  reading->query = std::move(query);
  reading->query.limit = std::min(reading->left, kLinesAtOnce);
  Result<std::vector<AuditRow>> first = api.service.Audit(who, reading->query);
  if (!first.ok()) return ErrorResponse(false, first.error());
  reading->rows = std::move(*first);
  Response response;
  response.content_type = "application/jsonl";
  response.producer = [&service = api.service, who, reading](std::string* out) {
    for (const AuditRow& row : reading->rows) *out += WriteJson(AuditJson(row)) + "\n";
    reading->left -= reading->rows.size();
    if (reading->rows.size() < reading->query.limit || reading->left == 0) return false;
    reading->query.after = reading->rows.back().id;
    reading->query.limit = std::min(reading->left, kLinesAtOnce);
    Result<std::vector<AuditRow>> next = service.Audit(who, reading->query);
    if (!next.ok()) {
      *out += WriteJson(json::object{{"problem", api::ProblemJson(next.error())}}) + "\n";
      return false;
    }
    reading->rows = std::move(*next);
    return true;
  };
  return response;
}

}  // namespace

Response ListAudit(ApiContext& api, const Caller& who, Request& request) {
  bool lines = false;
  Result<AuditQuery> query = QueryOf(request, &lines);
  if (!query.ok()) return ErrorResponse(request, query.error());
  if (lines) return AuditLines(api, who, std::move(*query));
  // The beginning first: what retention removes in between is then missing from the rows, and not
  // from the chain.
  const Result<AuditAnchor> begin = api.service.AuditBegin(who);
  if (!begin.ok()) return ErrorResponse(request, begin.error());
  const Result<std::vector<AuditRow>> rows = api.service.Audit(who, *query);
  if (!rows.ok()) return ErrorResponse(request, rows.error());
  json::array items;
  for (const AuditRow& row : *rows) items.push_back(AuditJson(row));
  json::object answer{{"items", std::move(items)},
                      {"chain", json::object{{"after", begin->last_id}, {"hash", begin->hash}}}};
  if (!query->last && rows->size() == query->limit)
    answer["next_page_token"] = std::to_string(rows->back().id);
  return JsonResponse(answer);
}

}  // namespace muster::rest
