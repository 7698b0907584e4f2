// The SQL of leadership: the leader's lock, its epoch, and how an epoch ends.
#pragma once

namespace muster::pg::sql {

/// The key of the advisory lock that the leader's session holds: any fixed number.
#define MUSTER_LEADER_LOCK "7205759403792793600"

inline constexpr const char* kTryLeaderLock = "select pg_try_advisory_lock(" MUSTER_LEADER_LOCK ")";
inline constexpr const char* kLeaderLock = "select pg_advisory_lock(" MUSTER_LEADER_LOCK ")";
/// $1: milliseconds; 0 means no timeout.
inline constexpr const char* kSetLockTimeout = "select set_config('lock_timeout', $1, false)";
/// The name of the leader, and what the session that holds the leader's lock waits for.
inline constexpr const char* kLeaderHolder =
    "select l.holder, coalesce((select a.wait_event from pg_locks k join pg_stat_activity a on "
    "a.pid = k.pid where k.locktype = 'advisory' and k.granted and k.objsubid = 1 and k.database = "
    "(select oid from pg_database where datname = current_database()) and ((k.classid::bigint << "
    "32) | k.objid::bigint) = " MUSTER_LEADER_LOCK " limit 1), '') from leader l";
/// The group numbers of a lead begin at a random multiple of 2^32, so that no other lead has
/// numbers near them.
inline constexpr const char* kNewEpoch =
    "update leader set epoch = epoch + 1, holder = $1, last_group = (1 + floor(random() * "
    "1073741822)::bigint) << 32 returning epoch, last_group";
/// Ends this daemon's own epoch after a lost answer. The update waits for a transaction that is
/// still under way and fences one that has not begun. $2 and $3 bound this lead's group numbers.
inline constexpr const char* kCloseEpoch =
    "update leader set epoch = epoch + 1 where epoch = $1 and last_group between $2::bigint and "
    "$3::bigint returning epoch";
/// Used instead when another daemon has ended the epoch. Taking the row lock writes, so its commit
/// comes after every write that it can see: what the next read sees is then as durable as an
/// answered commit.
inline constexpr const char* kAwaitLeader = "select epoch from leader for update";
/// The number of the last group that was committed in an ended epoch.
inline constexpr const char* kLastGroupOf = "select last_group from ended_epochs where epoch = $1";

/// Where the audit trail ends: number and hash of its last row, or of the last anchor if no row is
/// left behind it.
inline constexpr const char* kAuditHead =
    "select id, encode(hash, 'hex') from ((select id, hash, 0 as anchor from audit order by id "
    "desc limit 1) union all (select last_id, hash, 1 from audit_anchor order by last_id desc, "
    "number desc limit 1)) h order by id desc, anchor desc limit 1";

}  // namespace muster::pg::sql
