// Daemon: every concrete class of Muster, put together. No other file names two adapters.
#pragma once

#include <memory>

#include "schedd/base/result.h"
#include "schedd/daemon/config.h"

namespace muster {

class Daemon {
 public:
  explicit Daemon(DaemonConfig config);
  ~Daemon();

  /// Locks the data directory, starts or opens PostgreSQL, migrates, takes the lead, recovers,
  /// declares the member clusters and serves. Returns when the daemon is ready; on an error Stop
  /// ends what has begun.
  Status Start();
  /// Called once, from another thread: a Start under way ends soon with an error. Stop must still
  /// be called.
  void CancelStart();
  /// True if the daemon has sent its process SIGTERM because it leads and cannot begin to.
  bool failed() const;
  /// Stops accepting requests, finishes commits in flight, ends the private PostgreSQL. Jobs on
  /// members go on.
  void Stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
