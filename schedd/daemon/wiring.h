// Daemon: every concrete class of Muster, put together. The only file pair that names two adapters.
#pragma once

#include <memory>

#include "schedd/base/result.h"
#include "schedd/daemon/config.h"

namespace muster {

class Daemon {
 public:
  explicit Daemon(DaemonConfig config);
  ~Daemon();

  /// Locks the data directory, starts or opens PostgreSQL, migrates, takes leadership, recovers,
  /// declares the member clusters and serves. Returns once it is ready; on an error everything
  /// begun is ended again.
  Status Start();
  /// From another thread, once: a Start under way ends soon, with an error, and Stop is still due.
  void CancelStart();
  /// Stops accepting, finishes commits in flight, ends the private PostgreSQL. What runs on members
  /// goes on.
  void Stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
