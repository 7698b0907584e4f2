// The methods of ApiClient: every call of the commands goes through SendWithRetries.
//
// A request carries the bearer token if there is one (over the Unix socket the kernel says who
// asks), whom to act as and, for a POST that may be repeated, an Idempotency-Key. Two kinds of
// failure are handled below the caller: HttpClient repeats a repeatable request once when the
// connection breaks, and SendWithRetries waits and sends it again when the server answers 429 or
// 503 with Retry-After. All other failures reach the command as a Failure, which decides its exit
// status.
#include "clients/lib/api_client.h"

#include <poll.h>

#include <algorithm>

#include "schedd/base/limits_server_list.h"
#include "schedd/text/lenient.h"

namespace muster::client {
namespace {

// How long a call may take. A durable answer takes milliseconds, so a minute means trouble.
constexpr std::int64_t kCallMs = 60'000;
// How often a request is sent again to a server that is busy or not ready.
constexpr int kBusyRetries = 3;
// The same while no server of a list leads: a takeover takes up to twice the length of a lease,
// which is 5 s unless somebody has chosen another one.
constexpr int kLeaderlessRetries = 15;
// The longest wait between two attempts, whatever Retry-After says: a person waits for the command.
constexpr int kBusyWaitMaxS = 5;

// Appends the wrong fields of a refusal. problem+json calls the sentence `detail` or `message`, a
// Kubernetes Status calls it `message`.
void TakeFieldErrors(const json::array& list, Failure* out) {
  for (const json::value& entry : list) {
    if (!entry.is_object()) continue;
    const json::object& error = entry.get_object();
    std::string message = TextAt(error, "message");
    if (message.empty()) message = TextAt(error, "detail");
    out->fields.push_back({TextAt(error, "field"), std::move(message)});
  }
}

void WaitSeconds(int seconds) { ::poll(nullptr, 0, seconds * 1000); }

// The JSON of a 2xx answer (null for an empty body), or the failure that any other status is.
Outcome<json::value> ParseAnswer(HttpResponse response) {
  if (response.status < 200 || response.status >= 300) return FailureOf(response);
  if (response.body.empty()) return json::value();
  boost::system::error_code ec;
  json::value value = json::parse(response.body, ec);
  if (ec) return BadAnswer("the server's answer is not JSON");
  return value;
}

// True if the server cannot be reached, or does not answer.
bool IsAway(const Failure& failure) {
  return failure.kind == Failure::Kind::kUnreachable || failure.kind == Failure::Kind::kTimedOut;
}

// "https://HOST:PORT" of a Location.
std::string ServerOf(const std::string& location) {
  const std::size_t host = location.find("://");
  return host == std::string::npos ? location : location.substr(0, location.find('/', host + 3));
}

Failure NotListed(const std::string& location) {
  return {Failure::Kind::kRefused, 307,
          "this server does not lead, and the leader at " + ServerOf(location) +
              " is not on the list of servers (MUSTER_URL, --server)"};
}

}  // namespace

// The sentence comes from the first member that has one: problem+json's `detail`, a Status's
// `message`, then `title`. A short body that is not JSON (a proxy's error page) is the sentence
// itself.
Failure FailureOf(const HttpResponse& response) {
  Failure out{Failure::Kind::kRefused, response.status, "", {}, response.retry_after_s};
  boost::system::error_code ec;
  const json::value parsed = json::parse(response.body, ec);
  if (!ec && parsed.is_object()) {
    const json::object& object = parsed.get_object();
    out.detail = TextAt(object, "detail");
    if (out.detail.empty()) out.detail = TextAt(object, "message");
    if (out.detail.empty()) out.detail = TextAt(object, "title");
    TakeFieldErrors(ArrayOrEmpty(object, "errors"), &out);
    TakeFieldErrors(ArrayOrEmpty(object, {"details", "causes"}), &out);
  } else if (!response.body.empty() && response.body.size() < 400) {
    out.detail = response.body;
    while (!out.detail.empty() && out.detail.back() == '\n') out.detail.pop_back();
  }
  if (out.detail.empty())
    out.detail = "the server answered with status " + std::to_string(response.status);
  return out;
}

std::string JobPath(std::string_view id) { return "/v1/jobs/" + PercentEncode(id); }

// The first server that did not keep a command waiting lately is asked first.
ApiClient::ApiClient(Settings settings)
    : settings_(std::move(settings)),
      servers_{settings_.server},
      away_(settings_.more_servers.empty() ? "" : settings_.away_file) {
  servers_.insert(servers_.end(), settings_.more_servers.begin(), settings_.more_servers.end());
  while (at_ < servers_.size() && away_.Has(servers_[at_])) ++at_;
  if (at_ == servers_.size()) at_ = 0;
}

HttpClient& ApiClient::http() {
  if (http_ == nullptr) {
    http_ = std::make_unique<HttpClient>(servers_[at_], settings_.tls);
    if (!shown_.certificate_pem.empty())
      http_->ShowCertificate(shown_.certificate_pem, shown_.key_pem);
  }
  return *http_;
}

void ApiClient::Ask(std::size_t server) {
  if (server == at_) return;
  at_ = server;
  answered_ms_ = 0;
  http_.reset();
}

// Only a server that the user has listed gets the request, and with it the user's credentials.
bool ApiClient::AskLeader(const std::string& location) {
  const Result<Endpoint> leader = ParseServerUrl(ServerOf(location));
  if (!leader.ok()) return false;
  const auto found = std::find(servers_.begin(), servers_.end(), *leader);
  if (found == servers_.end()) return false;
  Ask(static_cast<std::size_t>(found - servers_.begin()));
  return true;
}

// A process that is stopped accepts connections and answers nothing, so that a request would wait
// for it, and a write could not be sent elsewhere then: it may be carried out when the process goes
// on. Hence this question before the request, on the same connection: every daemon answers it at
// once, and if it does not, nothing of the request was sent. A server that is found away after a
// wait is remembered, for the commands that follow.
std::optional<Failure> ApiClient::Absence(std::int64_t within_ms, std::int64_t deadline_ms) {
  const std::int64_t now = NowMs();
  if (answered_ms_ != 0 && now - answered_ms_ < limits::kServerFreshMs) return std::nullopt;
  HttpRequest question{"GET", "/livez"};
  question.repeatable = true;
  const std::int64_t until = now + within_ms;
  const Outcome<HttpResponse> answer =
      http().Send(question, deadline_ms == 0 ? until : std::min(until, deadline_ms));
  if (answer.ok() || !IsAway(answer.failure())) {
    away_.Remove(servers_[at_]);
    answered_ms_ = NowMs();
    return std::nullopt;
  }
  if (NowMs() >= until) away_.Add(servers_[at_]);
  Failure out = answer.failure();
  out.not_sent = true;
  return out;
}

// A request that may have been carried out goes to another server only if it may be sent twice. One
// that a server has refused because nobody leads was not carried out. If no server answers in a
// short time, all have a longer one.
ApiClient::ListAnswer ApiClient::SendToAny(HttpRequest request, std::int64_t deadline_ms,
                                           const BodySink* sink) {
  const bool several = servers_.size() > 1;
  if (several && request.repeatable) request.begin_within_ms = limits::kServerBeginsMs;
  bool began = false;
  const BodySink noting = [&](std::string_view part) {
    // Who was told where the answer begins asks for the rest of it.
    began = began || !part.empty() || request.began != nullptr;
    return (*sink)(part);
  };
  // A write that an only server has got is waited for until the deadline: giving up sooner would
  // only leave its outcome open more often. Who follows an only server goes on when it does.
  request.still_there_later = several;
  if (sink != nullptr || (!several && request.method == "GET")) {
    request.still_there = [this] {
      HttpClient asks(servers_[at_], settings_.tls);
      if (!shown_.certificate_pem.empty())
        asks.ShowCertificate(shown_.certificate_pem, shown_.key_pem);
      return asks.Send({"GET", "/livez"}, NowMs() + limits::kServerThereMs).ok();
    };
  }
  std::optional<HttpResponse> nobody_leads;
  int redirects = 0;
  std::size_t passed = 0;
  bool slow = false;
  for (;;) {
    const std::int64_t patience =
        passed < servers_.size() ? limits::kServerAnswersMs : limits::kServerThereMs;
    std::optional<Failure> absent;
    if (several) absent = Absence(patience, deadline_ms);
    Outcome<HttpResponse> answer =
        absent ? Outcome<HttpResponse>(std::move(*absent))
               : http().Send(request, deadline_ms, sink == nullptr ? nullptr : &noting);
    if (answer.ok()) answered_ms_ = NowMs();
    if (answer.ok() && answer->status == 307 && !answer->location.empty()) {
      if (!AskLeader(answer->location)) return {NotListed(answer->location)};
      if (++redirects > limits::kRedirects) return {std::move(answer)};
      continue;
    }
    const bool leaderless = answer.ok() && answer->status == 503 && answer->leader == "none";
    const bool away = !answer.ok() && IsAway(answer.failure());
    if (!several || (!leaderless && !away)) return {std::move(answer)};
    if (leaderless) nobody_leads = *answer;
    if (deadline_ms != 0 && NowMs() >= deadline_ms) return {std::move(answer), leaderless};
    // What follows is a call of its own: a stream that broke is opened again by its follower.
    AskNext();
    const bool harmless = leaderless || answer.failure().not_sent || (request.repeatable && !began);
    if (!harmless) return {std::move(answer)};
    if (away && redirects > 0) return {std::move(answer), true};
    slow = slow || (away && answer.failure().kind == Failure::Kind::kTimedOut);
    if (++passed < servers_.size()) continue;
    if (nobody_leads) return {std::move(*nobody_leads), true};
    if (!slow || passed >= 2 * servers_.size()) return {std::move(answer)};
  }
}

Outcome<Credential> ApiClient::CurrentCredential() {
  if (settings_.source == nullptr) return Credential{settings_.token, "", ""};
  return settings_.source->Get();
}

// `repeatable` is what both HttpClient and SendWithRetries ask before they send a request twice:
// all methods but POST are idempotent, and a POST is if it has an Idempotency-Key.
HttpRequest ApiClient::Prepare(const Call& call, const std::string& token) const {
  HttpRequest out;
  out.method = call.method;
  out.target = call.target;
  out.body = call.body;
  if (!call.body.empty())
    out.content_type = call.content_type.empty() ? "application/json" : call.content_type;
  if (!settings_.as_user.empty()) out.headers.emplace_back("Impersonate-User", settings_.as_user);
  for (const std::string& group : settings_.as_groups)
    out.headers.emplace_back("Impersonate-Group", group);
  if (!token.empty())
    out.headers.emplace_back("Authorization", "Bearer " + token);
  else if (settings_.source == nullptr)
    out.signer = settings_.signer;
  if (!call.idempotency_key.empty())
    out.headers.emplace_back("Idempotency-Key", call.idempotency_key);
  out.repeatable = call.method != "POST" || !call.idempotency_key.empty();
  out.began = call.began;
  return out;
}

// Streams have no deadline unless the call has one, because a follower may wait for hours. A retry
// that could not begin before the call's deadline is not made; the caller gets the refusal.
Outcome<HttpResponse> ApiClient::SendWithRetries(const Call& call, const BodySink* sink) {
  Outcome<Credential> credential = CurrentCredential();
  if (!credential.ok()) return credential.failure();
  if (!credential->certificate_pem.empty()) {
    shown_ = *credential;
    http().ShowCertificate(shown_.certificate_pem, shown_.key_pem);
  }
  const HttpRequest request = Prepare(call, credential->token);
  for (int attempt = 0;; ++attempt) {
    std::int64_t deadline = call.deadline_ms;
    if (deadline == 0 && sink == nullptr) deadline = NowMs() + kCallMs;
    ListAnswer sent = SendToAny(request, deadline, sink);
    Outcome<HttpResponse>& answer = sent.answer;
    if (answer.ok()) TellAge(*answer);
    if (!answer.ok() && !sent.leaderless) return std::move(answer);
    // While the lead goes from one server to another, a list of servers is asked for longer.
    const int wait_s = answer.ok() ? answer->retry_after_s : 1;
    const bool busy =
        !answer.ok() || ((answer->status == 429 || answer->status == 503) && wait_s > 0);
    const int retries = sent.leaderless ? kLeaderlessRetries : kBusyRetries;
    if (!busy || !(request.repeatable || sent.leaderless) || attempt >= retries)
      return std::move(answer);
    const std::int64_t wait_ms = std::int64_t{wait_s} * 1000;
    if (call.deadline_ms != 0 && NowMs() + wait_ms > call.deadline_ms) return std::move(answer);
    WaitSeconds(std::min(wait_s, kBusyWaitMaxS));
  }
}

void ApiClient::TellAge(const HttpResponse& answer) {
  if (answer.copy_age_s < limits::kToldAgeS || settings_.warn == nullptr) return;
  if (std::exchange(told_age_, true)) return;
  settings_.warn("this is what was known " + std::to_string(answer.copy_age_s) +
                 " s ago: the server does not lead, or its database is away");
}

Outcome<json::value> ApiClient::Get(const std::string& target) { return Send({"GET", target}); }

Outcome<json::value> ApiClient::Send(const Call& call) {
  Outcome<HttpResponse> answer = SendWithRetries(call);
  if (!answer.ok()) return answer.failure();
  return ParseAnswer(std::move(answer).value());
}

Outcome<std::string> ApiClient::GetText(const std::string& target) {
  Outcome<HttpResponse> answer = SendWithRetries({"GET", target});
  if (!answer.ok()) return answer.failure();
  if (answer->status < 200 || answer->status >= 300) return FailureOf(*answer);
  return std::move(answer.value().body);
}

// A non-2xx answer has not reached the sink: HttpClient hands over 2xx bodies only, so FailureOf
// still finds the body.
Outcome<HttpResponse> ApiClient::Stream(const std::string& target, std::int64_t deadline_ms,
                                        const BodySink& sink, AnswerHead began) {
  Call call{"GET", target};
  call.deadline_ms = deadline_ms;
  call.began = std::move(began);
  Outcome<HttpResponse> answer = SendWithRetries(call, &sink);
  if (!answer.ok()) return answer;
  if (answer->status < 200 || answer->status >= 300) return FailureOf(*answer);
  return answer;
}

// Follows `next_page_token` until the server gives none.
Outcome<std::vector<json::value>> ApiClient::ListAll(const std::string& path, Query query) {
  std::vector<json::value> out;
  std::string token;
  do {
    Query page = query;
    page.Add("page_token", token);
    Outcome<json::value> answer = Get(path + page.text());
    if (!answer.ok()) return answer.failure();
    if (!answer->is_object()) return BadAnswer("the server's list is not an object");
    json::object& object = answer.value().get_object();
    json::value* items = object.if_contains("items");
    if (items == nullptr || !items->is_array()) return BadAnswer("the server's list has no items");
    for (json::value& item : items->get_array()) out.push_back(std::move(item));
    std::string next = TextAt(object, "next_page_token");
    if (!next.empty() && next == token) return BadAnswer("the server's list does not end");
    token = std::move(next);
  } while (!token.empty());
  return out;
}

}  // namespace muster::client
