// A small synchronous HTTP/1.1 client: one keep-alive connection over TCP, TLS or a unix socket,
// whole answers or streams, a deadline on every call. It parses with Boost.Beast, which only
// http_client.cc sees.
//
// Not thread-safe: one client per thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "clients/lib/deadline.h"
#include "clients/lib/endpoint.h"
#include "clients/lib/outcome.h"
#include "clients/lib/tls_client.h"
#include "schedd/base/limits.h"
#include "schedd/base/limits_server_list.h"

namespace muster::client {

struct HttpRequest;
/// Gives the value of the Authorization header for one sending of a request; "": none. An error is
/// a sentence for the user.
using RequestSigner = std::function<Result<std::string>(const HttpRequest& request)>;

struct HttpResponse {
  int status = 0;
  std::string content_type;
  std::string body;             // empty when a sink took it
  int retry_after_s = 0;        // Retry-After in seconds, 0 if absent
  std::string location = {};    // Location, of a redirect
  std::string leader = {};      // Muster-Leader: "none" if nobody is known to lead
  std::string log_offset = {};  // Muster-Log-Offset, of a log
  int copy_age_s = 0;           // Muster-Copy-Age in whole seconds, 0 if absent
};

/// Takes what is known of an answer when its body begins.
using AnswerHead = std::function<void(const HttpResponse& head)>;

struct HttpRequest {
  std::string method = "GET";
  std::string target = {};  // path and query, already encoded
  std::string body = {};
  std::string content_type = {};  // of the body
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// True if sending the request twice does no harm (GET, PUT, DELETE, or any request with an
  /// Idempotency-Key). If the connection of such a request breaks, the client connects again and
  /// repeats the request once.
  bool repeatable = false;
  /// Asked before each sending, also of a repeated request: a munge credential counts once. May be
  /// null.
  RequestSigner signer = {};
  /// How long the answer may take to begin, in milliseconds; 0: as long as the call.
  std::int64_t begin_within_ms = 0;
  /// Asked whenever the server has sent nothing of the answer for limits::kSilentMs: false ends the
  /// call as timed out. Not asked before the answer begins if begin_within_ms bounds that. Null:
  /// the server may be silent until the deadline.
  std::function<bool()> still_there = {};
  /// Whether still_there is asked after the answer has begun, too.
  bool still_there_later = true;
  /// Told the status and the headers of a 2xx answer before its body goes to a sink. May be null.
  AnswerHead began = {};
  /// The longest body that is kept; a longer one is a failure. What goes to a sink is not bounded.
  std::size_t answer_bytes = limits::kAnswerBytes;
};

/// Takes a part of a 2xx answer's body; false ends the call early and closes the connection. The
/// client calls it once with an empty part when the answer has begun, so that a follower of events
/// knows that it is subscribed.
using BodySink = std::function<bool(std::string_view part)>;

/// One connection to one server.
class HttpClient {
 public:
  /// `tls` is used if the endpoint speaks https.
  explicit HttpClient(Endpoint endpoint, TlsSettings tls = {});
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// The certificate that further connections show to the server; ends the present one.
  void ShowCertificate(const std::string& certificate_pem, const std::string& key_pem);

  /// Sends and waits for the whole answer, or until `deadline_ms` (NowMs() scale; 0: none). With a
  /// `sink` the body of a 2xx answer goes there as it arrives. Any status is a response; Failures
  /// are kUnreachable, kTimedOut and kBadAnswer (not HTTP, or too long). A redirect is an answer as
  /// any other: it is not followed, so that credentials never go where another server says.
  Outcome<HttpResponse> Send(const HttpRequest& request, std::int64_t deadline_ms,
                             const BodySink* sink = nullptr);

 private:
  struct Connection;
  /// `*may_repeat`: the request failed before an answer came and may be sent again.
  Outcome<HttpResponse> SendOnce(const HttpRequest& request, std::int64_t deadline_ms,
                                 const BodySink* sink, bool* may_repeat);
  /// Sets `connection_`. The Failure means something only if `*connected` is false.
  Failure Connect(std::int64_t deadline_ms, bool* connected);
  /// The TLS of a new connection; as Connect.
  Failure Secure(std::int64_t deadline_ms, bool* connected);

  Endpoint endpoint_;
  TlsSettings tls_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace muster::client
