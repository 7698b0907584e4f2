#include "schedd/daemon/database_door.h"

#include <unistd.h>

#include <filesystem>

#include "schedd/daemon/data_directory.h"
#include "schedd/store/pg/server_files.h"

namespace muster {

DatabaseDoor::~DatabaseDoor() {
  server_.reset();
  if (lock_fd_ >= 0) close(lock_fd_);
}

// Whoever holds the lock of the directory runs its server; nobody does if it can be taken.
Result<std::unique_ptr<DatabaseDoor>> DatabaseDoor::Open(const DaemonConfig& config, bool make,
                                                         bool beside) {
  std::unique_ptr<DatabaseDoor> door(new DatabaseDoor);
  if (!config.postgres_url.empty()) {
    door->url_ =
        config.postgres_owner_url.empty() ? config.postgres_url : config.postgres_owner_url;
    return door;
  }
  // Before the layout is asked for, which makes the directory.
  std::error_code ignored;
  if (!make && !std::filesystem::exists(pg::HomeBelow(config.data_dir), ignored)) {
    return InvalidArgument("no database is below " + config.data_dir +
                           ": name it by --data-dir or --postgres");
  }
  const Result<int> lock = LockDataDirectory(config.data_dir);
  if (!lock.ok()) {
    if (!beside || lock.error().code != Code::kFailedPrecondition) return lock.error();
    Result<std::string> url = EmbeddedPostgres::OwnerUrlBelow(config.data_dir);
    if (!url.ok()) return url.error();
    door->url_ = std::move(url).value();
    return door;
  }
  door->lock_fd_ = *lock;
  auto server = EmbeddedPostgres::Start(config.data_dir);
  if (!server.ok()) return server.error();
  door->server_ = std::move(server).value();
  door->url_ = door->server_->owner_url();
  return door;
}

}  // namespace muster
