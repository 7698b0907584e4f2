// Handlers that read and steer jobs: lists, one job, its events and pods, accounting, and the
// verbs.
//
// A list of jobs is rendered as text by AppendJobView, one job per line. A list with more than
// kWholeItems jobs is rendered on the pool while it leaves, one piece of 64 KB after another, so
// that an answer of 200,000 jobs is never in memory as a whole. Accounting joins the jobs with
// their attempts.
#include "api/rest/handlers_jobs.h"

#include <charconv>
#include <limits>
#include <memory>
#include <utility>

#include "api/rest/problem.h"
#include "api/rest/query_reader.h"
#include "api/service/explain_json.h"
#include "api/service/job_table.h"
#include "api/service/job_view.h"
#include "api/service/views.h"
#include "schedd/base/limits.h"
#include "schedd/base/limits_slurm_steps_store.h"

namespace muster::rest {
namespace {

// The pieces of a list that is rendered while it leaves.
constexpr std::size_t kPieceBytes = 64 << 10;
// Lists up to this length are sent as a whole, with their Content-Length.
constexpr std::size_t kWholeItems = 64;

Result<api::JobFilter> ReadFilter(const QueryReader& query) {
  api::JobFilter filter;
  filter.ns = query.Text("namespace");
  filter.queue = query.Text("queue");
  filter.user = query.Text("user");
  filter.name = query.Text("name");
  const auto array = query.Number("array", 0, 1, std::numeric_limits<std::int64_t>::max());
  if (!array.ok()) return array.error();
  filter.array = JobId{*array};
  for (const std::string& name : query.List("state")) {
    const std::optional<JobState> state = JobStateOf(name);
    if (!state) {
      return InvalidField(
          "state",
          "\"" + name +
              "\" is none of Held, Pending, Admitted, Running, Succeeded, Failed and Cancelled");
    }
    filter.states.push_back(*state);
  }
  if (const std::string kind = query.Text("kind"); !kind.empty()) {
    for (const ShapeInfo& info : kShapeInfos) {
      if (info.name == kind) filter.shape = info.kind;
    }
    if (!filter.shape) return InvalidField("kind", "\"" + kind + "\" is not a kind of job");
  }
  if (const std::string text = query.Text("since");
      !text.empty() && !ParseRfc3339(text, &filter.ended_since)) {
    return InvalidField("since", "must be a time such as 2026-11-21T10:00:00Z");
  }
  return filter;
}

// The end of a list, after its last item.
std::string ListTail(const std::string& token, std::optional<std::size_t> total = {}) {
  std::string tail = "\n],\"next_page_token\":";
  tail += WriteJson(json::value(token));
  if (total) tail += ",\"total\":" + std::to_string(*total);
  return tail += '}';
}

// {"items":[...],"next_page_token":...}, one item per line.
Response PageResponse(api::JobPage page, api::JobMembers members,
                      std::optional<std::size_t> total = {}) {
  // Step appends the next piece and returns false after the last one. Each job is released when it
  // is written.
  struct PageRenderer {
    api::JobPage page;
    api::JobMembers members;
    std::optional<std::size_t> total;
    std::size_t next = 0;
    bool Step(std::string* out) {
      if (next == 0) *out += "{\"items\":[";
      const std::size_t begin = out->size();
      while (next < page.items.size() && out->size() - begin < kPieceBytes) {
        *out += next == 0 ? "\n" : ",\n";
        api::AppendJobView(*page.items[next], members, out);
        page.items[next++].reset();
      }
      if (next < page.items.size()) return true;
      *out += ListTail(page.next_page_token, total);
      return false;
    }
  };
  auto rendering = std::make_shared<PageRenderer>();
  rendering->page = std::move(page);
  rendering->members = members;
  rendering->total = total;
  Response response;
  if (rendering->page.items.size() <= kWholeItems) {
    while (rendering->Step(&response.body)) {
    }
  } else {
    response.producer = [rendering](std::string* out) { return rendering->Step(out); };
  }
  return response;
}

Response EventsResponse(const std::vector<Event>& events) {
  json::array items;
  for (const Event& event : events) items.push_back(api::EventJson(event));
  return JsonResponse(json::object{{"items", std::move(items)}});
}

// The common part of the verbs on a job.
void Change(ApiContext& api, const Caller& who, Request& request, JobVerb verb, int status,
            const Responder& respond) {
  if (const Status query = QueryReader(request).Only({}); !query.ok()) {
    return respond([error = query.error()] { return ErrorResponse(false, error); });
  }
  api.service.ChangeJob(who, request.params[0], verb, [respond, status](Result<JobPtr> job) {
    respond([job = std::move(job), status] {
      return job.ok() ? JobResponse(**job, status) : ErrorResponse(false, job.error());
    });
  });
}

// The jobs of ?ids=1,2 (each must exist), or a page of the jobs that pass the filters.
Result<api::JobPage> AccountedJobs(ApiContext& api, const Caller& who, const QueryReader& query) {
  const std::vector<std::string> ids = query.List("ids");
  if (ids.size() > limits::kPageItems) {
    return InvalidField("ids",
                        "at most " + std::to_string(limits::kPageItems) + " ids fit one request");
  }
  api::JobPage page;
  for (const std::string& id : ids) {
    Result<JobPtr> job = api.service.GetJob(who, id);
    if (!job.ok()) return job.error();
    page.items.push_back(std::move(*job));
  }
  if (!ids.empty()) return page;
  Result<api::JobFilter> filter = ReadFilter(query);
  if (!filter.ok()) return filter.error();
  filter->rule = api::ListRule::kAccounting;
  const auto limit = query.Number("limit", limits::kPageItems, 1, limits::kPageItems);
  if (!limit.ok()) return limit.error();
  return api.service.ListJobs(who, *filter, query.Text("page_token"),
                              static_cast<std::size_t>(*limit));
}

// What is kept for a table is dropped some time after the last person has looked at it.
void ForgetTablesLater(ApiContext& api) {
  if (api.tables_watched.exchange(true)) return;
  api.workers->After(limits::kTableKeptMs, [&api] {
    api.workers->PostTable([&api] {
      api.tables_watched = false;
      if (api.tables.ForgetOld()) ForgetTablesLater(api);
    });
  });
}

Response TablePiece(ApiContext& api, const Caller& who, const Request& request,
                    api::JobTableAsk ask, api::JobMembers members) {
  const QueryReader query(request);
  if (request.Query("page_token") != nullptr) {
    return ErrorResponse(request, InvalidField("page_token",
                                               "goes with no search, sort or "
                                               "offset: offset finds the next piece"));
  }
  ask.text = query.Text("search");
  std::string sort = query.Text("sort");
  ask.descending = sort.starts_with('-');
  if (ask.descending) sort.erase(0, 1);
  const std::optional<api::JobColumn> order = api::JobColumnOf(sort.empty() ? "id" : sort);
  if (!order) {
    return ErrorResponse(
        request, InvalidField("sort", "\"" + sort + "\" is nothing that jobs are sorted by"));
  }
  ask.order = *order;
  const auto offset = query.Number("offset", 0, 0, limits::kPageItemsMax);
  if (!offset.ok()) return ErrorResponse(request, offset.error());
  ask.offset = static_cast<std::size_t>(*offset);
  ForgetTablesLater(api);
  Result<api::JobTable> table = api.tables.Piece(who, ask);
  if (!table.ok()) return ErrorResponse(request, table.error());
  return PageResponse({std::move(table->items), ""}, members, table->total);
}

}  // namespace

bool IsTable(const Request& request) {
  return request.Query("search") != nullptr || request.Query("sort") != nullptr ||
         request.Query("offset") != nullptr;
}

Response CountJobs(ApiContext& api, const Caller& who, Request& request) {
  const QueryReader query(request);
  const Status known = query.Only(
      {"by", "namespace", "queue", "state", "user", "name", "kind", "array", "since", "search"});
  if (!known.ok()) return ErrorResponse(request, known.error());
  const Result<api::JobFilter> filter = ReadFilter(query);
  if (!filter.ok()) return ErrorResponse(request, filter.error());
  const std::string by = query.Text("by");
  const std::optional<api::JobColumn> column = api::JobColumnOf(by.empty() ? "state" : by);
  if (!column || !api::CanCountBy(*column)) {
    return ErrorResponse(request,
                         InvalidField("by", "\"" + by + "\" is nothing that jobs are counted by"));
  }
  ForgetTablesLater(api);
  const auto counts = api.tables.CountBy(who, *filter, query.Text("search"), *column);
  if (!counts.ok()) return ErrorResponse(request, counts.error());
  std::size_t total = 0;
  json::array groups;
  for (const auto& [value, one] : *counts) {
    total += one.count;
    json::object states;
    for (const auto& [state, count] : one.states) states[JobStateName(state)] = count;
    groups.push_back(
        json::object{{"value", value}, {"count", one.count}, {"states", std::move(states)}});
  }
  return JsonResponse(json::object{{"total", total}, {"groups", std::move(groups)}});
}

Response ListJobs(ApiContext& api, const Caller& who, Request& request) {
  const QueryReader query(request);
  const Status known =
      query.Only({"id", "namespace", "queue", "state", "user", "name", "kind", "array", "since",
                  "fields", "limit", "page_token", "search", "sort", "offset"},
                 "id");
  if (!known.ok()) return ErrorResponse(request, known.error());
  Result<api::JobFilter> filter = ReadFilter(query);
  if (!filter.ok()) return ErrorResponse(request, filter.error());
  Result<std::vector<JobId>> ids = query.Ids("id", limits::kListedIds);
  if (!ids.ok()) return ErrorResponse(request, ids.error());
  // "id=" names no job, which must not list all of them.
  if (ids->empty() && request.Query("id") != nullptr)
    return ErrorResponse(request, InvalidField("id", "names no job"));
  filter->ids = std::move(*ids);
  Result<api::JobMembers> members = api::JobMembers::All();
  if (request.Query("fields") != nullptr) members = api::JobMembersOf(query.List("fields"));
  if (!members.ok()) return ErrorResponse(request, members.error());
  const auto limit = query.Number("limit", limits::kPageItems, 1, limits::kPageItemsMax);
  if (!limit.ok()) return ErrorResponse(request, limit.error());
  if (IsTable(request))
    return TablePiece(api, who, request,
                      {*filter, {}, {}, {}, {}, static_cast<std::size_t>(*limit)}, *members);
  Result<api::JobPage> page = api.service.ListJobs(who, *filter, query.Text("page_token"),
                                                   static_cast<std::size_t>(*limit));
  return page.ok() ? PageResponse(std::move(*page), *members)
                   : ErrorResponse(request, page.error());
}

Response GetJob(ApiContext& api, const Caller& who, Request& request) {
  const Result<JobPtr> job = api.service.GetJob(who, request.params[0]);
  return job.ok() ? JobResponse(**job) : ErrorResponse(request, job.error());
}

Response ExplainJob(ApiContext& api, const Caller& who, Request& request) {
  const Result<api::JobExplanation> explained = api.service.Explain(who, request.params[0]);
  return explained.ok() ? JsonResponse(api::ExplanationJson(*explained))
                        : ErrorResponse(request, explained.error());
}

Response JobEvents(ApiContext& api, const Caller& who, Request& request) {
  const Result<std::vector<Event>> events = api.service.JobEvents(who, request.params[0]);
  return events.ok() ? EventsResponse(*events) : ErrorResponse(request, events.error());
}

Response JobPods(ApiContext& api, const Caller& who, Request& request) {
  const Result<std::vector<PodStatus>> pods = api.service.Pods(who, request.params[0]);
  if (!pods.ok()) return ErrorResponse(request, pods.error());
  json::array items;
  // If the containers' names cannot be read, the pods are answered without them.
  const Result<shapes::ContainersBySet> containers = api.service.Containers(who, request.params[0]);
  for (const PodStatus& pod : *pods) {
    json::object item = api::PodJson(pod);
    if (containers.ok()) {
      const auto names = containers->find(pod.pod_set);
      if (names != containers->end())
        item["containers"] = json::array(names->second.begin(), names->second.end());
    }
    items.push_back(std::move(item));
  }
  return JsonResponse(json::object{{"items", std::move(items)}});
}

Response JobMemberEvents(ApiContext& api, const Caller& who, Request& request) {
  const Result<std::vector<MemberEvent>> events = api.service.MemberEvents(who, request.params[0]);
  if (!events.ok()) return ErrorResponse(request, events.error());
  json::array items;
  for (const MemberEvent& event : *events) items.push_back(api::MemberEventJson(event));
  return JsonResponse(json::object{{"items", std::move(items)}});
}

Response Accounting(ApiContext& api, const Caller& who, Request& request) {
  const QueryReader query(request);
  const Status known = query.Only({"ids", "since", "namespace", "queue", "state", "user", "kind",
                                   "array", "limit", "page_token"});
  if (!known.ok()) return ErrorResponse(request, known.error());
  const Result<api::JobPage> page = AccountedJobs(api, who, query);
  if (!page.ok()) return ErrorResponse(request, page.error());
  // The attempts of all jobs of the page are read at once.
  const Result<std::vector<AttemptRecord>> attempts = api.service.Attempts(who, page->items);
  if (!attempts.ok()) return ErrorResponse(request, attempts.error());
  std::map<JobId, json::array> by_job;
  for (const AttemptRecord& attempt : *attempts)
    by_job[attempt.job].push_back(api::AttemptJson(attempt));
  Response response;
  response.body = "{\"items\":[";
  for (std::size_t i = 0; i < page->items.size(); ++i) {
    response.body += i == 0 ? "\n{\"job\":" : ",\n{\"job\":";
    api::AppendJobView(*page->items[i], &response.body);
    response.body += ",\"attempts\":" + WriteJson(by_job[page->items[i]->id]) + "}";
  }
  response.body += ListTail(page->next_page_token);
  return response;
}

void CancelJob(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  Change(api, who, request, JobVerb::kCancel, 202, respond);
}
void ReleaseJob(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  Change(api, who, request, JobVerb::kRelease, 200, respond);
}

}  // namespace muster::rest
