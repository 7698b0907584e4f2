// A backup of the database as one file (pg_dump's custom format), and its restore into an empty
// database in one transaction, with the mark of rule D25.
//
// Thread-safe. Needs PostgreSQL's client programs (client_tools.h).
#pragma once

#include <map>
#include <string>

#include "schedd/base/result.h"
#include "schedd/base/time.h"
#include "schedd/store/pg/migrator.h"

namespace muster::pg {

/// What an archive says of itself.
struct ArchiveFacts {
  WallTime taken;
  std::string instance;  // of the installation whose objects members carry
  int schema = 0;        // number of the last migration
  struct Applied {
    std::string name, checksum;
  };
  std::map<int, Applied> migrations;
};

/// Writes a consistent copy of the database into `file`, which must not exist; readable for this
/// user alone. A daemon may go on meanwhile. `url`: of the schema's owner. kFailedPrecondition with
/// a sentence; a file that could not be written whole is removed.
Status WriteArchive(const std::string& url, const std::string& file);

/// kFailedPrecondition: not an archive of Muster's, or one that this program cannot restore,
/// because its schema is newer or was made by an edited migration. `url`: of any database, which
/// computes checksums.
Result<ArchiveFacts> ReadArchive(const std::string& url, const std::string& file,
                                 const std::vector<Migration>& migrations = EmbeddedMigrations());

/// kFailedPrecondition if the database of `url` is not empty; the sentence names the daemon that
/// leads it, if one does. `alone`: none can.
Status CheckEmpty(const std::string& url, bool alone);

/// Restores, applies the migrations that the archive lacks, and leaves the mark, all in one
/// transaction: the database stays empty if anything fails.
Status RestoreArchive(const std::string& url, const std::string& file, const ArchiveFacts& facts,
                      const std::vector<Migration>& migrations = EmbeddedMigrations());

}  // namespace muster::pg
