// Who asks for something, and notes for the audit trail that come without a change.
#pragma once

#include <string>
#include <vector>

#include "schedd/model/audit.h"

namespace muster {

/// Who asked, for the audit trail: what auth::Principal says (api/service/actor.h makes it).
/// Without a user: the daemon itself.
struct Actor {
  std::string user = {}, method = {};
  std::vector<std::string> groups = {};
  std::string impersonator = {}, source = {}, request_id = {};
};

/// Rows of the audit trail about requests that change nothing: refusals, failures, reads. They are
/// written with the next transaction, and are kept while there can be none (rule U33).
struct AuditCommand {
  std::vector<AuditRow> rows;
};

}  // namespace muster
