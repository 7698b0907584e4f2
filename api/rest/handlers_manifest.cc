// What was sent is not kept: it is made anew by the function that made it, of the same record.
#include "api/rest/handlers_manifest.h"

#include "api/rest/problem.h"
#include "schedd/shapes/kinds/shape.h"

namespace muster::rest {
namespace {

// What the member has of the job, the job's own object first.
Result<json::array> SentManifests(ApiContext& api, const JobRecord& job,
                                  const json::value& submitted) {
  const Result<std::string> instance = api.service.store().InstanceId();
  if (!instance.ok()) return instance.error();
  const WorldViewPtr view = api.service.View();
  Result<shapes::RenderedJob> rendered =
      shapes::Render(job, submitted, *view->config, {*instance, false, api.default_image});
  if (!rendered.ok()) return rendered.error();
  json::array sent;
  sent.push_back(std::move(rendered->object.manifest));
  for (shapes::RenderedObject& one : rendered->dependents)
    sent.push_back(std::move(one.manifest));
  return sent;
}

}  // namespace

Response JobManifest(ApiContext& api, const Caller& who, Request& request) {
  const Result<JobPtr> job = api.service.GetJob(who, request.params[0]);
  if (!job.ok()) return ErrorResponse(request, job.error());
  const Result<json::value> submitted = api.service.ManifestFor(who, **job);
  if (!submitted.ok()) return ErrorResponse(request, submitted.error());
  json::object answer{{"submitted", *submitted}, {"sent", nullptr}};
  // Its member has the script too.
  if ((*job)->admission != nullptr && api.service.MayReadScript(who, **job)) {
    Result<json::array> sent = SentManifests(api, **job, *submitted);
    if (sent.ok()) answer["sent"] = std::move(*sent);
  }
  return JsonResponse(answer);
}

}  // namespace muster::rest
