// EventWatch: one WatchEvents call. It reads older events from the store, page by page, and then
// follows what the engine publishes. A client that reads slowly costs a bounded buffer: when the
// buffer overflows, the watch reads pages from the store again, so nothing is lost and no other
// client waits.
#pragma once

#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/auth/authenticator.h"
#include "api/service/event_filter.h"
#include "api/service/scheduler_service.h"
#include "muster/v1/jobs.pb.h"
#include "schedd/base/mutex.h"

namespace muster::api {

/// Thread-safe. Owned by the hub and by itself until OnDone. No gRPC call is made with the lock
/// held: gRPC may run a reaction inside the call that caused it.
class EventWatch final : public grpc::ServerWriteReactor<v1::Event>,
                         public std::enable_shared_from_this<EventWatch> {
 public:
  EventWatch(SchedulerService& service, const auth::Authenticator& authenticator,
             grpc::CallbackServerContext* context, auth::Principal who, std::int64_t since,
             std::shared_ptr<const void> counted, std::function<void(const EventWatch*)> on_done);
  /// Starts reading and writing. Call once, after the hub has listed the watch.
  void Begin();
  /// Committed events in order, from the engine thread.
  void OnPublished(const std::vector<Event>& events);
  /// Ends the call with a status, after the event that is being written.
  void End(grpc::Status status);
  /// Ends the call with a status at once: a write under way is cancelled.
  void Drop(grpc::Status status);
  /// `ms` have passed since the last tick. Drops a watch whose client does not read, ends one that
  /// began under another lead, and every limits::kAskAgainMs asks whether the caller may go on
  /// (rule U25).
  void OnTick(std::int64_t ms);
  /// Identifies the connection that the call came over.
  const std::string& peer() const { return peer_; }

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  /// Takes the next step if none is under way: write an event, or read a page from the store.
  void Advance() MUSTER_EXCLUDES(mutex_);
  /// Moves the next event to write into `event`; false if none is buffered.
  bool TakeNext(Event* event) MUSTER_REQUIRES(mutex_);
  /// Drops the watch if the caller's credential or right has ended.
  void AskAgain() MUSTER_EXCLUDES(mutex_);
  /// True if the caller is to finish the call, without the lock: not if that has happened or a
  /// cancellation is under way.
  bool MayFinish() MUSTER_REQUIRES(mutex_);
  /// Cancels the call, so that a write under way ends. Does nothing without one.
  void CancelWrite() MUSTER_EXCLUDES(mutex_);

  SchedulerService& service_;
  const auth::Authenticator& authenticator_;
  grpc::CallbackServerContext* const context_;  // gRPC's, until OnDone
  const std::string peer_;
  const auth::Principal who_;
  const Epoch lead_;                           // under which it began
  const std::shared_ptr<const void> counted_;  // StreamCounts: as long as the call is open
  const std::function<void(const EventWatch*)> on_done_;
  std::shared_ptr<EventWatch> self_;  // keeps this alive until OnDone

  std::int64_t asked_ms_ago_ = 0;  // the ticker's alone

  Mutex mutex_;
  EventFilter filter_ MUSTER_GUARDED_BY(mutex_);
  std::deque<Event> page_ MUSTER_GUARDED_BY(mutex_);  // read from the store
  std::deque<Event> live_ MUSTER_GUARDED_BY(mutex_);  // published since the last read began
  std::int64_t sent_ MUSTER_GUARDED_BY(mutex_) = 0;   // seq of the last event handed to gRPC
  bool behind_ MUSTER_GUARDED_BY(mutex_) = true;      // the store has more than page_ and live_
  bool busy_ MUSTER_GUARDED_BY(mutex_) = false;       // a write or a read is under way
  bool writing_ MUSTER_GUARDED_BY(mutex_) = false;
  std::int64_t written_for_ms_ MUSTER_GUARDED_BY(mutex_) = 0;  // age of the write under way
  // The call must not finish while this is true.
  bool cancelling_ MUSTER_GUARDED_BY(mutex_) = false;
  bool ending_ MUSTER_GUARDED_BY(mutex_) = false;
  bool finished_ MUSTER_GUARDED_BY(mutex_) = false;
  grpc::Status status_ MUSTER_GUARDED_BY(mutex_);
  v1::Event message_ MUSTER_GUARDED_BY(mutex_);  // being written
};

}  // namespace muster::api
