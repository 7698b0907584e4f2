// Reading the audit trail. Holds these methods of SchedulerService. The authorizer notes the read
// (AuditingAuthorizer), so whoever reads the trail is in it.
#include <algorithm>

#include "api/service/resource_refs.h"
#include "api/service/scheduler_service.h"
#include "schedd/base/limits.h"

namespace muster::api {

Result<std::vector<AuditRow>> SchedulerService::Audit(const auth::Principal& who,
                                                      const AuditQuery& query) const {
  const Status allowed = authorizer_.Authorize(who, auth::Verb::kList, AuditTrail());
  if (!allowed.ok()) return allowed.error();
  AuditQuery page = query;
  page.limit = std::min(page.limit, static_cast<std::size_t>(limits::kAuditPageMax));
  return store_.ReadAudit(page);
}

Result<AuditAnchor> SchedulerService::AuditBegin(const auth::Principal& who) const {
  const Status allowed = authorizer_.Authorize(who, auth::Verb::kList, AuditTrail());
  if (!allowed.ok()) return allowed.error();
  return store_.ReadAuditAnchor();
}

}  // namespace muster::api
