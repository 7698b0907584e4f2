// Partitions and nodes as JSON: the documents of `sinfo --json`, `scontrol show node|partition
// --json` (rule B22).
#pragma once

#include <string>

#include "clients/slurm/fleet_view.h"

namespace muster::slurm {

/// {"meta", "sinfo", "nodes", "partitions", ...} with a line end. `command` is who prints it.
std::string FleetJson(const Fleet& fleet, const std::string& default_ns, const char* command);

}  // namespace muster::slurm
