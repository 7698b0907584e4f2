// Bounds inside the daemon: the engine's queues, what one question may cost, and how long the
// daemon waits for its database and its members. Include schedd/base/limits.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::limits {

// --- engine
// Commands in the engine's inbox: about a second of submissions at full rate.
inline constexpr std::size_t kInboxCommands = 16'384;
// Submissions that the engine has accepted and that are not durable yet.
inline constexpr std::size_t kInflightSubmissions = 20'000;
// Plans that the engine decides ahead of the oldest uncommitted one.
inline constexpr std::size_t kCommitDepth = 4;
// Workloads that one Decide looks at: about 5 ms.
inline constexpr std::size_t kCycleHeads = 1024;
// Jobs that wait at once, held ones included: about 2 GB of records.
inline constexpr std::size_t kPendingJobs = 2'000'000;
// Of these the jobs of one user, and of one namespace: half, so that no tenant fills the queue for
// all others. A site with many tenants sets less (`limits:` of the configuration file).
inline constexpr std::size_t kPendingJobsPerUser = kPendingJobs / 2;
inline constexpr std::size_t kPendingJobsPerNamespace = kPendingJobs / 2;
// An ended job stays in memory this long, so that squeue still shows it (Slurm's MinJobAge).
inline constexpr std::int64_t kFinishedJobsKeptMs = 300'000;
// Ended jobs in memory, however lately they ended.
inline constexpr std::size_t kFinishedJobsKept = 50'000;
// Ended jobs kept for the tables that people leave open, about 60 MB: a day of a busy site. A table
// of more has the store read for each answer.
inline constexpr std::size_t kEndedJobsKept = 50'000;
// How often these are read as a whole: sooner than a job leaves memory by its age, so that one
// whose end was committed late is never missed.
inline constexpr std::int64_t kEndedJobsReadMs = 240'000;
// Tables of jobs kept up to date for those who look at them: with kPageItemsMax jobs 1.6 MB each.
inline constexpr std::size_t kTablesKept = 24;
// A table that nobody asked for so long, at most twice that, is dropped. A page that is left open
// asks at least once a minute.
inline constexpr std::int64_t kTableKeptMs = 120'000;
// Idempotency keys are kept for a day, as Stripe keeps them: a client that sends one later means a
// new request.
inline constexpr std::int64_t kIdempotencyKeysKeptMs = 86'400'000;
// How often old idempotency keys are deleted.
inline constexpr std::int64_t kForgetKeysEveryMs = 60'000;
// Keys that one such deletion takes: about 20 ms of the store's writer, and 7 million keys a day.
inline constexpr std::size_t kForgottenKeys = 5000;

// --- audit
// Rows of refusals and reads that the engine keeps while the database is away: 2 MB of them. Later
// ones are counted in the log only; whoever reads is refused then anyway.
inline constexpr std::size_t kAuditKept = 4096;
// Rows that one removal by retention takes: about 50 ms of the store's writer.
inline constexpr std::size_t kForgottenAuditRows = 10'000;
// How often retention looks for rows that are too old while some are left: 10 million a day.
inline constexpr std::int64_t kForgetAuditEveryMs = 60'000;
// The shortest retention that may be configured: trails are read the morning after.
inline constexpr std::int64_t kAuditRetentionMinMs = 86'400'000;

// --- requeues and evictions in a row
// Slurm's wait of a requeued batch job: by then its last run has let go of its files and ports, and
// a script that requeues itself cannot spin.
inline constexpr std::int64_t kRequeueWaitMs = 120'000;
// The longest that annotation muster.io/requeue-wait may name: for a longer wait there is hold.
inline constexpr std::int64_t kRequeueWaitMaxMs = 24LL * 3'600'000;
// An eviction within this time after the job might run again counts as one in a row: the limit of
// what people call thrashing, and Kueue's own first back-off.
inline constexpr std::int64_t kEvictionRowS = 60;
// The wait of the second eviction in a row; it doubles from there. One second keeps a preempted
// job's return quick.
inline constexpr std::int64_t kEvictionWaitS = 1;
// The longest of these waits: Kueue's backoffBaseSeconds.
inline constexpr std::int64_t kEvictionWaitMaxS = 60;

