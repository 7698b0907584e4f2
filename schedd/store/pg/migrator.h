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

/// The lowest schema that MigrateDown goes to. The migration above it takes no data with it when it
/// is taken back; those below would: 20 the steps of jobs and what was measured, 18 the accounts
/// that jobs run as, 17 the hashes of the audit trail, 16 roles and tokens, and so on.
inline constexpr int kLowestSchema = 20;

/// Takes back the migrations above `target`, the newest first, each in its own transaction.
/// kFailedPrecondition: the schema is newer than this program, a daemon leads, or `target` is below
/// `lowest`; the sentence names the first migration that would lose data. `alone`: no daemon can
/// lead, whatever the lease says.
Status MigrateDown(const std::string& url, int target, bool alone = false,
                   const std::vector<Migration>& migrations = EmbeddedMigrations(),
                   int lowest = kLowestSchema);

/// Applies the missing migrations, each in its own transaction. kUnavailable; kFailedPrecondition
/// with what the administrator should do; kCancelled if `stop` is requested while another session
/// migrates or between two migrations.
Status MigrateUp(const std::string& url,
                 const std::vector<Migration>& migrations = EmbeddedMigrations(),
                 const std::stop_token& stop = {});

}  // namespace muster::pg
