// PgStore: the Store on PostgreSQL. Writes go through one thread and one libpq session
// (group_commit), reads through a small pool of libpqxx connections. See store.h for what is
// promised.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "schedd/base/clock.h"
#include "schedd/base/limits.h"
#include "schedd/base/result.h"
#include "schedd/store/health.h"
#include "schedd/store/store.h"
#include "schedd/telemetry/metrics.h"

namespace muster {

struct PgStoreOptions {
  std::string url;  // a libpq URL or connection string
  int read_connections = limits::kReadConnections;
  /// How long after a write was sent its outcome is asked for before it is kUnknown, if its answer
  /// was lost.
  std::int64_t resolve_ms = limits::kResolveMs;
  /// Requested while the store is being opened: kCancelled. Later: what waits for the database has
  /// kStopDatabaseMs more, and so has all that comes after.
  std::stop_token stop;
  /// Told what the writer waits for; may be null. Outlives the store.
  StoreHealth* health = nullptr;
  /// Both set: commit times and group sizes are measured. They must outlive the store.
  const Clock* clock = nullptr;
  Metrics* metrics = nullptr;
};

/// Connects, applies missing migrations and opens the store. Errors: kUnavailable if the database
/// cannot be reached; kFailedPrecondition if its schema or version does not fit, with a sentence
/// for the administrator.
Result<std::unique_ptr<Store>> OpenPgStore(PgStoreOptions options);

}  // namespace muster
