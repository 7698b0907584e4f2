// Each migration is one transaction: take the advisory lock, make the table schema_migrations if it
// is missing, check the history, run one step, commit. The loop in Repeat runs until a step finds
// nothing to do. The lock ends with the transaction, so several daemons that start at once take
// turns and each finds what the others have done. A lock that is held is asked for again every half
// second, so that a requested stop is noticed.
#include "schedd/store/pg/migrator.h"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include <pqxx/pqxx>

#include "schedd/store/pg/read_pool.h"
#include "schedd/store/pg/statements_read.h"
#include "schedd/store/pg/statements_restore.h"
#include "schedd/telemetry/log.h"

namespace muster::pg {
namespace {

struct AppliedMigration {
  std::string name, checksum;
};

constexpr int kOldestServer = 150000;  // PostgreSQL 15
constexpr const char* kLockNotAvailable = "55P03";

// The migrations that the database has, by number.
std::map<int, AppliedMigration> Applied(pqxx::transaction_base& work) {
  std::map<int, AppliedMigration> applied;
  for (const pqxx::row& row : work.exec(sql::kMigrationsApplied)) {
    applied[row[0].as<int>()] = {row[1].as<std::string>(), row[2].as<std::string>()};
  }
  return applied;
}

// The database computes it, so the program needs no SHA-256 of its own.
std::string ChecksumOf(pqxx::transaction_base& work, const Migration& migration) {
  return work.exec_params1(sql::kChecksum, std::string(migration.up))[0].as<std::string>();
}

// Refuses a schema that another version of a migration made, or that has more migrations than this
// program knows.
Status CheckHistory(pqxx::transaction_base& work, const std::vector<Migration>& migrations) {
  const std::map<int, AppliedMigration> applied = Applied(work);
  for (const Migration& migration : migrations) {
    const auto found = applied.find(migration.number);
    if (found != applied.end() && found->second.checksum != ChecksumOf(work, migration)) {
      return Error{Code::kFailedPrecondition, "migration " + std::to_string(migration.number) +
                                                  " (" + found->second.name +
                                                  ") was applied in another version than this "
                                                  "program's; use the program that applied it"};
    }
  }
  const int newest = migrations.empty() ? 0 : migrations.back().number;
  if (!applied.empty() && applied.rbegin()->first > newest) {
    return Error{Code::kFailedPrecondition, "the database's schema is newer (" +
                                                std::to_string(applied.rbegin()->first) +
                                                ") than this program knows (" +
                                                std::to_string(newest) + "); upgrade the program"};
  }
  return Done{};
}

Status CheckServer(pqxx::transaction_base& work) {
  const int version = work.exec1(sql::kServerVersion)[0].as<int>();
  if (version >= kOldestServer) return Done{};
  return Error{
      Code::kFailedPrecondition,
      "PostgreSQL 15 or newer is needed; the server is version " + std::to_string(version / 10000)};
}

// One step under the lock; `changed` says whether there was anything to do.
Status UpOne(pqxx::transaction_base& work, const std::vector<Migration>& migrations,
             bool* changed) {
  Status status = CheckServer(work);
  if (status.ok()) status = CheckHistory(work, migrations);
  if (!status.ok()) return status;
  const std::map<int, AppliedMigration> applied = Applied(work);
  for (const Migration& migration : migrations) {
    if (applied.contains(migration.number)) continue;
    work.exec(migration.up);
    work.exec_params0(sql::kRecordMigration, migration.number, std::string(migration.name),
                      ChecksumOf(work, migration));
    Log(LogLevel::kInfo, "store", "migration_applied",
        {{"number", std::int64_t{migration.number}}, {"name", std::string_view(migration.name)}});
    *changed = true;
    break;
  }
  return Done{};
}

// Nobody may lead: the daemon would go on with statements that the schema no longer has.
Status CheckNobodyLeads(pqxx::transaction_base& work) {
  if (!work.exec1(sql::kHasLease)[0].as<bool>()) return Done{};
  for (const pqxx::row& row : work.exec(sql::kLeaderNow)) {
    return Error{Code::kFailedPrecondition, "the daemon on " + row[0].as<std::string>() +
                                                " leads this database: stop it and its standbys"};
  }
  return Done{};
}

// One step back; `changed` says whether there was anything to take back.
Status DownOne(pqxx::transaction_base& work, const std::vector<Migration>& migrations, int target,
               bool alone, bool* changed) {
  Status status = CheckHistory(work, migrations);
  if (status.ok() && !alone) status = CheckNobodyLeads(work);
  if (!status.ok()) return status;
  const std::map<int, AppliedMigration> applied = Applied(work);
  for (auto one = migrations.rbegin(); one != migrations.rend() && one->number > target; ++one) {
    if (!applied.contains(one->number)) continue;
    work.exec(one->down);
    work.exec_params0(sql::kForgetMigration, one->number);
    Log(LogLevel::kInfo, "store", "migration_taken_back",
        {{"number", std::int64_t{one->number}}, {"name", std::string_view(one->name)}});
    *changed = true;
    break;
  }
  return Done{};
}

// False if another session holds the lock. The caller then begins a new transaction and asks again.
bool TakeLock(pqxx::transaction_base& work) {
  try {
    work.exec(sql::kMigrationLock);
    return true;
  } catch (const pqxx::sql_error& error) {
    if (error.sqlstate() != kLockNotAvailable) throw;
    return false;
  }
}

Error GivenUp() {
  return {Code::kCancelled, "the start was given up before the schema was complete"};
}

constexpr std::chrono::seconds kAskWithin{10};     // each part except the migration itself
constexpr std::chrono::seconds kCommitWithin{60};  // a synchronous standby replays the migration

using Step = std::function<Status(pqxx::transaction_base&, bool* changed)>;

// Runs `step` in transactions of its own, under the lock, until it changes nothing.
Status Repeat(const std::string& url, const std::stop_token& stop, const Step& step) {
  Watchdog watchdog;
  const std::stop_callback cut(stop, [&] { watchdog.Stop(std::chrono::milliseconds(1000)); });
  std::unique_ptr<pqxx::connection> connection;  // declared before `watch`, so it outlives it
  std::optional<Watchdog::Watch> watch;
  try {
    connection = OpenConnection(url, sql::kMigratorSettings, watchdog, kAskWithin);
    bool waited = false;
    for (bool changed = true; changed;) {
      if (stop.stop_requested()) return GivenUp();
      watch.reset();
      watch.emplace(watchdog, connection->sock(), kAskWithin);
      pqxx::work work(*connection);
      if (!TakeLock(work)) {
        if (!waited) Log(LogLevel::kInfo, "store", "migration_waits", {});
        waited = true;
        continue;
      }
      changed = false;
      // The statement itself would need the right to make tables also where there is nothing to
      // make.
      if (work.exec1(sql::kNoMigrationTable)[0].as<bool>()) work.exec(sql::kMigrationTable);
      watch->Extend(std::chrono::milliseconds(limits::kMigrateWithinMs));
      const Status status = step(work, &changed);
      if (!status.ok()) return status;
      watch->Extend(kCommitWithin);
      work.commit();
    }
    return Done{};
  } catch (...) {
    if (stop.stop_requested()) return GivenUp();
    if (watch && watch->cut()) return Unavailable("the database does not answer");
    return ErrorOfException();
  }
}

}  // namespace

Status MigrateUp(const std::string& url, const std::vector<Migration>& migrations,
                 const std::stop_token& stop) {
  return Repeat(url, stop, [&](pqxx::transaction_base& work, bool* changed) {
    return UpOne(work, migrations, changed);
  });
}

Status MigrateDown(const std::string& url, int target, bool alone,
                   const std::vector<Migration>& migrations, int lowest) {
  for (const Migration& one : migrations) {
    if (target >= lowest || one.number != lowest) continue;
    return Error{Code::kFailedPrecondition,
                 "migration " + std::to_string(one.number) + " (" + one.name +
                     ") is not taken back, because data would go with it: schema " +
                     std::to_string(lowest) +
                     " is the lowest. Restore a backup that was made before it"};
  }
  return Repeat(url, {}, [&](pqxx::transaction_base& work, bool* changed) {
    return DownOne(work, migrations, target, alone, changed);
  });
}

}  // namespace muster::pg
