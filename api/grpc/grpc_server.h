// The gRPC server: the services of muster.v1, reflection and grpc.health.v1 over SchedulerService.
// This header has no gRPC type, so that the daemon does not depend on gRPC's headers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/grpc/front/front.h"
#include "api/service/scheduler_service.h"

namespace muster::api {

struct GrpcOptions {
  std::string host = "127.0.0.1";
  int port = 8687;  // 0: any free port
  front::FrontOptions front = {};
};

class GrpcServer {
 public:
  /// `service` must outlive the server. Thread-safe after Start.
  GrpcServer(SchedulerService& service, GrpcOptions options);
  ~GrpcServer();
  /// Binds and serves on gRPC's own threads; errors: the host is not loopback, the address is in
  /// use.
  Status Start();
  /// Ends event watches, then lets calls in flight finish, for up to 5 s.
  void Stop();
  int port() const;
  /// Committed events in order, from the engine thread: feeds WatchEvents. Never blocks.
  void PublishEvents(const std::vector<Event>& events);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::api
