// The REST server: Pistache behind a guard that parses and limits every request first, and one
// route table. Beyond loopback it listens with TLS only; a Unix socket is always plain. No Pistache
// type appears here.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/auth/authenticator.h"
#include "api/net/tls/tls_context.h"
#include "api/service/scheduler_service.h"
#include "api/service/stream_counts.h"
#include "schedd/base/clock.h"
#include "schedd/base/lease.h"
#include "schedd/base/limits.h"
#include "schedd/telemetry/metrics.h"

namespace muster::api {

/// A warning for the administrator that the daemon found at its start.
struct ServerWarning {
  std::string type;  // a stable word: "JobsRunAsRoot"
  std::string message;
};

/// A provider at which the web page lets its reader sign in.
struct SignInProvider {
  std::string name, issuer, client;
};

struct RestOptions {
  std::string host = "127.0.0.1";
  int port = 8686;  // 0: any free port
  int threads = 2;
  /// For /readyz: why nothing can be made durable at the moment; "" if writes work. May be null.
  /// Called from any thread; must not block.
  std::function<std::string()> write_problem = {};
  /// What the database promises and what it waits for; shown by /v1/status. May be null. Called
  /// from any thread; must not block.
  std::function<json::object()> database = {};
  std::vector<ServerWarning> warnings = {};  // shown by /v1/status
  /// What is wrong now with the methods of authentication; shown by /v1/status too. Called from any
  /// thread; must not block.
  std::function<std::vector<std::string>()> access_problems = {};
  std::vector<std::string> accepted = {};    // credentials that are taken, in words, for whoami
  std::vector<SignInProvider> sign_in = {};
  std::string default_image = {};            // of batch scripts on Kubernetes members; may be ""
  /// Who leads; null: no other daemon can. Must outlive the server.
  const LeaseBoard* lease = nullptr;
  const Clock* clock = nullptr;              // of expiry times; null only in tests
  std::string socket = {};                   // the path of a Unix socket to listen on; "": none
  std::shared_ptr<net::TlsSource> tls = {};  // null: plain HTTP, on loopback only
  StreamCounts streams{limits::kStreamsPerUser};  // a copy of it counts on the other server
  std::size_t connections_per_peer = 0;           // 0: one part in limits::kPeerShare of all
};

class RestServer {
 public:
  /// All references must outlive the server.
  RestServer(SchedulerService& service, Metrics& metrics, const auth::Authenticator& authenticator,
             RestOptions options);
  ~RestServer();
  /// Binds and serves on its own threads; errors: address in use, beyond loopback without TLS.
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
