// Three tables and one function that needs nothing from the service, so that api/rest/http does not
// depend on it. Errors of handlers are written by api/rest/problem.cc.
#include "api/rest/http/plain_problem.h"

#include <boost/json.hpp>

namespace muster::rest {
namespace {

namespace json = boost::json;

// The metav1.StatusReason of an HTTP status; Kubernetes' clients branch on it.
std::string_view StatusReason(int status) {
  switch (status) {
    case 400:
      return "BadRequest";
    case 403:
      return "Forbidden";
    case 404:
      return "NotFound";
    case 405:
      return "MethodNotAllowed";
    case 409:
      return "Conflict";
    case 413:
      return "RequestEntityTooLarge";
    case 415:
      return "UnsupportedMediaType";
    case 503:
      return "ServiceUnavailable";
    default:
      return "Unknown";
  }
}

// The code of an error that is told by its status alone.
Code CodeOf(int status) {
  switch (status) {
    case 405:
    case 501:
    case 505:
      return Code::kUnimplemented;
    case 408:
    case 504:
      return Code::kDeadlineExceeded;
    case 412:
      return Code::kFailedPrecondition;
    case 503:
      return Code::kUnavailable;
    default:
      break;
  }
  const Code code = CodeOfHttpStatus(status);
  // What else is answered below 500 is the request's own fault.
  return code == Code::kInternal && status < 500 ? Code::kInvalidArgument : code;
}

}  // namespace

std::string_view StatusPhrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "";
  }
}

// `about:blank` is the type of a problem that says no more than its status (RFC 9457).
Response PlainProblem(bool kubernetes, int status, const std::string& detail) {
  Response response;
  response.status = status;
  response.error = Error{CodeOf(status), detail};
  if (kubernetes) {
    response.body = json::serialize(json::object{{"kind", "Status"},
                                                 {"apiVersion", "v1"},
                                                 {"metadata", json::object{}},
                                                 {"status", "Failure"},
                                                 {"message", detail},
                                                 {"reason", StatusReason(status)},
                                                 {"code", status}});
    return response;
  }
  response.content_type = "application/problem+json";
  response.body = json::serialize(json::object{{"type", "about:blank"},
                                               {"title", StatusPhrase(status)},
                                               {"status", status},
                                               {"detail", detail}});
  if (status == 429 || status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace muster::rest
