// PistacheListener: Pistache polls and reads; nothing else of it is used. Accepting is api/net's.
// The only file pair that includes Pistache. README.md says which of Pistache's faults each choice
// here answers.
#pragma once

#include <memory>
#include <string>

#include "api/net/acceptor.h"
#include "api/rest/http/byte_sink.h"
#include "schedd/base/result.h"

namespace muster::rest {

class PistacheListener {
 public:
  /// Both are called on the acceptor's thread; `on_full` when no descriptor is left.
  PistacheListener(ConnectionFactory on_connection, net::Acceptor::OnFull on_full);
  ~PistacheListener();
  /// Binds an IP address and reads on `threads` threads of its own. `port` 0: any free one.
  /// Errors: the address is in use or not of this host.
  Status Start(const std::string& host, int port, int threads);
  /// Accepts and reads no more; joins its threads. Sinks stay usable for writing.
  void Stop();
  /// The port bound, 0 before Start.
  int port() const { return acceptor_.port(); }

 private:
  struct Impl;
  void OnSocket(int fd);

  ConnectionFactory on_connection_;
  std::unique_ptr<Impl> impl_;
  net::Acceptor acceptor_;
};

}  // namespace muster::rest
