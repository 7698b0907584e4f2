// What an acknowledged write survives, judged from the settings of the database and the standbys
// that its commits wait for.
//
// Pure; thread-safe. Source of the rules: PostgreSQL documentation, 20.5 "Write Ahead Log" (fsync,
// full_page_writes, synchronous_commit) and 27.2.8 "Synchronous Replication".
#pragma once

#include <optional>
#include <string>

namespace muster {

/// As the database said it last.
struct DatabaseFacts {
  std::string synchronous_commit;  // of the session that writes
  bool fsync = false;
  bool full_page_writes = false;
  std::string synchronous_standby_names;
  /// Synchronous standbys that stream now; unset: the daemon's role may not see them.
  std::optional<int> standbys;

  bool operator==(const DatabaseFacts&) const = default;
};

enum class Durability {
  kNone,        // a crash of the database or of its host may lose acknowledged writes
  kCrash,       // crashes lose nothing; the loss of the database's disk does
  kServerLoss,  // so many database servers as commits wait for may be lost with their disks
};

/// "none", "crash" or "server-loss": for metrics and the API.
const char* NameOf(Durability durability);

/// How many standbys a commit waits for by `synchronous_standby_names`: "FIRST 2 (a, b, c)" 2,
/// "a, b" 1, "" 0.
int RequiredStandbys(const std::string& synchronous_standby_names);

/// What is promised with these facts. That too few standbys are there weakens no promise: commits
/// wait for them.
Durability DurabilityOf(const DatabaseFacts& facts);

/// The same as a sentence for administrators, with what is wrong.
std::string DurabilityText(const DatabaseFacts& facts);

}  // namespace muster
