// Migrations: the numbered SQL files of db/migrations, embedded at build time, applied under a lock
// and recorded with their checksums. A schema that is newer than this program, or that an edited
// file made, is refused.
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

/// In the order of their numbers; CMake generates the definition from db/migrations.
const std::vector<Migration>& EmbeddedMigrations();

/// Applies the missing migrations, each in its own transaction. kUnavailable; kFailedPrecondition
/// with what the administrator should do; kCancelled if `stop` is requested while another session
/// migrates or between two migrations.
Status MigrateUp(const std::string& url,
                 const std::vector<Migration>& migrations = EmbeddedMigrations(),
                 const std::stop_token& stop = {});

}  // namespace muster::pg
