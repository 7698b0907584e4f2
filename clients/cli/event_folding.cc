// Folds events that say nearly the same into one line.
//
// Job events: a repeating event (a changed message of a waiting job, a changed quota) joins the
// line of the same type and reason, but only among the lines since the last event that does not
// repeat: an admission or an eviction between two of them must stay visible between them. Member
// events: all of the same type and reason join, because Kubernetes reports one cause for many
// objects; of warnings the message must be equal too, since it says what is wrong.
#include "clients/cli/event_folding.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "clients/cli/durations.h"
#include "clients/lib/job_view.h"
#include "schedd/base/time.h"

namespace muster::cli {
namespace {

// Event types that come again and again while nothing else changes. JobReclaimed is the name that
// JobQuotaReturned had in databases of earlier versions.
constexpr std::string_view kRepeating[] = {"JobPending", "JobUpdated", "JobQuotaReturned",
                                           "JobReclaimed", "JobCheckUpdated"};

// A member's event may itself stand for several: Kubernetes counts repetitions in `count`.
FoldedEvent EventOf(const json::value& event) {
  FoldedEvent out;
  out.type = client::PathText(event, "type");
  out.reason = client::PathText(event, "reason");
  out.object = client::PathText(event, "object");
  out.message = client::PathText(event, "message");
  out.first_time = out.last_time = client::PathText(event, "time");
  out.count = 1;
  if (event.is_object())
    out.count = std::max<std::int64_t>(1, client::MemberNumber(event.get_object(), "count", 1));
  return out;
}

// The later event takes over the line `at`: its texts win, the counts add up, and the line moves to
// the end, where its last event belongs.
void Join(std::vector<FoldedEvent>* lines, std::size_t at, FoldedEvent later) {
  later.first_time = (*lines)[at].first_time;
  later.count += (*lines)[at].count;
  lines->erase(lines->begin() + static_cast<std::ptrdiff_t>(at));
  lines->push_back(std::move(later));
}

}  // namespace

std::vector<FoldedEvent> FoldJobEvents(const json::array& events) {
  std::vector<FoldedEvent> out;
  // Lines from here on may still be joined: no event that does not repeat has come after them.
  std::size_t open = 0;
  for (const json::value& value : events) {
    FoldedEvent event = EventOf(value);
    const bool repeats =
        std::find(std::begin(kRepeating), std::end(kRepeating), event.type) != std::end(kRepeating);
    std::size_t at = open;
    while (at < out.size() && (out[at].type != event.type || out[at].reason != event.reason)) ++at;
    if (repeats && at < out.size()) {
      Join(&out, at, std::move(event));
    } else {
      out.push_back(std::move(event));
    }
    if (!repeats) open = out.size();
  }
  return out;
}

std::vector<FoldedEvent> FoldMemberEvents(const json::array& events) {
  using Key = std::tuple<std::string, std::string, std::string>;
  const auto key_of = [](const FoldedEvent& event) {
    return Key{event.type, event.reason, event.type == "Normal" ? "" : event.message};
  };
  std::vector<FoldedEvent> out;
  std::map<Key, std::set<std::string>> objects;
  for (const json::value& value : events) {
    FoldedEvent event = EventOf(value);
    objects[key_of(event)].insert(event.object);
    const auto same = std::find_if(out.begin(), out.end(), [&](const FoldedEvent& one) {
      return key_of(one) == key_of(event);
    });
    if (same == out.end()) {
      out.push_back(std::move(event));
    } else {
      Join(&out, static_cast<std::size_t>(same - out.begin()), std::move(event));
    }
  }
  for (FoldedEvent& event : out) {
    const std::size_t others = objects[key_of(event)].size() - 1;
    if (others > 0) event.object += " and " + std::to_string(others) + " more";
  }
  return out;
}

std::string WhenText(const FoldedEvent& event) {
  if (event.count == 1) return event.last_time;
  std::string out = event.last_time + " (x" + std::to_string(event.count);
  WallTime first, last;
  if (ParseRfc3339(event.first_time, &first) && ParseRfc3339(event.last_time, &last))
    out += " over " + ShortDuration((last.us - first.us) / kMicrosPerSecond);
  return out + ")";
}

}  // namespace muster::cli
