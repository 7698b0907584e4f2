// The server's API as calls: JSON in, JSON or a Failure out, with the identity, token and retries
// every command needs. It knows the wire contract (api/openapi) and nothing of the daemon's
// insides.
//
// Not thread-safe: one per thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "clients/lib/http_client.h"
#include "clients/lib/outcome.h"
#include "clients/lib/settings.h"
#include "schedd/text/json.h"

namespace muster::client {

/// A request with a body.
struct Call {
  std::string method = "POST";
  std::string target;
  std::string body = {};             // JSON text, "" for none
  std::string idempotency_key = {};  // makes a POST safe to repeat
  std::int64_t deadline_ms = 0;      // NowMs() scale; 0: the default of kCallMs
};

class ApiClient {
 public:
  explicit ApiClient(Settings settings);

  const Settings& settings() const { return settings_; }

  /// GET of a JSON document.
  Outcome<json::value> Get(const std::string& target);
  /// Any other request; a body-less 2xx answer gives null. A refusal for overload (429, 503 with
  /// Retry-After) of a repeatable request is tried again up to kBusyRetries times, after the wait
  /// the server asked for.
  Outcome<json::value> Send(const Call& call);
  /// GET whose body goes to `sink` as it arrives; no deadline unless given. Refusals for overload,
  /// or because the server is not ready, are tried again as in Send: `sink` has seen nothing then.
  Outcome<HttpResponse> Stream(const std::string& target, std::int64_t deadline_ms,
                               const BodySink& sink);
  /// GET of plain text.
  Outcome<std::string> GetText(const std::string& target);
  /// Every item of a paged list, page after page.
  Outcome<std::vector<json::value>> ListAll(const std::string& path, Query query);

 private:
  HttpRequest Prepare(const Call& call) const;
  /// The body of a 2xx goes to `sink` if there is one; then there is no deadline but the call's.
  Outcome<HttpResponse> SendWithRetries(const Call& call, const BodySink* sink = nullptr);

  Settings settings_;
  HttpClient http_;
};

/// A refusal's failure from its status and body: problem+json (`detail`, `errors[]`), a Kubernetes
/// Status
/// (`message`, `details.causes[]`) or plain text.
Failure FailureOf(const HttpResponse& response);

/// "/v1/jobs/{id}" for a number, a uid or "NAMESPACE/NAME", encoded.
std::string JobPath(std::string_view id);

}  // namespace muster::client
