// Front: accepts gRPC's connections, counts their HTTP/2 frames (frame_meter.h) and passes the
// bytes to gRPC over one socket pair per connection. README.md lists the bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "schedd/base/limits.h"
#include "schedd/base/result.h"

namespace muster::api::front {

struct FrontOptions {
  std::size_t max_connections = limits::kGrpcConnections;
  std::size_t max_streams = limits::kGrpcStreams;
  std::int64_t preface_ms = limits::kGrpcPrefaceMs;
  std::int64_t stall_ms = limits::kGrpcStallMs;
};

/// Thread-safe. Runs one thread of its own and the acceptor's.
class Front {
 public:
  /// Takes ownership of the server's end of a connection. Called on the front's thread.
  using SocketAdopter = std::function<void(int fd)>;
  Front(SocketAdopter adopt, FrontOptions options);
  ~Front();
  /// Binds a loopback address (from net::LoopbackAddress). `port` 0: any free port. Errors: the
  /// address is in use.
  Status Start(const std::string& address, int port);
  /// Accepts no new connections; existing ones continue, so that gRPC can end them in good order.
  void StopAccepting();
  /// Closes all connections and joins the thread. Idempotent.
  void Stop();
  int port() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace muster::api::front
