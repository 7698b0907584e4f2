// One method per RPC of QueueService: configuration objects as the JSON that Kubernetes paths
// answer with, and Apply for files of any accepted kind. An object's kind may be given as kind or
// plural.
#include "api/grpc/queue_service.h"

#include <utility>

#include "api/grpc/call.h"
#include "api/grpc/convert.h"
#include "api/service/validate.h"
#include "schedd/text/documents.h"
#include "schedd/text/lenient.h"

namespace muster::api {
namespace {

// Refuses a name that is no configuration kind; jobs have JobService.
Result<const shapes::KindInfo*> KindOf(const std::string& name) {
  if (const shapes::KindInfo* info = FindKindByName(name)) return info;
  return InvalidField("kind", "\"" + name + "\" is not a kind of queue object");
}

// "" for cluster-scoped kinds, `default` if a namespaced kind has no namespace given.
std::string NamespaceOf(const shapes::KindInfo& info, const std::string& given) {
  if (!info.namespaced) return {};
  return given.empty() ? "default" : given;
}

// What a removal answers: of a Secret only which it was, since the right to delete does not give
// its data.
json::value Shown(json::value object, ObjectKind kind) {
  if (kind != ObjectKind::kSecret || !object.is_object()) return object;
  json::object out;
  for (const char* member : {"apiVersion", "kind"}) {
    if (const json::value* found = object.get_object().if_contains(member)) out[member] = *found;
  }
  // Annotations may repeat the data, as the one of `kubectl apply` does.
  json::object& metadata = MakeObjectAt(out, "metadata");
  const json::value* given = object.get_object().if_contains("metadata");
  for (const char* member : {"name", "namespace", "uid", "resourceVersion", "generation",
                             "creationTimestamp", "labels"}) {
    const json::object* from = given == nullptr ? nullptr : given->if_object();
    const json::value* found = from == nullptr ? nullptr : from->if_contains(member);
    if (found != nullptr) metadata[member] = *found;
  }
  return out;
}

}  // namespace

grpc::ServerUnaryReactor* QueueServiceImpl::GetObject(grpc::CallbackServerContext* context,
                                                      const v1::GetObjectRequest* request,
                                                      v1::QueueObject* response) {
  const Result<auth::Principal> who = CallerOf(*context, callers_);
  if (!who.ok()) return Refuse(context, who.error());
  const Result<const shapes::KindInfo*> info = KindOf(request->kind());
  if (!info.ok()) return Refuse(context, info.error());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  Answer(context, reactor,
         service_.GetObject(*who, (*info)->kind, NamespaceOf(**info, request->namespace_()),
                            request->name()),
         [response](const json::value& object) { ToProto(object, response); });
  return reactor;
}

grpc::ServerUnaryReactor* QueueServiceImpl::ListObjects(grpc::CallbackServerContext* context,
                                                        const v1::ListObjectsRequest* request,
                                                        v1::ListObjectsResponse* response) {
  const Result<auth::Principal> who = CallerOf(*context, callers_);
  if (!who.ok()) return Refuse(context, who.error());
  const Result<const shapes::KindInfo*> info = KindOf(request->kind());
  if (!info.ok()) return Refuse(context, info.error());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  Answer(context, reactor, service_.ListObjects(*who, (*info)->kind, request->namespace_()),
         [response](const std::vector<json::value>& objects) {
    for (const json::value& object : objects) ToProto(object, response->add_items());
  });
  return reactor;
}

grpc::ServerUnaryReactor* QueueServiceImpl::Apply(grpc::CallbackServerContext* context,
                                                  const v1::ApplyRequest* request,
                                                  v1::ApplyResponse* response) {
  const Result<auth::Principal> who = CallerOf(*context, callers_);
  if (!who.ok()) return Refuse(context, who.error());
  // One budget for all documents of the request.
  ParseBudget budget = ParseBudget::ForRequest();
  Result<std::vector<json::value>> documents = ParseDocuments(request->documents(), &budget);
  if (!documents.ok() && request->dry_run()) return Refuse(context, documents.error());
  if (!documents.ok()) return Refuse(context, service_, *who, "apply", "grpc", documents.error());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  service_.Apply(*who, request->namespace_(), std::move(*documents), request->dry_run(),
                 Audited(
                     service_, *who, "apply", "grpc",
                     [context, reactor, response](Result<std::vector<DocumentOutcome>> outcomes) {
    Answer(context, reactor, outcomes, [&](const std::vector<DocumentOutcome>& all) {
      for (const DocumentOutcome& outcome : all) ToProto(outcome, response->add_items());
    });
                     },
                     request->dry_run()));
  return reactor;
}

grpc::ServerUnaryReactor* QueueServiceImpl::DeleteObject(grpc::CallbackServerContext* context,
                                                         const v1::DeleteObjectRequest* request,
                                                         v1::QueueObject* response) {
  const Result<auth::Principal> who = CallerOf(*context, callers_);
  if (!who.ok()) return Refuse(context, who.error());
  const Result<const shapes::KindInfo*> info = KindOf(request->kind());
  if (!info.ok())
    return Refuse(context, service_, *who, "delete", request->kind() + "/" + request->name(),
                  info.error());
  ObjectChange change;
  change.kind = (*info)->kind;
  change.ns = NamespaceOf(**info, request->namespace_());
  change.name = request->name();
  change.remove = true;
  change.expected_resource_version = request->resource_version();
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  service_.ChangeObjects(
      *who, {std::move(change)}, false,
      Audited(service_, *who, "delete", request->kind() + "/" + request->name(),
              [this, context, reactor, response](Result<std::vector<AppliedObject>> applied) {
    Answer(context, reactor, applied, [&](const std::vector<AppliedObject>& all) {
      // The object as it was when it was deleted.
      if (!all.empty() && all.front().object != nullptr) {
        ToProto(Shown(service_.ObjectWithStatus(*all.front().object), all.front().object->kind),
                response);
      }
    });
      }));
  return reactor;
}

}  // namespace muster::api
