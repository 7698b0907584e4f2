// ObjectCall: what the calls about one configuration object share.
#include "backends/k8s/object_call.h"

#include <utility>

#include "backends/k8s/api_calls.h"
#include "backends/k8s/member_json.h"
#include "backends/k8s/status/kinds.h"
#include "backends/k8s/status/reader.h"

namespace muster::k8s {
namespace {

constexpr char kOwnConflict[] = "conflict with \"muster\"";

}  // namespace

// Also compares the scope of the kind with that of the manifest.
void ObjectCall::Resolve(std::function<void()> then) {
  ObjectBook* const known = book();
  if (known == nullptr) return Lost(Unavailable("the member is being connected anew"));
  known->Resolve(ref_, [this, self = shared_from_this(),
                        then = std::move(then)](const Result<ServedKind>& kind) {
    if (!kind.ok()) {
      if (kind.error().code != Code::kNotFound) return Lost(kind.error());
      return Unserved(kind.error().detail);
    }
    kind_ = *kind;
    if (kind_.namespaced && ref_.ns.empty())
      return Unserved(ref_.kind + " is namespaced there, and the manifest names no namespace");
    if (!kind_.namespaced && !ref_.ns.empty())
      return Unserved(ref_.kind + " is cluster-scoped there, and the manifest names a namespace");
    then();
  });
}

void ObjectCall::Get(AnswerHandler then) {
  ApiRequest request;
  request.target = Path();
  request.timeout_ms = kCallMs;
  Request(std::move(request), false, std::move(then));
}

void ObjectCall::Send(WriteRequest write, std::string path, AnswerHandler then) {
  ApiRequest request;
  request.method = write.method;
  request.target = std::move(path);
  if (!write.query.empty()) request.target += "?" + write.query;
  request.content_type = write.type;
  request.body = std::move(write.body);
  request.timeout_ms = kWriteMs;
  Request(std::move(request), !write.dry, std::move(then));
}

// Sends with the urgency of reads: after releases and creations of jobs. A lost answer is kUnknown
// only if the request may have changed something.
void ObjectCall::Request(ApiRequest request, bool writes, AnswerHandler then) {
  request.urgency = Urgency::kRead;
  session_->client().Send(std::move(request),
                          [this, self = shared_from_this(), writes,
                           then = std::move(then)](const Result<ApiResponse>& answer) {
    if (answer.ok()) return then(*answer);
    Error error = answer.error();
    if (error.code != Code::kUnknown || !writes) error.code = Code::kUnavailable;
    Lost(std::move(error));
  });
}

std::string ObjectCall::Path() const {
  return ObjectPath(kind_.api_version, kind_.resource, ref_.ns, ref_.name);
}

std::string ObjectCall::CollectionOfIt() const {
  return CollectionPath(kind_.api_version, kind_.resource, ref_.ns);
}

// In a 404 about an object the API server names the object in details.name; a 404 for the path has
// none.
bool IsNoSuchPath(const ApiResponse& response) {
  if (response.status != 404) return false;
  const auto body = ParseMemberJson(response.body);
  return !body.ok() || Reader(&*body)["details"]["name"].View().empty();
}

bool IsRefusal(const ApiResponse& response) {
  if (response.status == 401 || response.status == 429) return false;
  // Such as a webhook that cannot be called: the API server itself works.
  if (response.status == 500)
    return ReadApiStatus(response).reason == "InternalError" || IsOfNoSchema(response);
  return response.status < 500;
}

bool IsOfNoSchema(const ApiResponse& response) {
  return response.status == 500 &&
         response.body.find("failed to create typed patch object") != std::string::npos;
}

// The API server lists each field conflict as a cause, with the other manager's name in its
// message.
ApplyConflict ConflictIn(const ApiResponse& response) {
  const auto body = ParseMemberJson(response.body);
  ApplyConflict found = ApplyConflict::kNone;
  if (!body.ok()) return found;
  Reader(&*body)["details"]["causes"].Each([&](const Reader& cause) {
    if (cause["reason"].View() != "FieldManagerConflict") return;
    const bool own = cause["message"].View().starts_with(kOwnConflict);
    if (!own) found = ApplyConflict::kOthers;
    if (own && found == ApplyConflict::kNone) found = ApplyConflict::kOwn;
  });
  return found;
}

// A write that got a 5xx may have been carried out.
Error TroubleOf(const ApiResponse& response, bool writes) {
  Error error = ErrorOf(response);
  error.code = writes && response.status >= 500 ? Code::kUnknown : Code::kUnavailable;
  return error;
}

std::optional<json::object> ObjectOf(const ApiResponse& response) {
  auto body = ParseMemberJson(response.body);
  if (!body.ok() || !body->is_object()) return std::nullopt;
  return body->get_object();
}

}  // namespace muster::k8s
