// The daemon's configuration of the audit trail.
#pragma once

#include <cstdint>
#include <string>

#include "schedd/base/result.h"

namespace muster {

struct AuditConfig {
  /// Rows are removed this long after their day is over; 0: never.
  std::int64_t retention_ms = 0;
};

/// The value of `audit-retention`: a duration of at least limits::kAuditRetentionMinMs ("90d"), or
/// "0" for ever. kInvalidArgument with a sentence.
Status ReadAuditRetention(const std::string& text, AuditConfig* config);

}  // namespace muster
