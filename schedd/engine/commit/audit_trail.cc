// The way of a row: Handle keeps it, Fire moves all kept rows into the open transaction, and a
// waiter of that transaction keeps them again if it is lost. A transaction whose outcome is not
// known counts as lost, so a row may be written twice and is never missing (rule U33). While the
// database is away, rows are kept up to a bound; beyond it they are only counted, and one row says
// how many there were.
//
// Retention: once in limits::kForgetAuditEveryMs a commit asks the store to remove rows whose day
// is over for longer than EngineOptions::audit_retention_ms; the store removes a bounded number.
#include "schedd/engine/commit/audit_trail.h"

#include <utility>

#include "schedd/base/limits.h"
#include "schedd/engine/context/audit_rows.h"
#include "schedd/telemetry/log.h"

namespace muster {

void AuditTrail::Handle(AuditCommand command) { Keep(std::move(command.rows)); }

void AuditTrail::Keep(std::vector<AuditRow> rows) {
  for (AuditRow& row : rows) {
    if (kept_.size() >= limits::kAuditKept) {
      if (dropped_ == 0) Log(LogLevel::kError, "engine", "audit_rows_dropped", {});
      dropped_ += row.count;
      continue;
    }
    kept_.push_back(std::move(row));
  }
}

bool AuditTrail::Fire() {
  const Monotonic now = context_.clock.Now();
  bool fired = false;
  if (context_.options.audit_retention_ms > 0 && now >= next_forgetting_) {
    next_forgetting_ = now + MillisToNanos(limits::kForgetAuditEveryMs);
    commits_.tx().forget_audit_before =
        context_.clock.CalendarNow().Plus(-context_.options.audit_retention_ms * kMicrosPerMilli);
    fired = true;
  }
  if (kept_.empty()) return fired;
  if (dropped_ > 0) {
    AuditRow& row = kept_.emplace_back(
        AuditRowOf(Actor{}, context_.clock.CalendarNow(), "*", "audit",
                   "rows of refusals and reads that were not kept while the database was away"));
    row.result = kAuditFailed;
    row.code = CodeName(Code::kUnavailable);
    row.count = std::exchange(dropped_, 0);
  }
  auto rows = std::make_shared<std::vector<AuditRow>>(std::make_move_iterator(kept_.begin()),
                                                      std::make_move_iterator(kept_.end()));
  kept_.clear();
  commits_.tx().audit.insert(commits_.tx().audit.end(), rows->begin(), rows->end());
  commits_.AnswerAfterCommit([this, rows](const Error* error) {
    if (error != nullptr) Keep(std::move(*rows));
  });
  return true;
}

void AuditTrail::Reset() { next_forgetting_ = context_.clock.Now(); }

}  // namespace muster
