// PUT and PATCH on Kubernetes paths: of configuration objects, of the few changeable fields of a
// job, and of the status that controllers of admission checks write.
//
// Both methods become the same thing: the object as it should be (Wanted). For PUT that is the
// body, for PATCH the present object with the patch applied. A configuration object is then
// replaced; its PATCH is fenced with the version it was made of, so a change in between is 409. For
// jobs and for status the service compares the present object with the wanted one and accepts only
// the differences that are allowed.
#include "api/rest/kube_changes.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "api/rest/body.h"
#include "api/rest/http/plain_problem.h"
#include "api/rest/json_patch.h"
#include "api/rest/kube_jobs.h"
#include "api/rest/kube_warnings.h"
#include "api/rest/problem.h"
#include "api/rest/query_reader.h"
#include "api/service/workload_edit.h"
#include "schedd/shapes/parts/canonical.h"

namespace muster::rest {
namespace {

// The object as the client wants it: the body of a PUT, or `now` with a PATCH applied. Its names
// must agree with the path.
Result<json::value> Wanted(const KubeTarget& target, const Request& request, json::value now) {
  Result<json::object> manifest =
      ManifestFor(target, request.method == Method::kPatch ? Patched(request, std::move(now))
                                                           : ReadDocument(request));
  if (!manifest.ok()) return manifest.error();
  json::value wanted(std::move(*manifest));
  // `now` has canonical quantities: the same amount written in another way is no change.
  shapes::CanonicaliseQuantities(&wanted);
  return wanted;
}

// What the request asks for, as in Kubernetes.
auth::Verb WriteVerb(const Request& request) {
  return request.method == Method::kPatch ? auth::Verb::kPatch : auth::Verb::kUpdate;
}

// The 415 for a format of the body that is not supported; nullopt if it is.
std::optional<Response> WrongMedia(const KubeTarget& target, const Request& request) {
  if (request.method != Method::kPatch) {
    if (!TakesMedia(request)) return UnsupportedMedia(request);
    return std::nullopt;
  }
  const PatchMedia media = PatchMediaOf(request.content_type);
  // As in Kubernetes, where only kinds that the server knows from their source can merge so.
  const bool taken = media == PatchMedia::kStrategic ? target.resource->is_built_in()
                                                     : media != PatchMedia::kOther;
  if (!taken) return UnsupportedPatch();
  return std::nullopt;
}

// The checks before any change: the path names a resource and the body's format is supported. False
// after an error was answered.
bool Readable(const KubeTarget& target, const Request& request, const Responder& respond) {
  if (target.resource == nullptr)
    return respond([response = NoSuchPath(request)] { return response; }), false;
  if (std::optional<Response> wrong = WrongMedia(target, request))
    return respond([response = std::move(*wrong)] { return response; }), false;
  // The parameter must have a known value and has no other effect here: unknown fields are refused
  // in any case.
  if (const auto validation = ReadFieldValidation(request); !validation.ok())
    return Refuse(respond, validation.error()), false;
  return true;
}

// Changes of jobs and of status have no dry run. True after the request was answered.
bool DryRunRefused(const Request& request, const Responder& respond) {
  const Result<bool> dry_run = QueryReader(request).Flag("dryRun");
  if (!dry_run.ok()) return Refuse(respond, dry_run.error()), true;
  if (!*dry_run) return false;
  respond([] {
    return PlainProblem(true, 501, "dryRun of such a change is not supported by this version");
  });
  return true;
}

// Replaces a configuration object. A PATCH without a resourceVersion is fenced with the version
// that it was applied to.
void WriteConfig(ApiContext& api, const Caller& who, const KubeTarget& target,
                 const Request& request, const Responder& respond) {
  const Result<bool> dry_run = QueryReader(request).Flag("dryRun");
  if (!dry_run.ok()) return Refuse(respond, dry_run.error());
  json::value now;
  std::int64_t read_at = 0;
  if (request.method == Method::kPatch) {
    Result<json::value> present =
        api.service.GetObject(who, target.resource->config->kind, target.ns, target.name,
                              target.resource->version, {auth::Verb::kPatch});
    if (!present.ok()) return Refuse(respond, present.error());
    // The answer shows the Secret, and without a change nothing else would be in the trail.
    if (*dry_run && target.resource->config->kind == ObjectKind::kSecret) {
      const Status noted = api.service.audit().Read(
          who, auth::Verb::kPatch, {"", target.resource->plural, "", target.ns, target.name});
      if (!noted.ok()) return Refuse(respond, noted.error());
    }
    now = std::move(*present);
    read_at = *api::WantedVersion(now);
  }
  const Result<json::value> wanted = Wanted(target, request, std::move(now));
  if (!wanted.ok()) return Refuse(respond, wanted.error());
  const Result<std::int64_t> version = api::WantedVersion(*wanted);
  if (!version.ok()) return Refuse(respond, version.error());
  ObjectChange change;
  change.kind = target.resource->config->kind;
  change.ns = target.ns;
  change.name = target.name;
  change.manifest = WriteJson(*wanted);
  change.must_exist = true;
  change.expected_resource_version = *version == 0 ? read_at : *version;
  ChangeOne(api, who, std::move(change), *dry_run, 200, target.resource->version, respond,
            WriteVerb(request));
}

// The service's method for a changed job: ReplaceJob or ReplaceWorkloadStatus.
using JobWriter = void (api::SchedulerService::*)(const Caller&, auth::Verb, const JobPtr&,
                                                  const json::value&, const json::value&,
                                                  Callback<JobPtr>);

// Changes a job, seen as its own kind or as a Workload.
void WriteJob(ApiContext& api, const Caller& who, const KubeTarget& target, const Request& request,
              const Responder& respond, JobWriter write) {
  if (DryRunRefused(request, respond)) return;
  const KubeResource& resource = *target.resource;
  const auth::Verb verb = WriteVerb(request);
  const Result<JobPtr> job = KubeFindJob(api, who, target, target.Ask(verb));
  if (!job.ok()) return Refuse(respond, job.error());
  const Result<json::value> now = KubeJobObject(api.service, resource, **job);
  if (!now.ok()) return Refuse(respond, now.error());
  const Result<json::value> wanted = Wanted(target, request, *now);
  if (!wanted.ok()) return Refuse(respond, wanted.error());
  (api.service.*write)(who, verb, *job, *now, *wanted,
                       [&service = api.service, &resource, respond](Result<JobPtr> changed) {
    respond([&service, &resource, changed = std::move(changed)] {
      if (!changed.ok()) return KubeError(changed.error());
      const auto object = KubeJobObject(service, resource, **changed);
      return object.ok() ? JsonResponse(*object) : KubeError(object.error());
    });
  });
}

// Changes the condition Active of an AdmissionCheck.
void WriteCheckStatus(ApiContext& api, const Caller& who, const KubeTarget& target,
                      const Request& request, const Responder& respond) {
  if (DryRunRefused(request, respond)) return;
  const auth::Verb verb = WriteVerb(request);
  const Result<json::value> now =
      api.service.GetObject(who, target.resource->config->kind, target.ns, target.name,
                            target.resource->version, target.Ask(verb));
  if (!now.ok()) return Refuse(respond, now.error());
  const Result<json::value> wanted = Wanted(target, request, *now);
  if (!wanted.ok()) return Refuse(respond, wanted.error());
  api.service.ReplaceCheckStatus(who, verb, target.name, *wanted,
                                 [&service = api.service, respond,
                                  version = target.resource->version](Result<ObjectPtr> object) {
    respond([&service, version, object = std::move(object)] {
      return object.ok() ? JsonResponse(service.ObjectWithStatus(**object, version))
                         : KubeError(object.error());
    });
  });
}

}  // namespace

Response KubeError(const Error& error) { return ErrorResponse(true, error); }
void Refuse(const Responder& respond, const Error& error) {
  respond([error] { return KubeError(error); });
}

Response NoSuchPath(const Request& request) {
  const auto& path = request.segments;
  // What `kubectl logs` and `get pods` ask for.
  if (path[0] == "api" && std::find(path.begin(), path.end(), "pods") != path.end()) {
    return PlainProblem(true, 404,
                        "Muster has no pods of its own: `muster logs JOB` and GET "
                        "/v1/jobs/{id}/logs read a job's logs, GET /v1/jobs/{id}/pods its pods");
  }
  return PlainProblem(true, 404, "the server has no such resource on this path");
}

Result<json::object> ManifestFor(const KubeTarget& target, Result<json::value> document) {
  if (!document.ok()) return document.error();
  json::object* object = document->if_object();
  if (object == nullptr) return InvalidArgument("the body is not an object");
  // Fills in an absent member; a different one is an error.
  const auto agree = [&](json::object& in, const char* key, const std::string& wanted,
                         const std::string& field) -> Status {
    json::value& value = in[key];
    if (value.is_null()) value = wanted;
    if (value.is_string() && value.get_string() == wanted) return Done{};
    return InvalidField(field, "must be \"" + wanted + "\" on this path");
  };
  if (const Status same =
          agree(*object, "apiVersion", target.resource->api_version(), "apiVersion");
      !same.ok())
    return same.error();
  if (const Status same = agree(*object, "kind", target.resource->kind, "kind"); !same.ok())
    return same.error();
  json::value& metadata = (*object)["metadata"];
  if (metadata.is_null()) metadata = json::object();
  if (!metadata.is_object()) return InvalidField("metadata", "must be an object");
  if (target.resource->namespaced) {
    const Status same = agree(metadata.get_object(), "namespace", target.ns, "metadata.namespace");
    if (!same.ok()) return same.error();
  }
  if (!target.name.empty()) {
    const Status same = agree(metadata.get_object(), "name", target.name, "metadata.name");
    if (!same.ok()) return same.error();
  }
  return std::move(*object);
}

void ChangeOne(ApiContext& api, const Caller& who, ObjectChange change, bool dry_run, int status,
               std::string version, const Responder& respond, auth::Verb replace) {
  std::vector<ObjectChange> changes{change};
  api.service.ChangeObjects(
      who, std::move(changes), dry_run,
      [&service = api.service, respond, status, version,
       change = std::make_shared<const ObjectChange>(std::move(change))](
          Result<std::vector<AppliedObject>> applied) {
    respond([&service, status, version, change, applied = std::move(applied)] {
      if (!applied.ok()) return KubeError(applied.error());
      Response response =
          JsonResponse(service.ObjectWithStatus(*applied->front().object, version), status);
      // Computed for what was accepted alone: it takes a copy of the configuration.
      AddWarnings(service.Warnings(*change), &response);
      return response;
    });
      },
      replace);
}

void KubeWrite(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  const KubeTarget target = KubeTargetOf(request);
  if (!Readable(target, request, respond)) return;
  if (target.resource->config != nullptr) return WriteConfig(api, who, target, request, respond);
  WriteJob(api, who, target, request, respond, &api::SchedulerService::ReplaceJob);
}

void KubeWriteStatus(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  const KubeTarget target = KubeTargetOf(request);
  if (!Readable(target, request, respond)) return;
  const KubeResource& resource = *target.resource;
  if (!resource.has_written_status()) {
    return respond([kind = resource.kind] {
      return PlainProblem(true, 405, "the status of a " + kind + " is written by Muster alone");
    });
  }
  if (resource.config != nullptr) return WriteCheckStatus(api, who, target, request, respond);
  WriteJob(api, who, target, request, respond, &api::SchedulerService::ReplaceWorkloadStatus);
}

}  // namespace muster::rest
