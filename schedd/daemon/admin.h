// The commands of `musterd` that work on its database and need no daemon: doctor, backup, restore,
// migrate. `muster doctor`, `muster backup` and `muster restore` run them.
#pragma once

#include <optional>

#include "schedd/daemon/config.h"

namespace muster {

/// Runs the command that argv[1] names, with the keys of the daemon's configuration behind it, and
/// gives the exit status: 0; 1: something is off, or it was refused; 2: bad usage; 3: the database
/// cannot be reached. Nullopt if argv[1] names none: then this is a daemon.
std::optional<int> RunAdminCommand(int argc, char** argv, EnvironmentLookup env);

}  // namespace muster
