// EventHub: hands committed events to the WatchEvents calls that are open.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "api/grpc/event_watch.h"

namespace muster::api {

/// Thread-safe.
class EventHub {
 public:
  explicit EventHub(SchedulerService& service) : service_(service) {}
  /// Opens a watch; it belongs to gRPC until it ends. Refused (an ended reactor) beyond
  /// limits::kStreams watches.
  grpc::ServerWriteReactor<v1::Event>* Open(auth::Principal who, std::int64_t since);
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

  SchedulerService& service_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<EventWatch>> watches_;
  bool closed_ = false;
};

}  // namespace muster::api
