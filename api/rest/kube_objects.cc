// Takes Kubernetes paths apart, and reads, creates and deletes configuration objects; jobs go on to
// kube_jobs.h, changes to kube_changes.h. A path is api/VERSION/... for the core group and
// apis/GROUP/VERSION/... for others, then [namespaces/NS/]PLURAL[/NAME[/status]].
#include "api/rest/kube_objects.h"

#include <utility>

#include "api/rest/body.h"
#include "api/rest/http/plain_problem.h"
#include "api/rest/kube_changes.h"
#include "api/rest/kube_jobs.h"
#include "api/rest/kube_lists.h"
#include "api/rest/kube_warnings.h"
#include "api/rest/problem.h"
#include "api/rest/query_reader.h"
#include "api/service/tenancy.h"
#include "api/service/validate.h"
#include "schedd/text/lenient.h"

namespace muster::rest {
namespace {

// The supported part of DeleteOptions: preconditions and dryRun. Propagation and grace periods mean
// nothing for objects without dependents and are ignored.
struct DeleteWish {
  std::int64_t resource_version = 0;
  std::string uid;
  bool dry_run = false;
};
Result<DeleteWish> ReadDeleteWish(const Request& request) {
  DeleteWish wish;
  const Result<bool> dry_run = QueryReader(request).Flag("dryRun");
  if (!dry_run.ok()) return dry_run.error();
  wish.dry_run = *dry_run;
  if (request.body.find_first_not_of(" \t\r\n") == std::string::npos) return wish;
  Result<json::value> body = ReadDocument(request);
  if (!body.ok()) return body.error();
  const json::object* options = body->if_object();
  if (options == nullptr) return InvalidArgument("the body is not DeleteOptions");
  wish.dry_run = wish.dry_run || !ArrayOrEmpty(options, "dryRun").empty();
  if (const json::object* preconditions = FindObject(options, "preconditions")) {
    wish.uid = TextAt(preconditions, "uid");
    const auto version = api::ResourceVersionOf(preconditions->if_contains("resourceVersion"),
                                                "preconditions.resourceVersion");
    if (!version.ok()) return version.error();
    wish.resource_version = *version;
  }
  return wish;
}

// What a path of a collection names, in the words of roles.
auth::ResourceRef CollectionRef(const KubeTarget& target) {
  const KubeResource& resource = *target.resource;
  return {resource.group, resource.plural, "", target.ns, ""};
}

}  // namespace

KubeTarget KubeTargetOf(const Request& request) {
  const auto& path = request.segments;
  const bool core = path[0] == "api";
  std::size_t at = core ? 2 : 3;  // the segment after the version
  KubeTarget target;
  // "namespaces/X/plural" is a namespaced path; "namespaces/X" and "namespaces/X/status" are the
  // Namespace itself.
  const bool own_status = path.size() == at + 3 && path[at + 2] == "status";
  if (path.size() >= at + 3 && path[at] == "namespaces" && !own_status) {
    target.ns = path[at + 1];
    at += 2;
  }
  const KubeResource* found =
      FindKubeResource(core ? "" : path[1], path[at - (target.ns.empty() ? 1 : 3)], path[at]);
  if (path.size() > at + 1) target.name = path[at + 1];
  target.status = path.size() > at + 2;
  // A namespace in the path of a cluster-scoped kind, or one object of a namespaced kind without a
  // namespace, names nothing.
  if (found == nullptr || (!found->namespaced && !target.ns.empty())) return target;
  if (found->namespaced && target.ns.empty() && !target.name.empty()) return target;
  target.resource = found;
  return target;
}

Response KubeDeleted(const KubeTarget& target, const std::string& uid) {
  return JsonResponse(json::object{{"kind", "Status"},
                                   {"apiVersion", "v1"},
                                   {"metadata", json::object{}},
                                   {"status", "Success"},
                                   {"details", json::object{{"name", target.name},
                                                            {"group", target.resource->group},
                                                            {"kind", target.resource->plural},
                                                            {"uid", uid}}}});
}

Response KubeList(ApiContext& api, const Caller& who, Request& request) {
  const KubeTarget target = KubeTargetOf(request);
  if (target.resource == nullptr) return NoSuchPath(request);
  // A Namespace's status has the path of a list in it.
  if (target.status) return KubeGet(api, who, request);
  const QueryReader query(request);
  if (const Result<bool> watch = query.Flag("watch"); !watch.ok() || *watch) {
    const Status allowed = api.service.Allowed(who, auth::Verb::kWatch, CollectionRef(target));
    if (!allowed.ok()) return KubeError(allowed.error());
    return PlainProblem(true, 501, "watch is not supported by this version: follow /v1/events");
  }
  // Job kinds have pages of their own.
  if (target.resource->config == nullptr) return KubeListJobs(api, who, request, target);
  const Result<ListWish> wish = ReadListWish(request);
  if (!wish.ok()) return KubeError(wish.error());
  // The list's version is taken before the objects are read, so it is never newer than they are.
  const std::int64_t version = api.service.View()->last_seq;
  const Result<std::vector<json::value>> objects = api.service.ListObjects(
      who, target.resource->config->kind, target.ns, target.resource->version, true);
  if (!objects.ok()) return KubeError(objects.error());
  Result<ObjectPage> page = PageOf(*objects, *wish);
  if (!page.ok()) return KubeError(page.error());
  json::object metadata{{"resourceVersion", std::to_string(version)}};
  if (!page->next.empty()) metadata["continue"] = page->next;
  // As in Kubernetes the number is left out if a selector was given.
  if (!page->next.empty() && wish->selector.any()) metadata["remainingItemCount"] = page->remaining;
  return JsonResponse(json::object{{"kind", target.resource->kind + "List"},
                                   {"apiVersion", target.resource->api_version()},
                                   {"metadata", std::move(metadata)},
                                   {"items", std::move(page->items)}});
}

Response KubeGet(ApiContext& api, const Caller& who, Request& request) {
  const KubeTarget target = KubeTargetOf(request);
  if (target.resource == nullptr) return NoSuchPath(request);
  if (target.resource->config == nullptr) return KubeGetJob(api, who, target);
  const Result<json::value> object =
      api.service.GetObject(who, target.resource->config->kind, target.ns, target.name,
                            target.resource->version, target.Ask(auth::Verb::kGet));
  return object.ok() ? JsonResponse(*object) : KubeError(object.error());
}

void KubeCreate(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  const KubeTarget target = KubeTargetOf(request);
  if (target.resource == nullptr)
    return respond([response = NoSuchPath(request)] { return response; });
  if (target.resource->namespaced && target.ns.empty()) {
    return respond([] {
      return PlainProblem(true, 405, "objects of this kind are created below /namespaces/NAME");
    });
  }
  if (!TakesMedia(request))
    return respond([response = UnsupportedMedia(request)] { return response; });
  const Result<bool> dry_run = QueryReader(request).Flag("dryRun");
  if (!dry_run.ok()) return Refuse(respond, dry_run.error());
  Result<json::object> manifest = ManifestFor(target, ReadDocument(request));
  if (!manifest.ok()) return Refuse(respond, manifest.error());
  const Result<FieldValidation> validation = ReadFieldValidation(request);
  if (!validation.ok()) return Refuse(respond, validation.error());
  if (target.resource->config == nullptr) {
    json::value job(std::move(*manifest));
    Result<std::vector<std::string>> warnings = CheckFields(*validation, *target.resource, job);
    if (!warnings.ok()) return Refuse(respond, warnings.error());
    for (std::string& one : api::PodSecurityWarnings(*api.service.View()->config, target.ns, job))
      warnings->push_back(std::move(one));
    return KubeCreateJob(api, who, target, std::move(job), std::move(*warnings), *dry_run,
                         request.idempotency_key, std::move(respond));
  }
  const json::object& metadata = manifest->at("metadata").get_object();
  // As in Kubernetes: an object that does not exist has no version.
  if (!TextAt(metadata, "resourceVersion").empty()) {
    return Refuse(respond, InvalidField("metadata.resourceVersion",
                                        "must not be set on objects to be created"));
  }
  ObjectChange change;
  change.kind = target.resource->config->kind;
  change.ns = target.ns;
  change.name = TextAt(metadata, "name");
  change.manifest = WriteJson(*manifest);
  change.must_not_exist = true;
  ChangeOne(api, who, std::move(change), *dry_run, 201, target.resource->version, respond);
}

void KubeDelete(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  const KubeTarget target = KubeTargetOf(request);
  if (target.resource == nullptr)
    return respond([response = NoSuchPath(request)] { return response; });
  const Result<DeleteWish> wish = ReadDeleteWish(request);
  if (!wish.ok()) return Refuse(respond, wish.error());
  if (target.resource->config == nullptr) {
    if (!wish->uid.empty() || wish->resource_version != 0 || wish->dry_run) {
      return respond([] {
        return PlainProblem(
            true, 501,
            "preconditions and dryRun of a job's deletion are not supported by this version");
      });
    }
    return KubeDeleteJob(api, who, target, std::move(respond));
  }
  // The uid is needed for the precondition and for the answer.
  const Result<json::value> present =
      api.service.GetObject(who, target.resource->config->kind, target.ns, target.name,
                            target.resource->version, {auth::Verb::kDelete});
  if (!present.ok()) return Refuse(respond, present.error());
  const std::string uid = TextAt(*present, {"metadata", "uid"});
  if (!wish->uid.empty() && wish->uid != uid) {
    return Refuse(respond,
                  Aborted("the object's uid is " + uid + ", not the one of the precondition"));
  }
  ObjectChange change;
  change.kind = target.resource->config->kind;
  change.ns = target.ns;
  change.name = target.name;
  change.remove = true;
  change.must_exist = true;
  change.expected_resource_version = wish->resource_version;
  std::vector<ObjectChange> changes;
  changes.push_back(std::move(change));
  api.service.ChangeObjects(who, std::move(changes), wish->dry_run,
                            [respond, target, uid](Result<std::vector<AppliedObject>> applied) {
    respond([target, uid, applied = std::move(applied)] {
      return applied.ok() ? KubeDeleted(target, uid) : KubeError(applied.error());
    });
  });
}

}  // namespace muster::rest
