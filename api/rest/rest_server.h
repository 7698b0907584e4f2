// The REST server: Pistache behind a guard that parses and limits every request first, and one
// route table. It listens on loopback only. No Pistache type appears here.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/service/scheduler_service.h"
#include "schedd/telemetry/metrics.h"

namespace muster::api {

/// A warning for the administrator that the daemon found at its start.
struct ServerWarning {
  std::string type;  // a stable word: "JobsRunAsRoot"
  std::string message;
};

struct RestOptions {
  std::string host = "127.0.0.1";
  int port = 8686;  // 0: any free port
  int threads = 2;
  /// For /readyz: why nothing can be made durable at the moment; "" if writes work. May be null.
  /// Called from any thread; must not block.
  std::function<std::string()> write_problem = {};
  std::vector<ServerWarning> warnings = {};  // shown by /v1/status
};

class RestServer {
 public:
  /// All references must outlive the server.
  RestServer(SchedulerService& service, Metrics& metrics, RestOptions options);
  ~RestServer();
  /// Binds and serves on its own threads; errors: address in use, not loopback.
  Status Start();
  /// Refuses new connections, lets answers in flight leave (up to 5 s), and ends streams.
  void Stop();
  int port() const;
  /// Committed events in order, from the engine thread: feeds /v1/events followers. Never blocks.
  void PublishEvents(const std::vector<Event>& events);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::api
