// A directory in memory for what must not be on a disk in the clear: the kubeconfigs of added
// members, which are sealed in the database.
#pragma once

#include <string>

#include "schedd/base/result.h"

namespace muster {

/// Makes a directory of mode 0700 on a tmpfs and lets `path` be a symbolic link to it. A directory
/// that an earlier version has left at `path` is deleted with what is in it. Where the system has
/// no tmpfs for this user, `path` is an ordinary directory, and the log says so; a link at `path`
/// is removed then.
Status MakeMemoryDirectory(const std::string& path);

/// True if `path` is a link that MakeMemoryDirectory has made, to a directory of this user alone.
bool IsMemoryDirectory(const std::string& path);

/// Deletes the directory in memory and the link to it; an ordinary directory stays. What a daemon
/// that was killed leaves is used again by the next one, or goes with the host.
void RemoveMemoryDirectory(const std::string& path);

}  // namespace muster
