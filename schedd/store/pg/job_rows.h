// Rows as libpqxx returns them, turned into values of the model. The functions throw what libpqxx's
// conversions throw; a JSON column that cannot be read is an Error.
#pragma once

#include <string_view>

#include <pqxx/pqxx>

#include "schedd/store/pg/row_json.h"
#include "schedd/store/store.h"

namespace muster::pg {

/// A row of MUSTER_JOB_SELECT.
Result<JobPtr> JobOfRow(const pqxx::row& row, Interner* interner);
/// A row of kLoadDispatches.
DispatchRow DispatchOfRow(const pqxx::row& row);
/// A row of kReadAttempts.
Result<AttemptRecord> AttemptOfRow(const pqxx::row& row, Interner* interner);
/// A row of kReadSteps.
Result<StepRecord> StepOfRow(const pqxx::row& row);
/// A row of kReadEvents.
Event EventOfRow(const pqxx::row& row);
/// A row of ReadObjects.
ObjectPtr ObjectOfRow(ObjectKind kind, const pqxx::row& row);
/// A row of kLoadUsage.
UsageRow UsageOfRow(const pqxx::row& row);
/// A row of kLoadFairUse.
Result<FairUseRow> FairUseOfRow(const pqxx::row& row);
/// A row of kLoadSetAside.
SetAsideObject SetAsideOfRow(const pqxx::row& row);
/// A row of kLoadWorks.
Result<WorkPtr> WorkOfRow(const pqxx::row& row);
/// A row of kLoadSnapshots.
Result<SnapshotPtr> SnapshotOfRow(const pqxx::row& row);
/// A row of kReadAudit.
AuditRow AuditOfRow(const pqxx::row& row);

}  // namespace muster::pg
