// PgStore: the Store on PostgreSQL. Writes go through one thread and one libpq session
// (group_commit.h), reads through a small pool of libpqxx connections (read_pool.h). store.h has
// the contract.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "schedd/base/clock.h"
#include "schedd/base/lease.h"
#include "schedd/base/limits.h"
#include "schedd/base/result.h"
#include "schedd/store/health.h"
#include "schedd/store/store.h"
#include "schedd/telemetry/metrics.h"

namespace muster {

struct PgStoreOptions {
  std::string url;  // a libpq URL or connection string
  /// Connects as the owner of the schema, who applies migrations; "": `url` does that too.
  std::string owner_url;
  int read_connections = limits::kReadConnections;
  /// If the answer to a write is lost: how long after it was sent the store looks for its outcome
  /// before it answers kUnknown.
  std::int64_t resolve_ms = limits::kResolveMs;
  /// If requested while the store is being opened, opening fails with kCancelled. If requested
  /// later, all waits for the database end within kStopDatabaseMs.
  std::stop_token stop;
  /// The writer records its waits and a lost session here; may be null. Must outlive the store.
  StoreHealth* health = nullptr;
  /// Says who this daemon is and learns who leads. Null: Lead takes the lead whoever has it (tests,
  /// tools). Must outlive the store.
  LeaseBoard* lease = nullptr;
  /// If both are set, commit times and group sizes are measured. Both must outlive the store.
  const Clock* clock = nullptr;
  Metrics* metrics = nullptr;
};

/// Connects, applies missing migrations and opens the store. kUnavailable if the database cannot be
/// reached; kFailedPrecondition, with a sentence for the administrator, if its version or its
/// schema does not fit this program.
Result<std::unique_ptr<Store>> OpenPgStore(PgStoreOptions options);

}  // namespace muster
