#include "api/grpc/event_hub.h"

#include <algorithm>
#include <utility>

#include "schedd/base/limits.h"

namespace muster::api {
namespace {

/// Ends at once with a status; owns itself.
class RefusedWatch final : public grpc::ServerWriteReactor<v1::Event> {
 public:
  explicit RefusedWatch(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerWriteReactor<v1::Event>* EventHub::Refuse(const grpc::Status& status) {
  return new RefusedWatch(status);
}

grpc::ServerWriteReactor<v1::Event>* EventHub::Open(auth::Principal who, std::int64_t since) {
  auto watch = std::make_shared<EventWatch>(service_, std::move(who), since,
                                            [this](const EventWatch* ended) { Forget(ended); });
  {
    std::lock_guard lock(mutex_);
    if (closed_) return Refuse({grpc::StatusCode::UNAVAILABLE, "the server is stopping"});
    if (watches_.size() >= limits::kStreams) {
      return Refuse({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many event watches are open"});
    }
    watches_.push_back(watch);
  }
  watch->Begin();
  return watch.get();
}

std::vector<std::shared_ptr<EventWatch>> EventHub::Watches() const {
  std::lock_guard lock(mutex_);
  return watches_;
}

void EventHub::Publish(const std::vector<Event>& events) {
  if (events.empty()) return;
  for (const auto& watch : Watches()) watch->OnPublished(events);
}

void EventHub::Close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  for (const auto& watch : Watches()) {
    watch->End({grpc::StatusCode::UNAVAILABLE, "the server is stopping"});
  }
}

void EventHub::Forget(const EventWatch* watch) {
  std::lock_guard lock(mutex_);
  std::erase_if(watches_, [watch](const auto& held) { return held.get() == watch; });
}

std::size_t EventHub::size() const {
  std::lock_guard lock(mutex_);
  return watches_.size();
}

}  // namespace muster::api
