#include "clients/lib/api_client.h"

#include <poll.h>

#include "schedd/text/lenient.h"

namespace muster::client {
namespace {

constexpr std::int64_t kCallMs =
    60'000;  // a durable answer takes milliseconds; a minute means trouble
constexpr int kBusyRetries = 3;
constexpr int kBusyWaitMaxS = 5;  // a person waits at the other end

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

Outcome<json::value> ParseAnswer(HttpResponse response) {
  if (response.status < 200 || response.status >= 300) return FailureOf(response);
  if (response.body.empty()) return json::value();
  boost::system::error_code ec;
  json::value value = json::parse(response.body, ec);
  if (ec) return BadAnswer("the server's answer is not JSON");
  return value;
}

}  // namespace

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

ApiClient::ApiClient(Settings settings) : settings_(std::move(settings)), http_(settings_.server) {}

HttpRequest ApiClient::Prepare(const Call& call) const {
  HttpRequest out;
  out.method = call.method;
  out.target = call.target;
  out.body = call.body;
  if (!call.body.empty()) out.content_type = "application/json";
  out.headers.emplace_back("X-Muster-User", settings_.user);
  if (!settings_.token.empty())
    out.headers.emplace_back("Authorization", "Bearer " + settings_.token);
  if (!call.idempotency_key.empty())
    out.headers.emplace_back("Idempotency-Key", call.idempotency_key);
  out.repeatable = call.method != "POST" || !call.idempotency_key.empty();
  return out;
}

Outcome<HttpResponse> ApiClient::SendWithRetries(const Call& call, const BodySink* sink) {
  const HttpRequest request = Prepare(call);
  for (int attempt = 0;; ++attempt) {
    std::int64_t deadline = call.deadline_ms;
    if (deadline == 0 && sink == nullptr) deadline = NowMs() + kCallMs;
    Outcome<HttpResponse> answer = http_.Send(request, deadline, sink);
    if (!answer.ok()) return answer;
    const bool busy = (answer->status == 429 || answer->status == 503) && answer->retry_after_s > 0;
    if (!busy || !request.repeatable || attempt == kBusyRetries) return answer;
    if (call.deadline_ms != 0 && NowMs() + answer->retry_after_s * 1000 > call.deadline_ms)
      return answer;
    WaitSeconds(answer->retry_after_s < kBusyWaitMaxS ? answer->retry_after_s : kBusyWaitMaxS);
  }
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

Outcome<HttpResponse> ApiClient::Stream(const std::string& target, std::int64_t deadline_ms,
                                        const BodySink& sink) {
  Call call{"GET", target};
  call.deadline_ms = deadline_ms;
  Outcome<HttpResponse> answer = SendWithRetries(call, &sink);
  if (!answer.ok()) return answer;
  if (answer->status < 200 || answer->status >= 300) return FailureOf(*answer);
  return answer;
}

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
    token = TextAt(object, "next_page_token");
  } while (!token.empty());
  return out;
}

}  // namespace muster::client
