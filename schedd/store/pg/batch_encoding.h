// What the engine hands over, as statements of one transaction: columns are filled row by row, then
// queued.
//
// Rows of one table are written at most once a statement: a later value of the same key replaces an
// earlier one.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "schedd/store/pg/pq.h"
#include "schedd/store/store.h"

namespace muster::pg {

/// What a transaction found out about the new jobs in it.
struct AcceptFindings {
  struct Holder {
    JobId job;                      // that holds the key
    std::uint64_t fingerprint = 0;  // of its request
  };
  std::unordered_set<JobId> inserted;
  std::unordered_map<JobId, Holder> foreign_keys;  // by the asking job
};

/// The answer to one new job: Accepted, kAlreadyExists, or kInvalidArgument for a key of another
/// request.
Result<Accepted> AnswerFor(const NewJob& job, const AcceptFindings& findings);

/// Queues the statements that insert `jobs`, no two of which share an idempotency key.
/// `findings` must live until the transaction has finished.
void QueueAccept(std::span<const NewJob* const> jobs, PqConnection& connection,
                 AcceptFindings* findings);

/// Asks, outside a transaction, what is known of `jobs` (after a lost answer); `inserted` are those
/// that are there with their own uid.
Failure FindOutcome(std::span<const NewJob* const> jobs, PqConnection& connection,
                    AcceptFindings* findings);

/// Queues everything one PlanCommit changes.
void QueueCommit(const PlanCommit& commit, PqConnection& connection);

}  // namespace muster::pg
