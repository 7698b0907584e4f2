// Parses the server-sent events of GET /v1/events and follows them across broken connections.
//
// FollowEvents remembers the sequence number of the last event and resumes after it with `since`,
// so that no event is missed or seen twice. It gives up when the first connection fails (the server
// is not there) or after a minute of connections that brought no event. A connection counts from
// its first byte: `on_connect` runs then, because from that moment on every change arrives as an
// event.
#include "clients/lib/event_stream.h"

#include <poll.h>

#include <charconv>

#include "schedd/base/limits.h"
#include "schedd/text/lenient.h"

namespace muster::client {
namespace {

constexpr int kReconnectWaitMs = 1000;
// Connections in a row without an event before the follower gives up. A daemon that restarts is
// ready within seconds, so a minute is generous.
constexpr int kReconnects = 60;

// Sequence numbers and job ids come as JSON numbers or as decimal text; anything else reads as 0.
std::int64_t NumberOf(const json::value* value) {
  if (value == nullptr) return 0;
  if (value->is_int64()) return value->get_int64();
  if (value->is_uint64()) return static_cast<std::int64_t>(value->get_uint64());
  if (!value->is_string()) return 0;
  std::int64_t number = 0;
  const auto& text = value->get_string();
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

// A line ends at LF, CR or CRLF. A CR at the end of one part and an LF at the beginning of the next
// are one line end, which `after_cr_` remembers.
bool EventParser::Feed(std::string_view bytes,
                       const std::function<bool(const ServerEvent&)>& on_event) {
  for (const char c : bytes) {
    const bool second_of_crlf = after_cr_ && c == '\n';
    after_cr_ = c == '\r';
    if (second_of_crlf) continue;
    if (c != '\n' && c != '\r') {
      too_long_ = line_.size() + event_.data.size() >= limits::kEventBytes;
      if (too_long_) return false;
      line_.push_back(c);
      continue;
    }
    const std::string line = std::move(line_);
    line_.clear();
    if (!TakeLine(line, on_event)) return false;
  }
  return true;
}

// An empty line completes the event. A line that begins with a colon is a comment (the server sends
// them to keep the connection open). Unknown fields are ignored, as the standard demands.
bool EventParser::TakeLine(std::string_view line,
                           const std::function<bool(const ServerEvent&)>& on_event) {
  if (line.empty()) {
    const ServerEvent event = std::move(event_);
    const bool complete = has_data_;
    event_ = {};
    // The standard keeps the last id until another `id:` line replaces it.
    event_.id = event.id;
    has_data_ = false;
    return !complete || on_event(event);
  }
  const std::size_t colon = line.find(':');
  if (colon == 0) return true;
  const std::string_view field = line.substr(0, colon);
  std::string_view value =
      colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "id") event_.id = std::string(value);
  if (field == "event") event_.type = std::string(value);
  if (field == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  }
  return true;
}

// The event's own `seq` and `type` members win over the `id:` and `event:` lines, which carry the
// same values.
bool ParseJobEvent(const ServerEvent& event, JobEventNote* out) {
  boost::system::error_code ec;
  const json::value parsed = json::parse(event.data, ec);
  if (ec || !parsed.is_object()) return false;
  const json::object& object = parsed.get_object();
  out->seq = NumberOf(object.if_contains("seq"));
  if (out->seq == 0) std::from_chars(event.id.data(), event.id.data() + event.id.size(), out->seq);
  out->job = NumberOf(object.if_contains("job"));
  out->type = TextAt(object, "type");
  if (out->type.empty()) out->type = event.type;
  out->object = TextAt(object, "object");
  out->reason = TextAt(object, "reason");
  out->message = TextAt(object, "message");
  out->time = TextAt(object, "time");
  return true;
}

Outcome<Done> FollowEvents(ApiClient& api, std::int64_t deadline_ms,
                           const EventHandlers& handlers) {
  std::int64_t last_seq = 0;
  bool ever_connected = false;
  int fruitless = 0;  // connections in a row that brought no event
  for (;;) {
    EventParser parser;
    bool ended = false;
    bool told = false;
    const auto on_event = [&](const ServerEvent& event) {
      JobEventNote note;
      if (!ParseJobEvent(event, &note)) return true;
      fruitless = 0;
      if (note.seq > last_seq) last_seq = note.seq;
      ended = !handlers.on_event(note);
      return !ended;
    };
    const BodySink sink = [&](std::string_view part) {
      if (!told) {
        told = ever_connected = true;
        ended = !handlers.on_connect();
      }
      return !ended && parser.Feed(part, on_event);
    };
    Query query;
    if (last_seq != 0) query.Add("since", std::to_string(last_seq));
    Outcome<HttpResponse> answer = api.Stream("/v1/events" + query.text(), deadline_ms, sink);
    if (ended) return Done{};
    if (parser.too_long()) {
      return BadAnswer("an event of the server is longer than " +
                       std::to_string(limits::kEventBytes) + " bytes");
    }
    if (!answer.ok()) {
      // A daemon that restarts first refuses connections and then answers 503 until it is ready.
      // A stream of a server that has stopped times out although the caller has time left.
      const Failure::Kind kind = answer.failure().kind;
      const bool silent =
          kind == Failure::Kind::kTimedOut && (deadline_ms == 0 || NowMs() < deadline_ms);
      const bool away =
          kind == Failure::Kind::kUnreachable || silent || answer.failure().status == 503;
      const bool broke = ever_connected && away;
      if (!broke || fruitless >= kReconnects) return answer.failure();
    } else if (fruitless >= kReconnects) {
      return BadAnswer("the server ends its event stream again and again");
    }
    ++fruitless;
    const std::int64_t left = deadline_ms == 0 ? kReconnectWaitMs : deadline_ms - NowMs();
    ::poll(nullptr, 0,
           static_cast<int>(left < 0                  ? 0
                            : left < kReconnectWaitMs ? left
                                                      : kReconnectWaitMs));
  }
}

}  // namespace muster::client
