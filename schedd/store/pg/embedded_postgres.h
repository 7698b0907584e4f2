// EmbeddedPostgres: a private PostgreSQL under the daemon's data directory, for installations that
// bring none.
//
// It makes the cluster on first use, listens on a unix socket in a 0700 directory only, runs as an
// unprivileged user when the daemon is root, ends with the daemon (even when that is killed), and
// is started again when it dies alone. It never ends a process that is not a PostgreSQL of its own
// directory.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "schedd/base/result.h"

namespace muster {

/// Thread-safe. Owns the server process and the thread that watches it.
class EmbeddedPostgres {
 public:
  /// Starts the server below `data_dir` (made if missing) and waits until it answers; its database
  /// `muster` exists then. Errors (kFailedPrecondition, kUnavailable) are sentences for the
  /// administrator: no PostgreSQL >= 15 installed, a data directory of another version, in use by
  /// another daemon, not reachable for the unprivileged user. `stop`, requested at any time, ends
  /// the server as Stop does without waiting for its end, and a start under way with kCancelled.
  static Result<std::unique_ptr<EmbeddedPostgres>> Start(const std::string& data_dir,
                                                         std::stop_token stop = {});
  /// Stops.
  ~EmbeddedPostgres();
  EmbeddedPostgres(const EmbeddedPostgres&) = delete;
  EmbeddedPostgres& operator=(const EmbeddedPostgres&) = delete;

  /// libpq URL of the database `muster`; the same over restarts of the server.
  const std::string& url() const;
  /// Fast shutdown; when that takes too long an immediate one, and a kill at the end of `within`.
  /// Idempotent.
  void Stop(std::chrono::milliseconds within = std::chrono::seconds(10));
  /// The server's process, 0 while it is down.
  int pid() const;
  /// How often it was started again after it had died.
  std::int64_t restarts() const;

 private:
  struct Impl;
  explicit EmbeddedPostgres(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
