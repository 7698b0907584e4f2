// EventHub: hands committed events to the WatchEvents calls that are open.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "api/grpc/event_watch.h"
#include "api/service/stream_counts.h"
#include "schedd/base/mutex.h"

namespace muster::api {

/// Another kind of open stream that the hub's ticker runs for.
class TickedStream {
 public:
  virtual ~TickedStream() = default;
  /// `ms` have passed since the last tick. On the ticker's thread.
  virtual void OnTick(std::int64_t ms) = 0;
};

/// Thread-safe. A ticker runs once a second. While the daemon does not lead it ends all watches
/// (kUnavailable), because another leader may commit events that this process does not publish; and
/// it ends a watch whose client takes nothing for limits::kWatchStallMs, or whose caller may not
/// watch any more.
class EventHub {
 public:
  /// The references must outlive the hub. `streams` counts the watches of each user.
  EventHub(SchedulerService& service, const auth::Authenticator& authenticator,
           StreamCounts streams);
  ~EventHub();
  /// Opens a watch; gRPC owns it until it ends. At most limits::kStreams watches are open. When all
  /// are taken, the connection with the most watches loses its oldest one to a connection that has
  /// at least two fewer; else, and beyond what one user may have, the new watch is refused (an
  /// ended reactor).
  grpc::ServerWriteReactor<v1::Event>* Open(grpc::CallbackServerContext* context,
                                            auth::Principal who, std::int64_t since);
  /// A watch that has already ended with `status`.
  static grpc::ServerWriteReactor<v1::Event>* Refuse(const grpc::Status& status);
  /// Lets the ticker run for a stream until it is gone.
  void AlsoTick(std::weak_ptr<TickedStream> stream);
  /// Called from the engine thread; never blocks on I/O.
  void Publish(const std::vector<Event>& events);
  /// Ends every watch (kUnavailable) and opens no further ones.
  void Close();
  std::size_t size() const;

 private:
  std::vector<std::shared_ptr<EventWatch>> Watches() const;
  void Forget(const EventWatch* watch);
  /// Removes and returns the watch whose place `peer` may take; null if there is none.
  std::shared_ptr<EventWatch> Displaced(const std::string& peer) MUSTER_REQUIRES(mutex_);
  /// Starts the ticker if it does not run.
  void StartTicking() MUSTER_REQUIRES(mutex_);
  void Tick();
  void StopTicking();

  SchedulerService& service_;
  const auth::Authenticator& authenticator_;
  const StreamCounts streams_;
  mutable Mutex mutex_;
  std::vector<std::shared_ptr<EventWatch>> watches_ MUSTER_GUARDED_BY(mutex_);  // the oldest first
  std::vector<std::weak_ptr<TickedStream>> ticked_ MUSTER_GUARDED_BY(mutex_);
  bool closed_ MUSTER_GUARDED_BY(mutex_) = false;
  std::jthread ticker_ MUSTER_GUARDED_BY(mutex_);  // runs from the first stream on
};

}  // namespace muster::api
