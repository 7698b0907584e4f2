// The transaction of a trial. Everything is sent at once, the rollback too, so that the server
// holds nothing for a client that has stopped or vanished.
#include "schedd/store/pg/trial.h"

#include <limits>
#include <memory>

#include "schedd/store/pg/batch_encoding.h"
#include "schedd/store/pg/statements.h"

namespace muster::pg {
namespace {

// Under names that no job has: the uid is this job's alone.
NewJob CopyOf(const NewJob& job) {
  auto record = std::make_shared<JobRecord>(*job.record);
  record->id = JobId{std::numeric_limits<std::int64_t>::max()};
  record->accept_seq = std::numeric_limits<std::int64_t>::max();
  record->name = "trial-" + record->uid.ToString();
  NewJob copy{record, job.manifest, job.idempotency};
  if (copy.idempotency) copy.idempotency->key = record->name;
  return copy;
}

}  // namespace

Failure TryNewJob(const NewJob& job, const std::string& url, Watchdog& watchdog) {
  auto opened = PqConnection::Open(url, watchdog);
  if (!opened.ok()) return {FailureKind::kConnection, opened.error()};
  PqConnection& connection = **opened;
  Failure failure = connection.OwnSession();
  if (failure.kind == FailureKind::kNone) failure = connection.Execute(sql::kWriterSettings);
  for (const sql::PreparedStatement& statement : sql::kWriterStatements) {
    if (failure.kind != FailureKind::kNone) return failure;
    failure = connection.Prepare(statement.name, statement.text);
  }
  AuditHead head;
  if (failure.kind == FailureKind::kNone) failure = ReadAuditHead(connection, &head);
  if (failure.kind != FailureKind::kNone) return failure;
  const NewJob copy = CopyOf(job);
  const NewJob* const jobs[] = {&copy};
  AcceptFindings findings;
  connection.Begin();
  connection.QueueSql("begin", Params());
  QueueAccept(jobs, connection, &findings);
  QueueNoAudit(connection);
  connection.QueueSql("rollback", Params());
  connection.Send();
  return connection.Finish();
}

}  // namespace muster::pg
