// EventHub: hands committed events to the WatchEvents calls that are open.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "api/grpc/event_watch.h"

namespace muster::api {

/// Thread-safe. Once a second it looks after its watches: while the daemon does not lead all end
/// (kUnavailable: who leads may commit what is not published here), and one whose client takes
/// nothing for limits::kWatchStallMs ends.
class EventHub {
 public:
  explicit EventHub(SchedulerService& service);
  ~EventHub();
  /// Opens a watch; it belongs to gRPC until it ends. There are at most limits::kStreams: the
  /// connection that has most of them gives one up for a connection that has at least two fewer,
  /// else the new one is refused (an ended reactor).
  grpc::ServerWriteReactor<v1::Event>* Open(grpc::CallbackServerContext* context,
                                            auth::Principal who, std::int64_t since);
  /// A watch that has already ended with `status`.
  static grpc::ServerWriteReactor<v1::Event>* Refuse(const grpc::Status& status);
  /// From the engine thread; never blocks on I/O.
  void Publish(const std::vector<Event>& events);
  /// Ends every watch (kUnavailable) and opens no further ones.
  void Close();
  std::size_t size() const;

 private:
  std::vector<std::shared_ptr<EventWatch>> Watches() const;
  void Forget(const EventWatch* watch);
  /// Under the lock: takes out the watch that `peer` may displace; null if there is none.
  std::shared_ptr<EventWatch> Displaced(const std::string& peer);
  void Tick();
  void StopTicking();

  SchedulerService& service_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<EventWatch>> watches_;  // the oldest first
  bool closed_ = false;
  std::condition_variable_any wake_;
  std::jthread ticker_;  // from the first watch on
};

}  // namespace muster::api
