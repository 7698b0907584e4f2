// The page holds nothing of the daemon, so that everybody may have it: whoever reads it signs in by
// the calls that it makes.
#include "api/rest/handlers_page.h"

#include "api/rest/problem.h"
#include "api/ui/page_answer.h"

namespace muster::rest {
namespace {

Response Sent(const Request& request, ui::PageAnswer answer) {
  if (answer.status == 404)
    return ErrorResponse(request, NotFound("the page has no file of this name"));
  Response response;
  response.status = answer.status;
  response.content_type = answer.type;
  response.body = answer.body;
  response.headers = std::move(answer.headers);
  return response;
}

ui::PageAsk AskOf(const ApiContext& api, const Request& request) {
  return {request.accept_encoding, request.if_none_match, api.sign_in_origins};
}

}  // namespace

std::string OriginOf(const std::string& url) {
  const std::size_t host = url.find("://");
  return url.substr(0, host == std::string::npos ? host : url.find('/', host + 3));
}

Response PageProviders(ApiContext& api, const Caller&, Request&) {
  Response response = JsonResponse(json::object{{"items", api.sign_in}});
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

Response PageIndex(ApiContext& api, const Caller&, Request& request) {
  return Sent(request, ui::IndexAnswer(AskOf(api, request)));
}

Response PageAsset(ApiContext& api, const Caller&, Request& request) {
  return Sent(request, ui::FileAnswer(request.params[0], AskOf(api, request)));
}

}  // namespace muster::rest
