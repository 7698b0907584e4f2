// The server's API as calls: JSON in, JSON or a Failure out, with the identity, token and retries
// every command needs. It knows the wire contract (api/openapi) and nothing of the daemon's
// insides.
//
// Not thread-safe: one per thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clients/lib/away_servers.h"
#include "clients/lib/http_client.h"
#include "clients/lib/outcome.h"
#include "clients/lib/settings.h"
#include "schedd/text/json.h"

namespace muster::client {

/// A request that is more than a GET.
struct Call {
  std::string method = "POST";
  std::string target;
  std::string body = {};             // JSON text, "" for none
  std::string idempotency_key = {};  // makes a POST safe to repeat
  std::int64_t deadline_ms = 0;      // NowMs() scale; 0: the default of kCallMs
  std::string content_type = {};     // of the body; "": JSON
  AnswerHead began = {};             // of an answer that goes to a sink; may be null
};

/// The calls of one command to one installation, which may have several servers (rule L11).
class ApiClient {
 public:
  explicit ApiClient(Settings settings);

  const Settings& settings() const { return settings_; }
  /// The server that is asked at present.
  const Endpoint& server() const { return servers_[at_]; }
  /// What a request shows now: the token of the settings, or what its source gives.
  Outcome<Credential> CurrentCredential();

  /// GET of a JSON document.
  Outcome<json::value> Get(const std::string& target);
  /// Any other request; a body-less 2xx answer gives null. A refusal for overload (429, 503 with
  /// Retry-After) of a repeatable request is tried again up to kBusyRetries times, after the wait
  /// the server asked for.
  Outcome<json::value> Send(const Call& call);
  /// GET whose body goes to `sink` as it arrives; no deadline unless given. A request that the
  /// server refuses because it is overloaded or not ready is sent again as in Send; `sink` gets
  /// nothing of such a refusal. `began` is told the headers of the answer before its body comes.
  Outcome<HttpResponse> Stream(const std::string& target, std::int64_t deadline_ms,
                               const BodySink& sink, AnswerHead began = {});
  /// GET of plain text.
  Outcome<std::string> GetText(const std::string& target);
  /// Every item of a paged list, page after page.
  Outcome<std::vector<json::value>> ListAll(const std::string& path, Query query);

 private:
  HttpRequest Prepare(const Call& call, const std::string& token) const;
  /// Sends `call`, and again while the server asks for a retry. With a `sink`, the body of a 2xx
  /// answer goes there, and there is no deadline but the call's own.
  Outcome<HttpResponse> SendWithRetries(const Call& call, const BodySink* sink = nullptr);
  /// Tells the user once that answers are of an earlier time.
  void TellAge(const HttpResponse& answer);
  /// How a request ended that was sent to one server of the list, and to others.
  struct ListAnswer {
    Outcome<HttpResponse> answer;
    /// Nobody leads at present, as a server says, or the leader that it names is away: the request
    /// was not carried out, and will be when another server leads.
    bool leaderless = false;
  };
  /// Sends to the present server, and to others of the list if that one is away, does not lead or
  /// names the leader.
  ListAnswer SendToAny(HttpRequest request, std::int64_t deadline_ms, const BodySink* sink);
  /// Asks the present server whether it is there, unless it has answered lately. The failure if
  /// not; the request has not been sent then.
  std::optional<Failure> Absence(std::int64_t within_ms, std::int64_t deadline_ms);
  HttpClient& http();
  /// Another server is asked from now on.
  void Ask(std::size_t server);
  void AskNext() { Ask((at_ + 1) % servers_.size()); }
  /// Goes to the server of a redirect; false: it is not on the list.
  bool AskLeader(const std::string& location);

  Settings settings_;
  std::vector<Endpoint> servers_;
  AwayServers away_;
  std::size_t at_ = 0;                // in servers_: the one that is asked
  std::int64_t answered_ms_ = 0;      // NowMs() when it answered last; 0: not yet
  bool told_age_ = false;
  std::unique_ptr<HttpClient> http_;  // to it; null: not made yet
  Credential shown_;                  // whose certificate connections show
};

/// The failure that a refusal's status and body describe. The body may be problem+json (`detail`,
/// `errors[]`), a Kubernetes Status (`message`, `details.causes[]`) or plain text.
Failure FailureOf(const HttpResponse& response);

/// "/v1/jobs/{id}" for a number, a uid or "NAMESPACE/NAME", encoded.
std::string JobPath(std::string_view id);

}  // namespace muster::client
