// The access list (POSIX ACL) of a directory that is closed to others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedd/base/result.h"

namespace muster::local {

/// Lets `users` pass through the directory, and nobody else but its owner, whose rights stay.
/// Users that passed before still do. A file system without access lists gets mode 0711 instead.
/// Error: kUnavailable.
Status LetPass(const std::string& directory, const std::vector<std::int64_t>& users);

}  // namespace muster::local
