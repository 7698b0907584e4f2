// Front: accepts gRPC's connections, notes who is at the other end (peer_registry.h), counts their
// HTTP/2 frames (frame_meter.h) and passes the bytes to gRPC over one socket pair per connection.
// README.md lists the bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "api/grpc/front/peer_registry.h"
#include "api/net/tls/tls_context.h"
#include "schedd/base/limits.h"
#include "schedd/base/result.h"

namespace muster::api::front {

struct FrontOptions {
  std::size_t max_connections = limits::kGrpcConnections;
  std::size_t max_streams = limits::kGrpcStreams;
  std::size_t connections_per_peer = 0;  // 0: one part in limits::kPeerShare of all
  std::int64_t preface_ms = limits::kGrpcPrefaceMs;
  std::int64_t stall_ms = limits::kGrpcStallMs;
  std::shared_ptr<net::TlsSource> tls = {};  // null: plain
  /// Called with each new connection's peer; nothing of it is read before `ready` is called, from
  /// any thread. Whoever has not become ready within `preface_ms` is cut. Null: all are ready.
  std::function<void(const net::Peer& peer, std::function<void()> ready)> prepare = {};
};

/// Thread-safe. Runs one thread of its own and the acceptor's.
class Front {
 public:
  /// Takes ownership of the server's end of a connection. Called on the front's thread.
  using SocketAdopter = std::function<void(int fd)>;
  /// `peers` must outlive it; every connection is listed there before `adopt` gets it.
  Front(SocketAdopter adopt, PeerRegistry& peers, FrontOptions options);
  ~Front();
  /// Binds an IP address (from net::ListenAddress), and a Unix socket at the path `socket` unless
  /// that is "". `port` 0: any free port. Errors: the address or the socket is in use.
  Status Start(const std::string& address, int port, const std::string& socket = "");
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
