// A watch has two buffers: page_, read from the store, and live_, published by the engine. An event
// is sent if its number is above sent_, the number of the last one, so an event that is in both
// buffers is sent once.
//
// behind_ means that the store has events that neither buffer has. Then Advance clears live_, marks
// the watch as not behind, and reads a page after sent_: what was published before the read is in
// the store, and what is published from then on goes to live_, so there is no gap. A full page
// means that there is more, so the watch is behind again and live_ waits until the last page is
// sent. If live_ overflows because the client reads slowly, it is cleared and the watch is behind.
//
// busy_ allows one step at a time, a write or a read. The write's end (OnWriteDone) calls Advance
// for the next step.
#include "api/grpc/event_watch.h"

#include <algorithm>
#include <utility>

#include "api/grpc/call.h"
#include "api/grpc/convert.h"
#include "api/service/ask_again.h"
#include "schedd/base/limits.h"
#include "schedd/base/mutex.h"

namespace muster::api {
namespace {

constexpr std::size_t kPageEvents = 1000;
// About kStreamBacklogBytes, at some 200 bytes an event.
constexpr std::size_t kLiveEvents = limits::kStreamBacklogBytes / 200;

}  // namespace

EventWatch::EventWatch(SchedulerService& service, const auth::Authenticator& authenticator,
                       grpc::CallbackServerContext* context, auth::Principal who,
                       std::int64_t since, std::shared_ptr<const void> counted,
                       std::function<void(const EventWatch*)> on_done)
    : service_(service),
      authenticator_(authenticator),
      context_(context),
      peer_(context->peer()),
      who_(std::move(who)),
      lead_(service.LastLead()),
      counted_(std::move(counted)),
      on_done_(std::move(on_done)),
      filter_(service.authorizer(), who_),
      sent_(since) {}

void EventWatch::Begin() {
  self_ = shared_from_this();
  StartSendInitialMetadata();
  Advance();
}

// Called on the engine's thread: it only queues the events and, if nothing is under way, starts the
// next write.
void EventWatch::OnPublished(const std::vector<Event>& events) {
  bool write = false;
  {
    MutexLock lock(mutex_);
    if (ending_) return;
    const ConfigPtr config = service_.View()->config;
    for (const Event& event : events) {
      if (filter_.Shows(NamespaceOf(event), config == nullptr ? 0 : config->version))
        live_.push_back(event);
    }
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

// Events of page_ come before those of live_; those of live_ only when no page is missing.
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
    if (behind_) return false;
  }
  return false;
}

// The loop ends with a write under way, with nothing left to do, or with the end of the call.
void EventWatch::Advance() {
  MutexLock lock(mutex_);
  while (!busy_) {
    if (ending_) {
      if (!MayFinish()) return;
      const grpc::Status status = status_;
      lock.Unlock();
      // The watch ends because this daemon no longer leads or is stopping.
      if (status.error_code() == grpc::StatusCode::UNAVAILABLE)
        NameLeader(*context_, service_.lease());
      Finish(status);
      return;
    }
    Event next;
    if (TakeNext(&next)) {
      busy_ = writing_ = true;
      written_for_ms_ = 0;
      message_.Clear();
      ToProto(next, &message_);
      lock.Unlock();
      StartWrite(&message_);
      return;
    }
    if (!behind_) return;
    // Events published from here on stay in live_; events published before are in the store.
    busy_ = true;
    live_.clear();
    behind_ = false;
    const std::int64_t since = sent_;
    lock.Unlock();
    const Result<EventPage> read = service_.EventsSince(who_, since, kPageEvents);
    lock.Lock();
    busy_ = false;
    if (!read.ok()) {
      ending_ = true;
      status_ = grpc::Status(static_cast<grpc::StatusCode>(read.error().code), read.error().detail);
      continue;
    }
    if (read->more) behind_ = true;
    page_.assign(read->events.begin(), read->events.end());
    // Events that the caller may not see are passed over, and so are not read again.
    if (page_.empty()) sent_ = std::max(sent_, read->through);
  }
}

void EventWatch::End(grpc::Status status) {
  {
    MutexLock lock(mutex_);
    if (!ending_) status_ = std::move(status);
    ending_ = true;
  }
  Advance();
}

void EventWatch::Drop(grpc::Status status) {
  End(std::move(status));
  CancelWrite();
}

// EventsSince asks, too, but a watch that has caught up does not read.
void EventWatch::AskAgain() {
  const Status may = MayKeepFollowing(authenticator_, service_, who_);
  if (may.ok()) return;
  Drop({static_cast<grpc::StatusCode>(may.error().code), may.error().detail});
}

// A write that takes longer than kWatchStallMs means that the client does not read.
void EventWatch::OnTick(std::int64_t ms) {
  // What the client has been told may be lost with a database server: it looks again.
  if (service_.LastLead() != lead_)
    End({grpc::StatusCode::UNAVAILABLE, "a new lead has begun; watch again after the last event"});
  asked_ms_ago_ += ms;
  if (asked_ms_ago_ >= limits::kAskAgainMs) {
    asked_ms_ago_ = 0;
    AskAgain();
  }
  {
    MutexLock lock(mutex_);
    if (!writing_) return;
    written_for_ms_ += ms;
    if (written_for_ms_ <= limits::kWatchStallMs) return;
  }
  Drop({grpc::StatusCode::RESOURCE_EXHAUSTED,
        "an event was not taken in time; watch again from the last event you saw"});
}

// TryCancel must not run after Finish, since gRPC frees the context then; cancelling_ holds Finish
// back until TryCancel has returned.
void EventWatch::CancelWrite() {
  {
    MutexLock lock(mutex_);
    if (!writing_ || finished_ || cancelling_) return;
    cancelling_ = true;
  }
  context_->TryCancel();
  {
    MutexLock lock(mutex_);
    cancelling_ = false;
  }
  Advance();
}

bool EventWatch::MayFinish() { return !cancelling_ && !std::exchange(finished_, true); }

void EventWatch::OnWriteDone(bool ok) {
  {
    MutexLock lock(mutex_);
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
