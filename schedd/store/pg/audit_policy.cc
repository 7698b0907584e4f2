// It is read first: a role that may not change it need not, if it is right already.
#include "schedd/store/pg/audit_policy.h"

#include <chrono>

#include <pqxx/pqxx>

#include "schedd/store/pg/read_pool.h"
#include "schedd/store/pg/statements_read.h"
#include "schedd/store/pg/url.h"
#include "schedd/store/pg/watchdog.h"

namespace muster::pg {
namespace {

// A row is read and perhaps written, when nothing else is going on.
constexpr std::chrono::seconds kWithin{10};

}  // namespace

Status KeepAuditFor(const std::string& url, std::int64_t retention_ms) {
  const Result<std::string> complete = CompleteUrl(url);
  if (!complete.ok()) return complete.error();
  Watchdog watchdog;
  std::unique_ptr<pqxx::connection> connection;  // declared before `watch`, so it outlives it
  std::optional<Watchdog::Watch> watch;
  try {
    connection = OpenConnection(*complete, sql::kMigratorSettings, watchdog, kWithin);
    watch.emplace(watchdog, connection->sock(), kWithin);
    pqxx::work work(*connection);
    if (work.exec1(sql::kAuditPolicy)[0].as<std::int64_t>() == retention_ms) return Done{};
    work.exec_params0(sql::kSetAuditPolicy, retention_ms);
    work.commit();
    return Done{};
  } catch (const pqxx::insufficient_privilege&) {
    return Error{Code::kFailedPrecondition,
                 "audit-retention: the database keeps the audit trail for another time, and only "
                 "the owner of its schema may change that; name the owner by postgres-owner"};
  } catch (...) {
    if (watch && watch->cut()) return Unavailable("the database does not answer");
    return ErrorOfException();
  }
}

}  // namespace muster::pg
