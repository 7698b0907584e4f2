// GET and POST /v1/quotas, and GET /v1/clusterqueues/{name}/order. A quota is one (ClusterQueue,
// flavor, resource), its amounts are Kubernetes quantities, and null is no limit: a body with a
// limit of null removes it, one without the limit leaves it as it is.
#include "api/rest/handlers_quota.h"

#include <utility>

#include "api/rest/body.h"
#include "api/rest/problem.h"
#include "api/rest/query_reader.h"
#include "api/service/views.h"
#include "schedd/base/limits.h"
#include "schedd/base/quantity.h"
#include "schedd/base/quantity_text.h"
#include "schedd/base/time.h"

namespace muster::rest {
namespace {

json::value LimitJson(const std::string& resource, const std::optional<std::int64_t>& limit) {
  return limit ? json::value(FormatQuantity(resource, *limit)) : json::value(nullptr);
}

json::object QuotaJson(const api::QuotaView& view) {
  const std::string& resource = view.key.resource;
  return {{"clusterQueue", view.key.cluster_queue},
          {"flavor", view.key.flavor},
          {"resource", resource},
          {"nominal", FormatQuantity(resource, view.quota.nominal)},
          {"borrowingLimit", LimitJson(resource, view.quota.borrowing_limit)},
          {"lendingLimit", LimitJson(resource, view.quota.lending_limit)},
          {"used", FormatQuantity(resource, view.used)},
          {"reserved", FormatQuantity(resource, view.reserved)},
          {"borrowed", FormatQuantity(resource, view.borrowed)},
          {"available", FormatQuantity(resource, view.available)},
          {"etag", view.etag}};
}

// Positions of a queue in one answer, unless the request says otherwise.
constexpr std::int64_t kOrderItems = 100;

json::object MentionJson(const JobRecord& job) {
  return {{"id", job.id.value},
          {"namespace", job.ns},
          {"name", job.name},
          {"queue", job.local_queue},
          {"clusterQueue", job.cluster_queue},
          {"priority", job.priority},
          {"state", JobStateName(job.state)}};
}

json::array MentionsJson(const std::vector<JobPtr>& jobs) {
  json::array out;
  for (const JobPtr& job : jobs) out.push_back(MentionJson(*job));
  return out;
}

// A required text of the body.
Status ReadText(const json::object& body, const char* field, std::string* out) {
  const json::value* value = body.if_contains(field);
  if (value == nullptr) return InvalidField(field, "is required");
  if (!value->is_string()) return InvalidField(field, "must be a string");
  *out = std::string_view(value->get_string());
  return Done{};
}

// An amount of the body, if it is there; `clear` is set by null and is null where null is refused.
Status ReadAmount(const json::object& body, const char* field, const std::string& resource,
                  std::optional<std::int64_t>* out, bool* clear) {
  const json::value* value = body.if_contains(field);
  if (value == nullptr) return Done{};
  if (value->is_null() && clear != nullptr) {
    *clear = true;
    return Done{};
  }
  if (!value->is_string()) return InvalidField(field, "must be a quantity, as text");
  const std::string text(std::string_view(value->get_string()));
  const Result<std::int64_t> amount = ParseQuantity(resource, text);
  if (!amount.ok()) return InvalidField(field, amount.error().detail);
  if (!IsWholeAmount(resource, text)) return InvalidField(field, kWholeAmountRule);
  *out = *amount;
  return Done{};
}

constexpr const char* kFields[] = {"clusterQueue",   "flavor",       "resource", "nominal",
                                   "borrowingLimit", "lendingLimit", "etag"};

Result<api::QuotaEdit> ReadEdit(const Request& request) {
  const QueryReader query(request);
  if (const Status known = query.Only({"dryRun"}); !known.ok()) return known.error();
  const Result<bool> dry = query.Flag("dryRun");
  if (!dry.ok()) return dry.error();
  const Result<json::value> document = ReadDocument(request);
  if (!document.ok()) return document.error();
  if (!document->is_object()) return InvalidField("", "must be an object with one quota");
  const json::object& body = document->get_object();
  for (const auto& entry : body) {
    bool known = false;
    for (const char* field : kFields) known = known || entry.key() == field;
    if (!known) return InvalidField(std::string(entry.key()), "is not known");
  }
  api::QuotaEdit edit;
  edit.dry_run = *dry;
  const std::string& resource = edit.key.resource;
  Status read = ReadText(body, "clusterQueue", &edit.key.cluster_queue);
  if (read.ok()) read = ReadText(body, "flavor", &edit.key.flavor);
  if (read.ok()) read = ReadText(body, "resource", &edit.key.resource);
  if (read.ok() && body.contains("etag")) read = ReadText(body, "etag", &edit.etag);
  if (read.ok()) read = ReadAmount(body, "nominal", resource, &edit.nominal, nullptr);
  if (read.ok()) {
    read = ReadAmount(body, "borrowingLimit", resource, &edit.borrowing_limit,
                      &edit.clear_borrowing_limit);
  }
  if (read.ok()) {
    read =
        ReadAmount(body, "lendingLimit", resource, &edit.lending_limit, &edit.clear_lending_limit);
  }
  if (!read.ok()) return read.error();
  return edit;
}

}  // namespace

Response ListQuotas(ApiContext& api, const Caller& who, Request& request) {
  const QueryReader query(request);
  if (const Status known = query.Only({"clusterQueue"}); !known.ok())
    return ErrorResponse(request, known.error());
  const Result<std::vector<api::QuotaView>> quotas =
      api.service.ListQuotas(who, query.Text("clusterQueue"));
  if (!quotas.ok()) return ErrorResponse(request, quotas.error());
  json::array items;
  for (const api::QuotaView& quota : *quotas) items.push_back(QuotaJson(quota));
  return JsonResponse(json::object{{"items", std::move(items)}});
}

void EditQuota(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  Result<api::QuotaEdit> edit = ReadEdit(request);
  if (!edit.ok()) return respond([error = edit.error()] { return ErrorResponse(false, error); });
  api.service.SetQuota(who, std::move(*edit),
                       [respond = std::move(respond)](Result<api::QuotaEditResult> edited) {
    respond([edited = std::move(edited)] {
      if (!edited.ok()) return ErrorResponse(false, edited.error());
      return JsonResponse(
          json::object{{"quota", QuotaJson(edited->quota)},
                       {"wouldAdmit", MentionsJson(edited->effect.would_admit)},
                       {"wouldPreempt", MentionsJson(edited->effect.would_preempt)}});
    });
  });
}

Response QueueOrder(ApiContext& api, const Caller& who, Request& request) {
  const QueryReader query(request);
  if (const Status known = query.Only({"offset", "limit"}); !known.ok())
    return ErrorResponse(request, known.error());
  const auto offset = query.Number("offset", 0, 0, limits::kPageItemsMax);
  if (!offset.ok()) return ErrorResponse(request, offset.error());
  const auto limit = query.Number("limit", kOrderItems, 1, limits::kPageItems);
  if (!limit.ok()) return ErrorResponse(request, limit.error());
  const Result<api::QueueLine> line =
      api.service.QueueOrder(who, request.params[0], static_cast<std::size_t>(*offset),
                             static_cast<std::size_t>(*limit));
  if (!line.ok()) return ErrorResponse(request, line.error());
  json::array items;
  for (const api::QueueLine::Place& place : line->places) {
    json::object item = MentionJson(*place.job);
    item["position"] = place.position;
    item["displayName"] = place.job->display_name;
    item["user"] = place.job->user;
    item["submitTime"] = FormatRfc3339Micros(place.job->submit_time);
    item["reason"] = ReasonName(place.job->reason);
    item["message"] = place.job->message;
    items.push_back(std::move(item));
  }
  return JsonResponse(json::object{{"waiting", line->waiting}, {"items", std::move(items)}});
}

}  // namespace muster::rest
