// Events as people read them: those that say nearly the same become one line, as kubectl has it
// ("x16 over 3s"). Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/text/json.h"

namespace muster::cli {

/// One line. Texts are those of the last event of it.
struct FoldedEvent {
  std::string type, reason, object, message;
  std::string first_time, last_time;
  std::int64_t count = 0;
};

/// A job's events, in order. Such as only tell how far it is, or why it still waits, fold by type
/// and reason as long as nothing else happens in between.
std::vector<FoldedEvent> FoldJobEvents(const json::array& events);

/// What the components of a member said. Events fold by type and reason; warnings by their message
/// too. `object` says how many more there are than the last one.
std::vector<FoldedEvent> FoldMemberEvents(const json::array& events);

/// "2026-11-23T01:00:03Z (x16 over 3s)"; the time alone of one event.
std::string WhenText(const FoldedEvent& event);

}  // namespace muster::cli
