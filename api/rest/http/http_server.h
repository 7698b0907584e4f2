// HttpServer: serves a RouteTable over HTTP/1.1, plain on loopback or with TLS, and plain on a Unix
// socket. It knows nothing of jobs: tests give it routes of their own, RestServer gives it
// Muster's.
#pragma once

#include <memory>
#include <string>

#include "api/net/acceptor.h"
#include "api/net/tls/tls_context.h"
#include "api/rest/http/connection.h"
#include "api/rest/http/pistache_listener.h"
#include "schedd/base/result.h"

namespace muster::rest {

struct HttpOptions {
  std::string host = "127.0.0.1";  // as net::ListenAddress takes it; beyond loopback with `tls`
  int port = 0;                    // 0: any free port
  std::string socket = {};         // the path of a Unix socket to listen on too; "": none
  int threads = 2;                 // read requests and run handlers that never block
  int pool_threads = 4;            // run handlers that may block
  int max_connections = 4096;      // each takes two descriptors; beyond it idle ones are closed
  std::size_t connections_per_peer = 0;      // 0: one part in limits::kPeerShare of max_connections
  int max_descriptors = 0;                   // of the process; 0: what the system allows
  std::shared_ptr<net::TlsSource> tls = {};  // null: plain HTTP
};

class HttpServer {
 public:
  HttpServer(RouteTable routes, Metrics& metrics, HttpOptions options);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Errors: an address beyond loopback without TLS, address in use. Ignores SIGPIPE for the
  /// process.
  Status Start();
  /// Accepts no new connections and requests, ends streams, and lets answers in flight leave (up to
  /// 5 s). Idempotent.
  void Stop();
  int port() const { return listener_.port(); }
  Workers& workers() { return host_->workers; }

 private:
  struct Registry;
  /// Null if the connection was refused; the client was told so. Called from two threads at once.
  std::shared_ptr<ByteSink> OnConnection(int fd);
  /// Closes some of the connections that are not in use, the longest idle first: of this peer
  /// alone, or with "" of all. Returns how many.
  std::size_t LetIdleGo(const std::string& peer = "");
  bool Crowded() const;
  bool IsFull(const std::string& peer) const;
  void Reap();

  const HttpOptions options_;
  const int descriptors_;  // descriptors from this number on are not for clients
  std::shared_ptr<ConnectionHost> host_;
  std::shared_ptr<Registry> registry_;
  PistacheListener listener_;
  bool stopped_ = false;
};

}  // namespace muster::rest
