// Server-sent events of GET /v1/events: the parser (pure) and the follower that resumes after a
// break.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "clients/lib/api_client.h"

namespace muster::client {

/// One event as it came: `id:` and `data:` lines (several data lines are joined by newlines).
struct ServerEvent {
  std::string id, type, data;
};

/// Cuts a byte stream into events (WHATWG "server-sent events"): any line end, comments ignored.
class EventParser {
 public:
  /// Calls `on_event` for each event completed by `bytes`; stops and returns false if it returns
  /// false, or if an event is longer than limits::kEventBytes.
  bool Feed(std::string_view bytes, const std::function<bool(const ServerEvent&)>& on_event);
  bool too_long() const { return too_long_; }

 private:
  bool TakeLine(std::string_view line, const std::function<bool(const ServerEvent&)>& on_event);

  std::string line_;
  ServerEvent event_;
  bool has_data_ = false;
  bool after_cr_ = false;
  bool too_long_ = false;
};

/// A committed event of the server.
struct JobEventNote {
  std::int64_t seq = 0;
  std::int64_t job = 0;  // 0: about an object
  std::string type, object, reason, message, time;
};

/// Reads an event's JSON; false if the data is not a JSON object.
bool ParseJobEvent(const ServerEvent& event, JobEventNote* out);

/// The callbacks of a follower.
struct EventHandlers {
  /// Called once per (re)connection, before its events. The handler must read the current state
  /// here: a change between its last read and the subscription is in no event. False ends the
  /// following.
  std::function<bool()> on_connect;
  /// Called for each event. False ends the following.
  std::function<bool(const JobEventNote&)> on_event;
};

/// Follows /v1/events until a handler returns false or the deadline passes (kTimedOut). A stream
/// that breaks is opened again from the last event seen; a server that cannot be reached again is
/// the failure returned. The GETs of the handlers need a client of their own: `api` is busy with
/// the stream.
Outcome<Done> FollowEvents(ApiClient& api, std::int64_t deadline_ms, const EventHandlers& handlers);

}  // namespace muster::client
