// The gRPC server: the services of muster.v1, reflection and grpc.health.v1 over SchedulerService.
// This header has no gRPC type, so that the daemon does not depend on gRPC's headers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/auth/authenticator.h"
#include "api/grpc/front/front.h"
#include "api/service/scheduler_service.h"
#include "api/service/stream_counts.h"
#include "schedd/base/limits.h"

namespace muster::api {

struct GrpcOptions {
  std::string host = "127.0.0.1";
  int port = 8687;                                // 0: any free port
  StreamCounts streams{limits::kStreamsPerUser};  // event watches; a copy counts on REST
  front::FrontOptions front = {};
  std::string socket = {};  // the path of a Unix socket to listen on too; "": none
};

class GrpcServer {
 public:
  /// The references must outlive the server. Thread-safe after Start.
  GrpcServer(SchedulerService& service, const auth::Authenticator& authenticator,
             GrpcOptions options);
  ~GrpcServer();
  /// Binds and serves on gRPC's own threads; errors: the host is beyond loopback and there is no
  /// TLS (GrpcOptions::front), the address is in use.
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
