// The list of open watches, and the fair share of the places in it. The lock guards the list only;
// calls into a watch are made on a copy of the list without the lock, since a watch that ends
// removes itself from the list in its own callback.
#include "api/grpc/event_hub.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "api/grpc/call.h"
#include "schedd/base/limits.h"
#include "schedd/base/mutex.h"

namespace muster::api {
namespace {

constexpr std::chrono::seconds kTick{1};

// A watch that ends at once with a status. It deletes itself when gRPC is done with it.
class RefusedWatch final : public grpc::ServerWriteReactor<v1::Event> {
 public:
  explicit RefusedWatch(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerWriteReactor<v1::Event>* EventHub::Refuse(const grpc::Status& status) {
  return new RefusedWatch(status);
}

EventHub::EventHub(SchedulerService& service, const auth::Authenticator& authenticator,
                   StreamCounts streams)
    : service_(service), authenticator_(authenticator), streams_(std::move(streams)) {}
EventHub::~EventHub() { StopTicking(); }

grpc::ServerWriteReactor<v1::Event>* EventHub::Open(grpc::CallbackServerContext* context,
                                                    auth::Principal who, std::int64_t since) {
  Result<std::shared_ptr<const void>> counted = streams_.Take(who);
  if (!counted.ok()) return Refuse(StatusOf(context, counted.error()));
  auto watch = std::make_shared<EventWatch>(service_, authenticator_, context, std::move(who),
                                            since, std::move(counted).value(),
                                            [this](const EventWatch* ended) { Forget(ended); });
  std::shared_ptr<EventWatch> displaced;
  {
    MutexLock lock(mutex_);
    if (closed_) return Refuse({grpc::StatusCode::UNAVAILABLE, "the server is stopping"});
    if (watches_.size() >= limits::kStreams) {
      displaced = Displaced(watch->peer());
      if (displaced == nullptr) {
        return Refuse({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many event watches are open"});
      }
    }
    watches_.push_back(watch);
    StartTicking();
  }
  if (displaced != nullptr) {
    // Outside the lock: the watch that ends calls Forget.
    displaced->Drop({grpc::StatusCode::RESOURCE_EXHAUSTED,
                     "others need this watch's place: its connection has the most of all; watch "
                     "again from the last event you saw"});
  }
  watch->Begin();
  return watch.get();
}

// A difference of two keeps the places from going back and forth between two connections.
std::shared_ptr<EventWatch> EventHub::Displaced(const std::string& peer) {
  std::map<std::string, std::size_t> counts;
  for (const auto& watch : watches_) ++counts[watch->peer()];
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == counts.end() || most->second < counts[peer] + 2) return nullptr;
  const auto oldest = std::find_if(watches_.begin(), watches_.end(),
                                   [&](const auto& watch) { return watch->peer() == most->first; });
  std::shared_ptr<EventWatch> out = *oldest;
  watches_.erase(oldest);
  return out;
}

void EventHub::AlsoTick(std::weak_ptr<TickedStream> stream) {
  MutexLock lock(mutex_);
  if (closed_) return;
  std::erase_if(ticked_, [](const auto& one) { return one.expired(); });
  ticked_.push_back(std::move(stream));
  StartTicking();
}

// From the first stream on; the health of the server is one.
void EventHub::StartTicking() {
  if (ticker_.joinable()) return;
  ticker_ = std::jthread([this](std::stop_token stop) {
    while (!SleepFor(stop, kTick)) Tick();
  });
}

void EventHub::Tick() {
  const Status ready = service_.Ready();
  for (const auto& watch : Watches()) {
    if (!ready.ok()) {
      watch->End({grpc::StatusCode::UNAVAILABLE, ready.error().detail});
    }
    watch->OnTick(kTick.count() * 1000);
  }
  std::vector<std::weak_ptr<TickedStream>> others;
  {
    MutexLock lock(mutex_);
    others = ticked_;
  }
  for (const auto& other : others) {
    if (const auto stream = other.lock()) stream->OnTick(kTick.count() * 1000);
  }
}

// The thread is joined without the lock, because its tick takes the lock.
void EventHub::StopTicking() {
  std::jthread ticker;
  {
    MutexLock lock(mutex_);
    ticker.swap(ticker_);
  }
  ticker.request_stop();  // joined by the destructor
}

std::vector<std::shared_ptr<EventWatch>> EventHub::Watches() const {
  MutexLock lock(mutex_);
  return watches_;
}

void EventHub::Publish(const std::vector<Event>& events) {
  if (events.empty()) return;
  for (const auto& watch : Watches()) watch->OnPublished(events);
}

void EventHub::Close() {
  {
    MutexLock lock(mutex_);
    closed_ = true;
  }
  StopTicking();
  for (const auto& watch : Watches()) {
    watch->End({grpc::StatusCode::UNAVAILABLE, "the server is stopping"});
  }
}

void EventHub::Forget(const EventWatch* watch) {
  MutexLock lock(mutex_);
  std::erase_if(watches_, [watch](const auto& held) { return held.get() == watch; });
}

std::size_t EventHub::size() const {
  MutexLock lock(mutex_);
  return watches_.size();
}

}  // namespace muster::api
