#include "api/grpc/event_watch.h"

#include <utility>

#include "api/grpc/convert.h"
#include "schedd/base/limits.h"

namespace muster::api {
namespace {

constexpr std::size_t kPageEvents = 1000;
/// About kStreamBacklogBytes of events of some 200 bytes.
constexpr std::size_t kLiveEvents = limits::kStreamBacklogBytes / 200;

}  // namespace

EventWatch::EventWatch(SchedulerService& service, grpc::CallbackServerContext* context,
                       auth::Principal who, std::int64_t since,
                       std::function<void(const EventWatch*)> on_done)
    : service_(service),
      context_(context),
      peer_(context->peer()),
      who_(std::move(who)),
      on_done_(std::move(on_done)),
      sent_(since) {}

void EventWatch::Begin() {
  self_ = shared_from_this();
  StartSendInitialMetadata();
  Advance();
}

void EventWatch::OnPublished(const std::vector<Event>& events) {
  bool write = false;
  {
    std::lock_guard lock(mutex_);
    if (ending_) return;
    live_.insert(live_.end(), events.begin(), events.end());
    Event next;
    if (!busy_ && !behind_ && TakeNext(&next)) {
      busy_ = writing_ = write = true;
      written_for_ms_ = 0;
      message_.Clear();
      ToProto(next, &message_);
    }
    if (live_.size() > kLiveEvents) {
      live_.clear();
      behind_ = true;
    }
  }
  if (write) StartWrite(&message_);
}

bool EventWatch::TakeNext(Event* event) {
  for (std::deque<Event>* source : {&page_, &live_}) {
    while (!source->empty()) {
      Event first = std::move(source->front());
      source->pop_front();
      if (first.seq <= sent_) continue;
      sent_ = first.seq;
      *event = std::move(first);
      return true;
    }
    // What was published while pages were read comes only after the last page.
    if (behind_) return false;
  }
  return false;
}

void EventWatch::Advance() {
  std::unique_lock lock(mutex_);
  while (!busy_) {
    if (ending_) return FinishOnce(lock);
    Event next;
    if (TakeNext(&next)) {
      busy_ = writing_ = true;
      written_for_ms_ = 0;
      message_.Clear();
      ToProto(next, &message_);
      lock.unlock();
      StartWrite(&message_);
      return;
    }
    if (!behind_) return;
    // What is published from here on stays in live_; what was published before is in the store.
    busy_ = true;
    live_.clear();
    behind_ = false;
    const std::int64_t since = sent_;
    lock.unlock();
    Result<std::vector<Event>> read = service_.EventsSince(who_, since, kPageEvents);
    lock.lock();
    busy_ = false;
    if (!read.ok()) {
      ending_ = true;
      status_ = grpc::Status(static_cast<grpc::StatusCode>(read.error().code), read.error().detail);
      continue;
    }
    if (read->size() >= kPageEvents) behind_ = true;
    page_.assign(read->begin(), read->end());
  }
}

void EventWatch::End(grpc::Status status) {
  {
    std::lock_guard lock(mutex_);
    if (!ending_) status_ = std::move(status);
    ending_ = true;
  }
  Advance();
}

void EventWatch::Drop(grpc::Status status) {
  End(std::move(status));
  CancelWrite();
}

void EventWatch::OnTick(std::int64_t ms) {
  {
    std::lock_guard lock(mutex_);
    if (!writing_) return;
    written_for_ms_ += ms;
    if (written_for_ms_ <= limits::kWatchStallMs) return;
  }
  Drop({grpc::StatusCode::RESOURCE_EXHAUSTED,
        "an event was not taken in time; watch again from the last event you saw"});
}

void EventWatch::CancelWrite() {
  {
    std::lock_guard lock(mutex_);
    if (!writing_ || finished_ || cancelling_) return;
    cancelling_ = true;
  }
  context_->TryCancel();  // gRPC keeps it while the call has not finished
  {
    std::lock_guard lock(mutex_);
    cancelling_ = false;
  }
  Advance();
}

void EventWatch::FinishOnce(std::unique_lock<std::mutex>& lock) {
  if (finished_ || cancelling_) return;
  finished_ = true;
  lock.unlock();
  Finish(status_);
}

void EventWatch::OnWriteDone(bool ok) {
  {
    std::lock_guard lock(mutex_);
    busy_ = writing_ = false;
    if (!ok) ending_ = true;
  }
  Advance();
}

void EventWatch::OnCancel() { End(grpc::Status::CANCELLED); }

void EventWatch::OnDone() {
  on_done_(this);
  self_.reset();
}

}  // namespace muster::api
