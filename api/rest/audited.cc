// The end of a request is seen in the error of its answer, so that errors of every layer are noted,
// also those that a handler found itself. The object of the row is the path, and the verb is that
// of the path ("hold" of jobs/7:hold) or of the method: what the request named may not exist.
#include "api/rest/audited.h"

#include <memory>
#include <utility>

namespace muster::rest {
namespace {

std::string PathOf(const Request& request) {
  std::string path;
  for (const std::string& segment : request.segments) path += "/" + segment;
  return path;
}

std::string VerbOf(const Request& request) {
  const std::string& last = request.segments.empty() ? "" : request.segments.back();
  const std::size_t colon = last.rfind(':');
  if (request.method == Method::kPost && colon != std::string::npos) return last.substr(colon + 1);
  switch (request.method) {
    case Method::kGet:
      return "get";
    case Method::kPost:
      return "create";
    case Method::kPut:
      return "update";
    case Method::kPatch:
      return "patch";
    case Method::kDelete:
      return "delete";
  }
  return "";
}

// Notes an answer that says what went wrong.
void NoteFailure(ApiContext& api, const Caller& who, const std::string& verb,
                 const std::string& object, const Response& response) {
  if (response.error) api.service.audit().Failed(who, verb, object, *response.error);
}

// A request that changes something, as its row of the audit trail names it.
struct AuditedRequest {
  ApiContext& api;
  const Caller who;
  const std::string verb, object;
};

// Carries the answer on to the responder behind it. The answer shares the request, so that the
// engine's thread, which often answers, copies nothing; it must not hold this exchange, whose
// responder holds the answer.
class AuditedExchange final : public Responder::Exchange {
 public:
  AuditedExchange(std::shared_ptr<const AuditedRequest> asked, Responder respond)
      : asked_(std::move(asked)), respond_(std::move(respond)) {}

  void Answer(Responder::ResponseMaker make) override {
    respond_([asked = asked_, make = std::move(make)] {
      Response response = make();
      NoteFailure(asked->api, asked->who, asked->verb, asked->object, response);
      return response;
    });
  }

 private:
  const std::shared_ptr<const AuditedRequest> asked_;
  const Responder respond_;
};

}  // namespace

bool ChangesSomething(const Request& request) {
  if (request.method == Method::kGet) return false;
  const std::string* dry = request.Query("dryRun");
  if (dry != nullptr && *dry != "false" && *dry != "0") return false;
  if (request.segments.size() == 2 && request.segments[1] == "simulate") return false;
  return request.segments.size() < 2 || request.segments[0] != "apis" ||
         (request.segments[1] != "authentication.k8s.io" &&
          request.segments[1] != "authorization.k8s.io");
}

void NoteNotAdmitted(ApiContext& api, const net::Peer* peer, const Request& request,
                     const Error& error) {
  if (error.code != Code::kUnauthenticated && error.code != Code::kPermissionDenied) return;
  api.service.audit().Failed(auth::UnknownCaller(peer), VerbOf(request), PathOf(request), error);
}

Response Audited(ApiContext& api, const Caller& who, const Request& request, Response response) {
  if (ChangesSomething(request)) NoteFailure(api, who, VerbOf(request), PathOf(request), response);
  return response;
}

Responder Audited(ApiContext& api, const Caller& who, const Request& request, Responder respond) {
  if (!ChangesSomething(request)) return respond;
  const auto asked = std::make_shared<const AuditedRequest>(
      AuditedRequest{api, who, VerbOf(request), PathOf(request)});
  return Responder(std::make_shared<AuditedExchange>(asked, std::move(respond)));
}

}  // namespace muster::rest
