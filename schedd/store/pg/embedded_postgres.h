// EmbeddedPostgres: a private PostgreSQL server below the daemon's data directory, for
// installations that have no database of their own.
//
// It creates the database cluster on first use, listens only on a unix socket in a 0700 directory,
// runs as an unprivileged user if the daemon is root, ends with the daemon (even when the daemon is
// killed), and is restarted if it dies alone. It never signals a process that is not a PostgreSQL
// of its own directory.
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
  /// Starts the server below `data_dir` (created if missing) and waits until it answers and its
  /// database `muster` exists. Errors (kFailedPrecondition, kUnavailable) are sentences for the
  /// administrator: no PostgreSQL 15 or newer is installed; the data directory was made by another
  /// version, is used by another daemon, or cannot be reached by the unprivileged user. A request
  /// of `stop` ends the server as Stop does, without waiting for its end; a start under way then
  /// fails with kCancelled.
  static Result<std::unique_ptr<EmbeddedPostgres>> Start(const std::string& data_dir,
                                                         std::stop_token stop = {});
  /// The owner's URL of the server below `data_dir`, whether it runs or not.
  static Result<std::string> OwnerUrlBelow(const std::string& data_dir);
  /// Calls Stop.
  ~EmbeddedPostgres();
  EmbeddedPostgres(const EmbeddedPostgres&) = delete;
  EmbeddedPostgres& operator=(const EmbeddedPostgres&) = delete;

  /// libpq URLs of the database `muster`; restarts of the server do not change them. The owner may
  /// change the schema; the daemon's role may not, and may only add to the audit trail.
  const std::string& owner_url() const;
  const std::string& daemon_url() const;
  /// The server's own directory, which only its account can enter.
  const std::string& home() const;
  /// Fast shutdown; an immediate one when that takes four fifths of `within`, and a kill at its
  /// end. Idempotent.
  void Stop(std::chrono::milliseconds within = std::chrono::seconds(10));
  /// Process id of the server; 0 while it is down.
  int pid() const;
  /// How often the server was started again after it had died.
  std::int64_t restarts() const;

 private:
  struct Impl;
  explicit EmbeddedPostgres(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
