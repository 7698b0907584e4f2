// What `muster doctor` reads of a database. Nothing is written and nothing migrated, so it also
// works on a database whose daemon is down, or that is another version's.
//
// Thread-safe: each call opens a connection of its own.
#pragma once

#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/store/pg/migrator.h"
#include "schedd/store/store.h"

namespace muster::pg {

/// What one question found: one text for each thing that is off.
struct Answer {
  std::vector<std::string> texts;
  /// How many there are in all; `texts` has at most limits::kDoctorTexts.
  std::int64_t count = 0;
};

/// The answers to these statements (statements_doctor.h), in their order, from one snapshot. A
/// question that cannot be answered (the schema is another version's, the role may not read it, a
/// table is damaged) is an Error in its place. The call fails with kUnavailable if the database
/// cannot be reached.
Result<std::vector<Result<Answer>>> Ask(const std::string& url,
                                        const std::vector<const char*>& questions);

/// How the schema of the database stands beside these migrations, one sentence for each thing that
/// does not fit; none if they are the same.
Result<std::vector<std::string>> SchemaStanding(
    const std::string& url, const std::vector<Migration>& migrations = EmbeddedMigrations());

/// Jobs that have not ended, objects and amounts, as a recovery reads them.
Result<StoredWorld> ReadWorld(const std::string& url);

/// What libpq says when no session can be opened now, in one line; "" if one can. It may name
/// hosts, roles and paths, so it is for an administrator's terminal, not for clients of the APIs.
std::string WhyNotReached(const std::string& url);

}  // namespace muster::pg
