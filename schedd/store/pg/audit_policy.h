// The least age at which the database lets rows of the audit trail go. The daemon's own role reads
// it and cannot change it, so whoever takes over its connection removes no more than retention
// does.
#pragma once

#include <cstdint>
#include <string>

#include "schedd/base/result.h"

namespace muster::pg {

/// Sets it to `retention_ms`, 0: no row ever goes, if it is another. `url` connects as the owner of
/// a schema that is migrated. kUnavailable; kFailedPrecondition if that role may not set it. Blocks
/// for a bounded time. Thread-safe.
Status KeepAuditFor(const std::string& url, std::int64_t retention_ms);

}  // namespace muster::pg
