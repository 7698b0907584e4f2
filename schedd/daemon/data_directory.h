// The rights of the data directory: what lies there is the daemon's, and jobs run on the same host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedd/base/result.h"

namespace muster {

/// Makes the data directory if it is not there, locks it for this process and closes it
/// (CloseDataDirectory). The descriptor that holds the lock, which ends when it is closed, however
/// the process ends. Errors: a directory that cannot be used; kFailedPrecondition, another daemon
/// uses it.
Result<int> LockDataDirectory(const std::string& data_dir);

/// Closes what is the daemon's in the data directory to other users (rule U64), whoever made it and
/// however: the directory itself may be passed through, not listed or written; members' credentials
/// and the private database are the daemon's alone. Each repair is logged (`rights_repaired`).
/// Directories that do not exist yet are made with these rights by whoever needs them. To be called
/// by the holder of the directory's lock. Error: kFailedPrecondition, rights that cannot be set.
Status CloseDataDirectory(const std::string& data_dir);

/// The user whom the private database belongs to, if it is not the daemon's own; no job runs as it.
std::vector<std::int64_t> UsersOfDatabase(const std::string& data_dir);

}  // namespace muster
