// Migrations: numbered SQL files of db/migrations, embedded at build time, applied under a lock and
// recorded with their checksums. A schema newer than this program, or one made by an edited file,
// is refused.
//
// Thread-safe, also between processes: the lock is PostgreSQL's.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "schedd/base/result.h"

namespace muster::pg {

struct Migration {
  int number = 0;
  const char* name = "";
  const char* up = "";
  const char* down = "";
};

/// In order of number; generated from db/migrations by CMake.
const std::vector<Migration>& EmbeddedMigrations();

/// Applies what is missing, each migration in its own transaction. kUnavailable;
/// kFailedPrecondition with what to do; kCancelled if `stop` is requested while another session
/// migrates or between two migrations.
Status MigrateUp(const std::string& url,
                 const std::vector<Migration>& migrations = EmbeddedMigrations(),
                 const std::stop_token& stop = {});

/// Takes back everything above `target`. For development and tests: it destroys data.
Status MigrateDown(const std::string& url, int target,
                   const std::vector<Migration>& migrations = EmbeddedMigrations());

}  // namespace muster::pg
