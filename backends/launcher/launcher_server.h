// The launcher's end: serves a Backend on a Unix socket to one daemon at a time.
//
// It answers the calls of launcher.proto and nothing else: any other message ends the connection.
// When a connection ends, attempts run on; the orders that had arrived by then are carried out
// before another connection is taken, so that a daemon which lists after it has connected misses
// none.
#pragma once

#include <sys/types.h>

#include <memory>
#include <set>
#include <string>

#include "backends/backend.h"
#include "schedd/base/clock.h"

namespace muster {

struct LauncherServerOptions {
  /// The path of the socket, in a directory that only root may change. What is left there of an
  /// earlier launcher is replaced.
  std::string socket;
  /// The user that the socket belongs to (0600), and the only one beside root who may connect.
  uid_t daemon = 0;
  /// The members that run root's jobs. On all others an order with root's account is refused: what
  /// the daemon says must not be enough to become root.
  std::set<std::string> root_clusters;
  /// CLOCK_MONOTONIC, in which orders say how long they may be carried out. Must outlive the
  /// server.
  const Clock* clock = nullptr;
};

class LauncherServer {
 public:
  /// `backend` must outlive the server and is started by it.
  LauncherServer(Backend& backend, LauncherServerOptions options);
  ~LauncherServer();

  /// Listens. Error (kFailedPrecondition): the socket cannot be made.
  Status Start();
  /// Ends the connection and the backend's reports. Attempts run on.
  void Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
