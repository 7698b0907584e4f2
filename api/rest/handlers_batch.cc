#include "api/rest/handlers_batch.h"

#include <utility>
#include <vector>

#include "api/rest/body.h"
#include "api/rest/problem.h"
#include "api/rest/query_reader.h"
#include "schedd/text/json.h"

namespace muster::rest {
namespace {

// The body of a verb: an object, or nothing.
Result<json::object> OptionsOf(const Request& request) {
  if (const Status query = QueryReader(request).Only({}); !query.ok()) return query.error();
  if (request.body.empty()) return json::object();
  Result<json::value> body = ReadDocument(request);
  if (!body.ok()) return body.error();
  if (!body->is_object()) return InvalidField("", "must be an object");
  return std::move(body->get_object());
}

// Reads members that are true or false; others are refused.
Status ReadFlags(const json::object& options,
                 const std::vector<std::pair<std::string_view, bool*>>& flags) {
  for (const auto& entry : options) {
    bool known = false;
    for (const auto& [name, flag] : flags) {
      if (entry.key() != name) continue;
      if (!entry.value().is_bool()) return InvalidField(std::string(name), "must be true or false");
      *flag = entry.value().get_bool();
      known = true;
    }
    if (!known) return InvalidField(std::string(entry.key()), "is not known");
  }
  return Done{};
}

void RefuseOnV1(const Responder& respond, const Error& error) {
  respond([error] { return ErrorResponse(false, error); });
}

Callback<JobPtr> AnswerWith(const Responder& respond) {
  return [respond](Result<JobPtr> job) {
    respond([job = std::move(job)] {
      return job.ok() ? JobResponse(**job) : ErrorResponse(false, job.error());
    });
  };
}

void WithOptions(ApiContext& api, const Caller& who, Request& request, JobVerb verb,
                 const Responder& respond) {
  const Result<json::object> body = OptionsOf(request);
  if (!body.ok()) return RefuseOnV1(respond, body.error());
  api::VerbOptions options;
  std::vector<std::pair<std::string_view, bool*>> flags;
  if (verb == JobVerb::kHold) flags = {{"byAdmin", &options.by_admin}};
  if (verb == JobVerb::kRequeue)
    flags = {{"hold", &options.hold}, {"specialExit", &options.special_exit}};
  if (const Status read = ReadFlags(*body, flags); !read.ok())
    return RefuseOnV1(respond, read.error());
  if (options.special_exit && !options.hold)
    return RefuseOnV1(respond, InvalidField("specialExit", "needs hold"));
  api.service.ChangeJob(who, request.params[0], verb, AnswerWith(respond), options);
}

}  // namespace

void HoldJob(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  WithOptions(api, who, request, JobVerb::kHold, respond);
}
void RequeueJob(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  WithOptions(api, who, request, JobVerb::kRequeue, respond);
}
void SuspendJob(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  WithOptions(api, who, request, JobVerb::kSuspend, respond);
}
void ResumeJob(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  WithOptions(api, who, request, JobVerb::kResume, respond);
}
void KeepJob(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  WithOptions(api, who, request, JobVerb::kKeep, respond);
}

void UpdateJob(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  const Result<json::object> fields = OptionsOf(request);
  if (!fields.ok()) return RefuseOnV1(respond, fields.error());
  api.service.UpdateJob(who, request.params[0], *fields, AnswerWith(respond));
}

}  // namespace muster::rest
