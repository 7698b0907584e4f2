// Reading what a member's API server sends. Lenient where a strict reader would let one bad object
// stop a whole watch. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backends/k8s/client/api_client.h"
#include "schedd/base/result.h"
#include "schedd/text/json.h"

namespace muster::k8s {

/// Parses one JSON document into an arena that lives as long as any value of it, so copy what is
/// kept for long. Bytes that are not UTF-8 become U+FFFD; the depth may be 200. kDataLoss if it is
/// not JSON.
Result<json::value> ParseMemberJson(std::string_view text);

/// The same for a document that is read and dropped at once, as nearly all are: its values do not
/// count references to the arena, which is faster. Not thread-safe; no value may outlive it.
class MemberDocument {
 public:
  explicit MemberDocument(std::string_view text);
  MemberDocument(const MemberDocument&) = delete;
  MemberDocument& operator=(const MemberDocument&) = delete;
  bool ok() const { return !error_; }
  /// kDataLoss: the text is not JSON.
  const Error& error() const { return *error_; }
  json::value& operator*() { return *value_; }
  json::value* operator->() { return &*value_; }

 private:
  json::monotonic_resource arena_;
  std::optional<json::value> value_;
  std::optional<Error> error_;
};

/// A metav1.Status: why the API server refused a request.
struct ApiStatus {
  std::string reason;   // AlreadyExists, Conflict, NotFound, Expired, ...; "" if the body is none
  std::string message;  // one sentence; without a Status, the beginning of the body
  int code = 0;         // the HTTP status
};
ApiStatus ReadApiStatus(const ApiResponse& response);
/// The same for a Status object (the object of an ERROR event).
ApiStatus ReadApiStatus(const json::value& status);

/// The Error of an answer that is no success: 400 and 422 kInvalidArgument, 401 kUnauthenticated,
/// 403 kPermissionDenied, 404 kNotFound, 409 kAborted (reason AlreadyExists: kAlreadyExists), 410
/// kOutOfRange, 429 kResourceExhausted, 5xx kUnavailable. The detail is the member's message. A
/// write that got a 5xx may have been carried out: look it up.
Error ErrorOf(const ApiResponse& response);

}  // namespace muster::k8s
