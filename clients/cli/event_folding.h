// Folds events for people: events that say nearly the same become one line with a count, as kubectl
// prints them ("x16 over 3s"). Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/text/json.h"

namespace muster::cli {

/// One line. Its texts are those of its last event.
struct FoldedEvent {
  std::string type, reason, object, message;
  std::string first_time, last_time;
  std::int64_t count = 0;
};

/// A job's events, in order. Events that only report progress or a new reason for waiting fold by
/// type and reason as long as no other event comes between them.
std::vector<FoldedEvent> FoldJobEvents(const json::array& events);

/// The events of a member cluster's components. They fold by type and reason, warnings also by
/// message. `object` names the last object and says how many other objects the line stands for.
std::vector<FoldedEvent> FoldMemberEvents(const json::array& events);

/// "2026-11-23T01:00:03Z (x16 over 3s)"; for a line of one event the time alone.
std::string WhenText(const FoldedEvent& event);

}  // namespace muster::cli
