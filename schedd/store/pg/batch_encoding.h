// Turns what the engine hands over into statements of one transaction: columns are filled row by
// row, then queued as arrays, one statement for each table.
//
// A statement writes a row at most once: a later value of the same key replaces an earlier one.
//
// QueueAccept, AnswerFor and FindOutcome are in accept_encoding.cc, QueueCommit is in
// commit_encoding.cc, QueueAudit in audit_encoding.cc.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "schedd/model/audit_chain.h"
#include "schedd/store/pg/pq.h"
#include "schedd/store/store.h"

namespace muster::pg {

/// What a transaction reports about the new jobs in it.
struct AcceptFindings {
  struct Holder {
    JobId job;                      // the job that holds the key
    std::uint64_t fingerprint = 0;  // of the request that made the job
  };
  std::unordered_set<JobId> inserted;
  /// By the id of the new job whose idempotency key another job holds.
  std::unordered_map<JobId, Holder> foreign_keys;
};

/// The answer to one new job: AcceptedJob, kAlreadyExists for a taken name, or kInvalidArgument for
/// a key that another request used.
Result<AcceptedJob> AnswerFor(const NewJob& job, const AcceptFindings& findings);

/// Queues the statements that insert `jobs`; no two of them may share an idempotency key.
/// `findings` must live until the transaction has finished.
void QueueAccept(std::span<const NewJob* const> jobs, PqConnection& connection,
                 AcceptFindings* findings);

/// Queues the statement that inserts tasks of arrays, which have no manifest of their own.
void QueueNewTasks(std::span<const JobPtr> tasks, PqConnection& connection);

/// Asks, outside a transaction, what the database knows of `jobs` after a lost answer. `inserted`
/// then holds the jobs that are stored with their own uid.
Failure FindOutcome(std::span<const NewJob* const> jobs, PqConnection& connection,
                    AcceptFindings* findings);

/// Reads, outside a transaction, where the audit trail ends.
Failure ReadAuditHead(PqConnection& connection, AuditHead* head);

/// Queues one statement that adds `rows` to the audit trail behind `head`, which moves on to the
/// last of them. Their texts must be bounded (BoundAuditRow).
void QueueAudit(std::span<const AuditRow* const> rows, AuditHead* head, PqConnection& connection);

/// Queues the same statement without a row: it fails if rows may not be added.
void QueueNoAudit(PqConnection& connection);

/// Queues the statements of everything that one PlanCommit changes, but for its audit rows.
void QueueCommit(const PlanCommit& commit, PqConnection& connection);

}  // namespace muster::pg
