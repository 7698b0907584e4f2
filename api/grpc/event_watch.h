// EventWatch: one WatchEvents call. It reads what is older from the store, page by page, then
// follows what the engine publishes. A client that reads slowly costs a bounded buffer: when it
// overflows, the watch goes back to reading pages, so nothing is lost and nobody else waits.
#pragma once

#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/service/scheduler_service.h"
#include "muster/v1/jobs.pb.h"

namespace muster::api {

/// Thread-safe; owned by the hub and by its own callbacks until OnDone. No gRPC call is made with
/// the lock held: gRPC may run a reaction inside the call that caused it.
class EventWatch final : public grpc::ServerWriteReactor<v1::Event>,
                         public std::enable_shared_from_this<EventWatch> {
 public:
  EventWatch(SchedulerService& service, grpc::CallbackServerContext* context, auth::Principal who,
             std::int64_t since, std::function<void(const EventWatch*)> on_done);
  /// Begins to read and write; call once, after the hub knows the watch.
  void Begin();
  /// From the engine thread, in order.
  void OnPublished(const std::vector<Event>& events);
  /// Ends the call with a status, after the event that is being written.
  void End(grpc::Status status);
  /// The same, whether the client takes that event or not.
  void Drop(grpc::Status status);
  /// `ms` have passed: a watch whose client does not read is dropped.
  void OnTick(std::int64_t ms);
  /// The connection that the call came over.
  const std::string& peer() const { return peer_; }

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  /// Takes the next step if none is under way: write an event, or read a page from the store.
  void Advance();
  /// Under the lock: the next event to write, if there is one at hand.
  bool TakeNext(Event* event);
  void FinishOnce(std::unique_lock<std::mutex>& lock);
  /// Cancels the call, so that a write under way ends.
  void CancelWrite();

  SchedulerService& service_;
  grpc::CallbackServerContext* const context_;  // gRPC's, until OnDone
  const std::string peer_;
  const auth::Principal who_;
  const std::function<void(const EventWatch*)> on_done_;
  std::shared_ptr<EventWatch> self_;  // until OnDone

  std::mutex mutex_;
  std::deque<Event> page_;  // read from the store
  std::deque<Event> live_;  // published since the last read began
  std::int64_t sent_ = 0;   // seq of the last event handed to gRPC
  bool behind_ = true;      // the store has more than page_ and live_
  bool busy_ = false;       // a write or a read is under way
  bool writing_ = false;
  std::int64_t written_for_ms_ = 0;  // the write under way
  bool cancelling_ = false;          // the call must not finish meanwhile
  bool ending_ = false;
  bool finished_ = false;
  grpc::Status status_;
  v1::Event message_;  // of the write under way
};

}  // namespace muster::api
