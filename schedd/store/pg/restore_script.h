// What follows the contents of an archive in the transaction of its restore. Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/store/pg/archive.h"

namespace muster::pg {

/// The migrations that the archive lacks, each recorded, and the mark of the restore (rule D25).
std::string RestoreScript(const ArchiveFacts& facts, const std::vector<Migration>& migrations);

}  // namespace muster::pg
