#include "api/rest/handlers_script.h"

#include "api/rest/problem.h"
#include "schedd/text/lenient.h"

namespace muster::rest {

Response JobScript(ApiContext& api, const Caller& who, Request& request) {
  const Result<JobPtr> job = api.service.JobToLog(who, request.params[0]);
  if (!job.ok()) return ErrorResponse(request, job.error());
  if ((*job)->batch == nullptr || (*job)->batch->allocation_only) {
    return ErrorResponse(
        request, NotFound("job " + std::to_string((*job)->id.value) + " has no script of its own"));
  }
  const Result<json::value> manifest = api.service.ManifestOf(**job);
  if (!manifest.ok()) return ErrorResponse(request, manifest.error());
  return JsonResponse(
      json::object{{"script", TextAt(*manifest, {"spec", "script"})},
                   {"environment", ObjectOrEmpty(*manifest, {"spec", "environment"})}});
}

}  // namespace muster::rest
