// DatabaseDoor: the database of a configuration, for the commands of `musterd` that need no daemon
// (admin.h): a given one, the private one of a daemon that runs, or the private one of a daemon
// that is down, which is then started for as long as the door is open.
#pragma once

#include <memory>
#include <string>

#include "schedd/daemon/config.h"
#include "schedd/store/pg/embedded_postgres.h"

namespace muster {

class DatabaseDoor {
 public:
  /// `make`: a private database that does not exist yet is made; without it the error
  /// (kFailedPrecondition) says that there is none. A private one that a running daemon has is
  /// opened only if `beside`.
  static Result<std::unique_ptr<DatabaseDoor>> Open(const DaemonConfig& config, bool make,
                                                    bool beside);
  /// Ends the private server if the door has started it.
  ~DatabaseDoor();
  DatabaseDoor(const DatabaseDoor&) = delete;
  DatabaseDoor& operator=(const DatabaseDoor&) = delete;

  /// Connects as the owner of the schema, who sees every row.
  const std::string& url() const { return url_; }
  /// True for a private database whose daemon is down: nobody else can use it while the door is
  /// open, whatever its lease says (a private database's is not given up).
  bool alone() const { return server_ != nullptr; }

 private:
  DatabaseDoor() = default;
  std::string url_;
  std::unique_ptr<EmbeddedPostgres> server_;
  int lock_fd_ = -1;
};

}  // namespace muster
