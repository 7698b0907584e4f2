// It is read first: a role that may not change it need not, if it is right already.
#include "schedd/store/pg/audit_policy.h"

#include <chrono>

#include <pqxx/pqxx>

#include "schedd/store/pg/one_session.h"
#include "schedd/store/pg/statements_read.h"

namespace muster::pg {
namespace {

// A row is read and perhaps written, when nothing else is going on.
constexpr std::chrono::seconds kWithin{10};

}  // namespace

Status KeepAuditFor(const std::string& url, std::int64_t retention_ms) {
  bool refused = false;
  const Status kept = RunOnce(url, kWithin, [&](pqxx::work& work, Watchdog::Watch&) {
    try {
      if (work.exec1(sql::kAuditPolicy)[0].as<std::int64_t>() == retention_ms) return;
      work.exec_params0(sql::kSetAuditPolicy, retention_ms);
      work.commit();
    } catch (const pqxx::insufficient_privilege&) {
      refused = true;
    }
  });
  if (!refused) return kept;
  return Error{Code::kFailedPrecondition,
               "audit-retention: the database keeps the audit trail for another time, and only "
               "the owner of its schema may change that; name the owner by postgres-owner"};
}

}  // namespace muster::pg