// --- members
// A member that has not answered for this long is lost; its API server restarts in less.
inline constexpr std::int64_t kMemberLostAfterMs = 15'000;
// An object on a member that no attempt accounts for is removed after this; it is less than the
// time between two reconciliations.
inline constexpr std::int64_t kOrphanGraceMs = 20'000;
// Objects of one member that are recorded as set aside: anybody can make objects with our labels.
inline constexpr std::size_t kSetAsidePerMember = 1000;
// Calls about configuration objects under way at one member: jobs have the other connections.
inline constexpr std::size_t kObjectCallsPerMember = 8;
// Changes of several selected objects within this time become one revision.
inline constexpr std::int64_t kSnapshotGatherMs = 1000;
// How often a configuration object on a member is looked at, beside its watch.
inline constexpr std::int64_t kObjectCheckS = 60;
// A log of one container, 64 MiB: a longer one is cut, and its end kept.
inline constexpr std::size_t kLogBytesPerContainer = 64 << 20;
// Log bytes of one answer that does not follow the log.
inline constexpr std::size_t kLogReadBytes = 8 << 20;
// Pods of one local member: they are processes of one host.
inline constexpr int kPodsPerLocalMember = 4096;

// --- explain: what one question may cost, off the engine thread
// Jobs that one sentence names; the sentence counts the rest.
inline constexpr std::size_t kExplainNames = 5;
// ClusterQueues listed as holding what the job lacks.
inline constexpr std::size_t kExplainQueues = 8;
// Running jobs whose end is tried, with one Decide each.
inline constexpr std::size_t kExplainTrials = 256;
// Waiting and running jobs that an estimate of the start plays through.
inline constexpr std::size_t kExplainJobs = 5000;
// Queue heads that this estimate looks at: below one second.
inline constexpr std::size_t kExplainHeads = 100'000;
// Plans of one `quota set --dry-run`, which run on the engine thread: some 50 ms.
inline constexpr std::size_t kPreviewPlans = 16;

// --- simulate: what one request to the server may cost; `muster simulate` itself has no limits
// Two months of a busy team.
inline constexpr std::size_t kSimulateJobs = 20'000;
// Decisions listed in an answer: about 10 MB.
inline constexpr std::size_t kSimulateDecisions = 50'000;
// Calls of Decide: some ten seconds.
inline constexpr std::size_t kSimulateCycles = 100'000;
// One simulation runs at a time; a second request is told to come again after this.
inline constexpr std::int64_t kSimulateRetryMs = 5000;

// --- store
// Rows of one group commit: we measured no gain beyond 1,000.
inline constexpr std::size_t kGroupCommitRows = 1024;
// Connections for reading; readers never wait for the writer.
inline constexpr int kReadConnections = 4;

// --- waiting for the database
// When a write has waited this long, /readyz says 503: longer than any healthy commit, and together
// with the heartbeat below ten seconds.
inline constexpr std::int64_t kAcknowledgeWithinMs = 5'000;
// A daemon with nothing to write commits a heartbeat this often, so that it knows whether it could
// write: one small flush.
inline constexpr std::int64_t kHeartbeatMs = 2'000;
// The writer's wait for one answer. A stalled disk may take seconds, and giving up costs a
// recovery.
inline constexpr std::int64_t kAnswerWithinMs = 8'000;
// From sending a commit to calling its outcome unknown: a client has its answer within fifteen
// seconds.
inline constexpr std::int64_t kResolveMs = 12'000;
// One read, its wait for a connection included; indexed reads of a page take milliseconds.
inline constexpr std::int64_t kReadWithinMs = 5'000;
// One page of a recovery: 20,000 rows from a cold disk.
inline constexpr std::int64_t kLoadPageWithinMs = 60'000;
// After a read got no answer in time, further reads are refused for this long; then one read at a
// time tries the database, and waits no longer than this.
inline constexpr std::int64_t kReadersRestMs = 2'000;
// If all connections are busy and no read has ended for this long, further readers are refused at
// once.
inline constexpr std::int64_t kReadersStalledMs = 500;
// Threads that may wait for a connection in that case; connections and waiting threads together
// are fewer than the threads of the REST pool.
inline constexpr std::size_t kStalledReaders = 2;
// REST handlers that may block: one for each read connection, those that may wait for one, and two
// that are always free.
inline constexpr int kRestPoolThreads = 8;
// One migration: a new index on a million rows takes a minute.
inline constexpr std::int64_t kMigrateWithinMs = 1'800'000;
// After SIGTERM the database has this long to answer what is under way.
inline constexpr std::int64_t kStopDatabaseMs = 3'000;

// --- the lead
// How long the lead holds after a confirmed write. A commit is answered within some milliseconds,
// on a loaded disk within half a second; a process that is stopped for longer than this wakes up
// without the lead.
inline constexpr std::int64_t kLeadTermMs = 2000;
// While an order waits for the lead, the lead is checked again this often: about a round trip to
// the database.
inline constexpr std::int64_t kLeadAskedAgainMs = 25;

}  // namespace muster::limits
