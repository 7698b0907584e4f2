// PistacheListener: Pistache accepts, polls and reads; nothing else of it is used. The only file
// pair that includes Pistache. README.md says which of Pistache's faults each choice here answers.
#pragma once

#include <memory>
#include <string>

#include "api/rest/http/byte_sink.h"
#include "schedd/base/result.h"

namespace muster::rest {

class PistacheListener {
 public:
  explicit PistacheListener(ConnectionFactory on_connection);
  ~PistacheListener();
  /// Binds an IP address and reads on `threads` threads of its own. `port` 0: any free one.
  /// Errors: the address is in use or not of this host.
  Status Start(const std::string& host, int port, int threads);
  /// Accepts and reads no more; joins its threads. Sinks stay usable for writing.
  void Stop();
  /// The port bound, 0 before Start.
  int port() const { return port_; }

 private:
  struct Impl;
  ConnectionFactory on_connection_;
  std::unique_ptr<Impl> impl_;
  int port_ = 0;
};

}  // namespace muster::rest
