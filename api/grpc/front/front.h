// Front: accepts gRPC's connections, counts their HTTP/2 frames (frame_meter.h) and hands the bytes
// on to gRPC over a socket pair each. README.md lists what is bounded.
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

/// Thread-safe. One thread of its own, and the acceptor's.
class Front {
 public:
  /// Takes ownership of the server's end of a connection; on the front's thread.
  using Adopt = std::function<void(int fd)>;
  Front(Adopt adopt, FrontOptions options);
  ~Front();
  /// Binds a loopback address (net::LoopbackAddress); `port` 0: any free one. Errors: in use.
  Status Start(const std::string& address, int port);
  /// Takes no new connections; those there are go on, so that gRPC can end them in good order.
  void StopAccepting();
  /// Closes what is left and joins. Idempotent.
  void Stop();
  int port() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace muster::api::front
