// Waits for jobs by the server's event stream.
//
// Each job is read once when the stream is connected and again at each of its events, until the
// condition holds for it. Reading after the subscription closes the gap: a change before the
// subscription is in the view, a change after it is an event. The events use a connection of their
// own, because `api` must be free for the reads.
#include "clients/lib/job_wait.h"

#include <map>
#include <optional>
#include <utility>

#include "clients/lib/event_stream.h"

namespace muster::client {

Outcome<std::vector<JobView>> WaitForJobs(ApiClient& api, const std::vector<std::int64_t>& ids,
                                          std::int64_t deadline_ms, const JobCondition& condition) {
  std::map<std::int64_t, std::optional<JobView>> seen;
  for (const std::int64_t id : ids) seen.emplace(id, std::nullopt);
  std::size_t open = seen.size();
  std::optional<Failure> failure;
  // False ends the following: a call failed (`failure` is set) or no job is left to wait for.
  const auto look = [&](std::int64_t id, std::optional<JobView>* slot) {
    Outcome<json::value> answer = api.Get(JobPath(std::to_string(id)));
    if (!answer.ok()) return failure = answer.failure(), false;
    Outcome<JobView> view = ParseJobView(std::move(answer).value());
    if (!view.ok()) return failure = view.failure(), false;
    if (!condition(*view)) return true;
    *slot = std::move(view).value();
    return --open != 0;
  };
  EventHandlers handlers;
  handlers.on_connect = [&] {
    for (auto& [id, slot] : seen) {
      if (!slot.has_value() && !look(id, &slot)) return false;
    }
    return open != 0;
  };
  handlers.on_event = [&](const JobEventNote& note) {
    const auto it = seen.find(note.job);
    return it == seen.end() || it->second.has_value() || look(it->first, &it->second);
  };
  if (open != 0) {
    ApiClient stream(api.settings());
    Outcome<Done> followed = FollowEvents(stream, deadline_ms, handlers);
    if (failure.has_value()) return *failure;
    if (!followed.ok()) return followed.failure();
  }
  std::vector<JobView> out;
  for (const std::int64_t id : ids) out.push_back(*seen.at(id));
  return out;
}

}  // namespace muster::client
