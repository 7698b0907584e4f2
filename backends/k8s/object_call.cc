#include "backends/k8s/object_call.h"

#include <utility>

#include "backends/k8s/member_json.h"
#include "backends/k8s/status/kinds.h"
#include "backends/k8s/status/reader.h"

namespace muster::k8s {
namespace {

constexpr std::int64_t kLookMs = 15'000, kWriteMs = 20'000;

}  // namespace

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

void ObjectCall::Get(Then then) {
  ApiRequest request;
  request.target = Path();
  request.timeout_ms = kLookMs;
  Request(std::move(request), false, std::move(then));
}

void ObjectCall::Send(Write write, std::string path, Then then) {
  ApiRequest request;
  request.method = write.method;
  request.target = std::move(path);
  if (!write.query.empty()) request.target += "?" + write.query;
  request.content_type = write.type;
  request.body = std::move(write.body);
  request.timeout_ms = kWriteMs;
  Request(std::move(request), !write.dry, std::move(then));
}

// All of it goes beside the jobs' reads: after what starts and makes them.
void ObjectCall::Request(ApiRequest request, bool writes, Then then) {
  request.urgency = Urgency::kRead;
  session_->client().Send(std::move(request),
                          [this, self = shared_from_this(), writes,
                           then = std::move(then)](const Result<ApiResponse>& answer) {
                            if (answer.ok()) return then(*answer);
                            Error error = answer.error();
                            if (error.code != Code::kUnknown || !writes)
                              error.code = Code::kUnavailable;
                            Lost(std::move(error));
                          });
}

std::string ObjectCall::Path() const {
  return ObjectPath(kind_.api_version, kind_.resource, ref_.ns, ref_.name);
}

std::string ObjectCall::CollectionOfIt() const {
  return CollectionPath(kind_.api_version, kind_.resource, ref_.ns);
}

bool IsNoSuchPath(const ApiResponse& response) {
  if (response.status != 404) return false;
  const auto body = ParseMemberJson(response.body);
  return !body.ok() || Reader(&*body)["details"]["name"].View().empty();
}

bool IsRefusal(const ApiResponse& response) {
  if (response.status == 401 || response.status == 429) return false;
  // A webhook that cannot be called, say: the API server itself is well.
  if (response.status == 500)
    return ReadApiStatus(response).reason == "InternalError" || IsOfNoSchema(response);
  return response.status < 500;
}

bool IsOfNoSchema(const ApiResponse& response) {
  return response.status == 500 &&
         response.body.find("failed to create typed patch object") != std::string::npos;
}

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
