// A retention below a day is a mistake in the unit more often than a wish.
#include "schedd/daemon/config_audit.h"

#include "schedd/base/limits.h"
#include "schedd/text/duration.h"

namespace muster {

Status ReadAuditRetention(const std::string& text, AuditConfig* config) {
  const auto ms = ParseDurationMs(text);
  if (!ms || (*ms != 0 && *ms < limits::kAuditRetentionMinMs)) {
    return InvalidArgument(
        "must be a duration of at least a day, such as 90d, or 0 to keep the audit trail for ever");
  }
  config->retention_ms = *ms;
  return Done{};
}

}  // namespace muster
