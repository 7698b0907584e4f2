// HttpServer: a RouteTable served over HTTP/1.1 on a loopback address. Knows nothing of jobs: tests
// give it routes of their own. RestServer puts Muster's routes in.
#pragma once

#include <memory>
#include <string>

#include "api/net/acceptor.h"
#include "api/rest/http/connection.h"
#include "api/rest/http/pistache_listener.h"
#include "schedd/base/result.h"

namespace muster::rest {

struct HttpOptions {
  std::string host = "127.0.0.1";  // an IP address of the loopback interface, or localhost
  int port = 0;                    // 0: any free one
  int threads = 2;                 // that read and run what never blocks
  int pool_threads = 4;            // for handlers that may block
  int max_connections = 4096;      // each takes two descriptors; then idle ones make room
  int max_descriptors = 0;         // of the process, 0: what the system allows
};

class HttpServer {
 public:
  HttpServer(RouteTable routes, Metrics& metrics, HttpOptions options);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Errors: not loopback, address in use. Ignores SIGPIPE for the process.
  Status Start();
  /// Takes no new connections and requests, ends streams, lets answers in flight leave (up to 5 s).
  /// Idempotent.
  void Stop();
  int port() const { return listener_.port(); }
  Workers& workers() { return host_->workers; }

 private:
  struct Registry;
  /// Null if the connection was refused (and told so).
  std::shared_ptr<ByteSink> OnConnection(int fd);
  /// Closes some of the connections that nobody uses, the longest idle first; how many.
  std::size_t LetIdleGo();
  bool Crowded() const;
  void Reap();

  const HttpOptions options_;
  const int descriptors_;  // beyond this number one is not for clients
  std::shared_ptr<ConnectionHost> host_;
  std::shared_ptr<Registry> registry_;
  PistacheListener listener_;
  bool stopped_ = false;
};

}  // namespace muster::rest
