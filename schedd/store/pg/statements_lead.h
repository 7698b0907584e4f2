// The SQL of leadership: the lease, its epoch, and how an epoch ends.
#pragma once

namespace muster::pg::sql {

/// $1: milliseconds; 0 means no timeout.
inline constexpr const char* kSetLockTimeout = "select set_config('lock_timeout', $1, false)";
/// The lease, and whether another session that writes waits for a standby: that of the leader, or
/// the one in which it asks what became of a lost answer.
inline constexpr const char* kReadLease =
    "select l.epoch, l.holder, l.holder_id, l.address, (extract(epoch from l.since) * "
    "1000000)::bigint, (extract(epoch from l.expires - clock_timestamp()) * 1000)::bigint, "
    "l.ttl_ms, (extract(epoch from l.expires) * 1000000)::bigint, l.released, "
    "exists (select from pg_stat_activity a where a.datname = current_database() and "
    "a.application_name = 'musterd writer' and a.wait_event = 'SyncRep' and a.pid <> "
    "pg_backend_pid()) from leader l";
/// A session is known by its number and its start: numbers are used again. Ends the session of the
/// leader whose epoch is $1, and with it a transaction that still holds the leader row. Nothing is
/// ended if it has renewed its lease since $3 was read, unless $2: it is our own.
inline constexpr const char* kEndLeader =
    "select pg_terminate_backend(a.pid) from leader l join pg_stat_activity a on a.pid = "
    "l.session_pid and a.backend_start = l.session_start where l.epoch = $1 and a.pid <> "
    "pg_backend_pid() and ($2::boolean or (extract(epoch from l.expires) * 1000000)::bigint = "
    "$3::bigint)";
/// Takes the lease that was read with epoch $1 and renewal $7 and was found over. $2: it need not
/// be over, because it is our own or nobody else's. $3 to $6: holder, its id, its address and the
/// length of the lease. No row: the leader has renewed it, or another daemon was faster. The group
/// numbers of a lead begin at a random multiple of 2^32, so that no other lead has numbers near
/// them. If the write-ahead log has another timeline than when the last lead was taken, a standby
/// was promoted, and commits of the lost server may be missing: $8 to $10 tell how many numbers of
/// events, jobs and epochs are left out then (rule D26).
inline constexpr const char* kTakeLease =
    "with begun as (select t.timeline, l.timeline is not null as follows from (select "
    "muster_timeline() as timeline) t left join (select timeline from histories order by number "
    "desc limit 1) l on true where t.timeline is not null and l.timeline is distinct from "
    "t.timeline), "
    "taken as (update leader set epoch = epoch + 1 + coalesce((select $10::bigint from begun where "
    "follows), 0), holder = $3, holder_id = $4, address = $5, ttl_ms = "
    "$6::bigint, since = clock_timestamp(), expires = clock_timestamp() + $6::bigint * interval "
    "'1 ms', released = false, session_pid = pg_backend_pid(), session_start = coalesce((select "
    "backend_start from pg_stat_activity where pid = pg_backend_pid()), 'epoch'), last_group = (1 "
    "+ "
    "floor(random() * 1073741822)::bigint) << 32 where epoch = $1 and ($2::boolean or "
    "(extract(epoch from "
    "expires) * 1000000)::bigint = $7::bigint) returning epoch, last_group, (extract(epoch from "
    "since) * "
    "1000000)::bigint as since_us), "
    "noted as (insert into histories (timeline, last_seq, seq_floor, job_floor) select b.timeline, "
    "n.seq, n.seq + case when b.follows then $8::bigint else 0 end, n.job + case when b.follows "
    "then $9::bigint else 0 end from begun b, muster_last_numbers() n where exists (select from "
    "taken)) select epoch, last_group, since_us from taken";
/// Renews the lease of a leader that writes nothing yet.
inline constexpr const char* kRenewLease =
    "update leader set expires = clock_timestamp() + ttl_ms * interval '1 ms' where epoch = $1";
/// Gives the lease up: its holder does nothing more as the leader.
inline constexpr const char* kReleaseLease =
    "update leader set released = true, expires = clock_timestamp() where epoch = $1";
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
