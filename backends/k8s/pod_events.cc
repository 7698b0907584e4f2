// ReadEvents: one list request per object, by the field selector involvedObject.uid, all sent at
// once. The answers are collected under a mutex; the last one wakes the caller. A failed request is
// an error only if no event was found at all.
#include "backends/k8s/pod_events.h"

#include <algorithm>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "backends/k8s/api_calls.h"
#include "backends/k8s/member_json.h"
#include "backends/k8s/status/reader.h"
#include "schedd/base/mutex.h"
#include "schedd/text/percent.h"

namespace muster::k8s {
namespace {

// Each pod costs one request.
constexpr std::size_t kPodsMax = 20;
constexpr std::size_t kEventsMax = 500;
constexpr std::size_t kWordBytes = 128;
constexpr std::int64_t kEventsMs = 10'000;

// The time of an event is the first of five fields that is set: old and new clients fill different
// ones.
MemberEvent ReadEvent(const Reader& event) {
  MemberEvent out;
  const Reader series = event["series"];
  for (const Reader& time : {series["lastObservedTime"], event["lastTimestamp"], event["eventTime"],
                             event["firstTimestamp"], event["metadata"]["creationTimestamp"]}) {
    if (!out.time.set()) out.time = time.Time();
  }
  out.type = event["type"].Text(kWordBytes);
  out.reason = event["reason"].Text(kWordBytes);
  out.object = event["involvedObject"]["kind"].Text(kWordBytes) + "/" +
               event["involvedObject"]["name"].Text(kNameBytes);
  out.message = event["message"].Text(2 * kMessageBytes);
  out.count = std::max(1, std::max(series["count"].Count(), event["count"].Count()));
  return out;
}

// Collects the answers of several requests and signals when the last has come.
struct EventCollector {
  Mutex mutex;
  std::size_t open MUSTER_GUARDED_BY(mutex) = 0;
  std::vector<MemberEvent> events MUSTER_GUARDED_BY(mutex);
  std::optional<Error> failed MUSTER_GUARDED_BY(mutex);
  std::promise<void> done;
};

void Take(EventCollector* to, const Result<ApiResponse>& answer) {
  std::vector<MemberEvent> read;
  const MutexLock lock(to->mutex);
  if (!answer.ok()) {
    to->failed = answer.error();
  } else if (!answer->ok()) {
    to->failed = ErrorOf(*answer);
  } else if (const auto body = ParseMemberJson(answer->body); body.ok()) {
    Reader(&*body)["items"].Each([&](const Reader& event) { read.push_back(ReadEvent(event)); });
    std::move(read.begin(), read.end(), std::back_inserter(to->events));
  }
  if (--to->open == 0) to->done.set_value();
}

}  // namespace

Result<std::vector<MemberEvent>> ReadEvents(const SessionPtr& session, const ObjectState& object,
                                            const std::vector<PodState>& pods) {
  std::vector<PodState> first = pods;
  const auto rank = [](const PodState& pod) {
    return pod.phase == PodPhase::kFailed ? 0 : pod.phase == PodPhase::kPending ? 1 : 2;
  };
  std::stable_sort(first.begin(), first.end(),
                   [&](const PodState& a, const PodState& b) { return rank(a) < rank(b); });
  if (first.size() > kPodsMax) first.resize(kPodsMax);
  std::vector<std::string> uids{object.uid};
  for (const PodState& pod : first) uids.push_back(pod.uid);

  auto gathering = std::make_shared<EventCollector>();
  {
    const MutexLock lock(gathering->mutex);
    gathering->open = uids.size();
  }
  auto done = gathering->done.get_future();
  for (const std::string& uid : uids) {
    ApiRequest request;
    request.target = CollectionPath("v1", "events", object.ns) +
                     "?limit=100&fieldSelector=" + PercentEncode("involvedObject.uid=" + uid);
    request.timeout_ms = kEventsMs;
    session->client().Send(std::move(request), [gathering](const Result<ApiResponse>& answer) {
      Take(gathering.get(), answer);
    });
  }
  done.wait();
  std::vector<MemberEvent> events;
  std::optional<Error> failed;
  {
    const MutexLock lock(gathering->mutex);
    events = std::move(gathering->events);
    failed = std::move(gathering->failed);
  }
  if (events.empty() && failed) {
    return Unavailable("member cluster " + session->member() + ": " + failed->detail);
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const MemberEvent& a, const MemberEvent& b) { return a.time < b.time; });
  if (events.size() > kEventsMax) {
    events.erase(events.begin(), events.end() - static_cast<std::ptrdiff_t>(kEventsMax));
  }
  return events;
}

}  // namespace muster::k8s
