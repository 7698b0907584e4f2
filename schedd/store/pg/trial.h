// A trial of new jobs: whether the database takes again what it has refused.
#pragma once

#include <string>

#include "schedd/store/pg/pq.h"
#include "schedd/store/pg/watchdog.h"
#include "schedd/store/store.h"

namespace muster::pg {

/// Writes a copy of `job` as the writer would, over a connection of its own, in a transaction that
/// is rolled back. The copy has a number, a name and an idempotency key that no job has, so the
/// writer never waits for it. The fence and the rows of the audit trail are the writer's alone: of
/// the audit trail it only tries whether rows may be added. kItem: the database takes jobs, but not
/// this one. Blocks as long as the URL and kAnswerWithinMs allow. Thread-safe.
Failure TryNewJob(const NewJob& job, const std::string& url, Watchdog& watchdog);

}  // namespace muster::pg
