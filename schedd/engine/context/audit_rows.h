// Rows of the audit trail, as the engine writes them. Pure.
#pragma once

#include <string>

#include "schedd/world/command.h"

namespace muster {

/// What `actor` did at `time`, with the result "allowed".
AuditRow AuditRowOf(const Actor& actor, WallTime time, const char* verb, std::string object,
                    std::string detail);

}  // namespace muster
