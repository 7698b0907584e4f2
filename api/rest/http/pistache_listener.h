// PistacheListener: Pistache polls sockets and reads from them; no other part of Pistache is used,
// and api/net accepts. Only this header and its source include Pistache. README.md lists the faults
// of Pistache that this division avoids.
#pragma once

#include <memory>
#include <string>

#include "api/net/acceptor.h"
#include "api/rest/http/byte_sink.h"
#include "schedd/base/mutex.h"
#include "schedd/base/result.h"

namespace muster::rest {

class PistacheListener {
 public:
  /// Both callbacks run on the acceptors' threads, one for TCP and one for the Unix socket;
  /// `on_full` when no descriptor is left.
  PistacheListener(ConnectionFactory on_connection, net::Acceptor::FullCallback on_full);
  ~PistacheListener();
  /// Binds an IP address, and the Unix socket at the path `socket` unless that is "", and reads on
  /// `threads` threads of its own. `port` 0: any free port. Errors: the address or the socket is in
  /// use, or the address is not of this host.
  Status Start(const std::string& host, int port, int threads, const std::string& socket = "");
  /// Stops accepting and reading, and joins the threads. Sinks stay usable for writing.
  void Stop();
  /// The port bound, 0 before Start.
  int port() const { return acceptor_.port(); }

 private:
  struct Impl;
  void OnSocket(int fd);

  ConnectionFactory on_connection_;
  std::unique_ptr<Impl> impl_;
  Mutex handing_over_;  // Pistache's queue of new peers
  net::Acceptor acceptor_, unix_acceptor_;
};

}  // namespace muster::rest
