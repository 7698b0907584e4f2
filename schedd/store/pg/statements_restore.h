// The SQL of backups and restores (archive.cc), and of going back to an earlier schema
// (migrator.cc).
#pragma once

namespace muster::pg::sql {

/// What is in the way of a restore: a relation or function of the schema, one name.
inline constexpr const char* kFirstRelation =
    "select coalesce((select min(relname::text) from pg_class where relnamespace = "
    "'public'::regnamespace), (select min(proname::text) from pg_proc where pronamespace = "
    "'public'::regnamespace))";
inline constexpr const char* kHasLease =
    "select exists (select from information_schema.columns where table_schema = 'public' and "
    "table_name = 'leader' and column_name = 'expires')";
/// The daemon that leads now; no row if none does.
inline constexpr const char* kLeaderNow =
    "select holder || case when address = '' then '' else ' at ' || address end from leader where "
    "epoch > 0 and not released and expires > clock_timestamp()";

/// Before migrations: pg_restore leaves an empty path.
inline constexpr const char* kRestorePath = "select set_config('search_path', 'public', false);\n";
/// The mark of rule D25 and the end of the lease of the backup. %1 to %4: the backup's time in
/// microseconds, how many numbers of events, jobs and epochs are left out. A trigger notes the
/// epoch that ends.
inline constexpr const char* kRestoreMark =
    "insert into restores (backup, restored, last_seq, seq_floor, job_floor) select %1, "
    "(extract(epoch from clock_timestamp()) * 1000000)::bigint, n.seq, n.seq + %2, n.job + %3 from "
    "muster_last_numbers() n;\n"
    "update leader set epoch = epoch + %4, released = true, expires = clock_timestamp();\n"
    "select muster_grant_roles();\n";

inline constexpr const char* kForgetMigration = "delete from schema_migrations where number = $1";

}  // namespace muster::pg::sql
