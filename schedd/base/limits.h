// Every bound of Muster, each with its reason: everything has a limit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::limits {

// --- requests
inline constexpr std::size_t kManifestBytes =
    1 << 20;  // etcd refuses objects over 1.5 MiB; keep below
inline constexpr std::size_t kRequestBytes =
    8 << 20;  // one jobs:batch of 1,000 manifests of 4 KiB, twice over
inline constexpr std::size_t kHeaderBytes = 16
                                            << 10;  // what nginx and Go's net/http allow together
inline constexpr std::size_t kBatchJobs = 1000;     // one jobs:batch request or one array
inline constexpr std::size_t kScriptBytes =
    512 << 10;                         // a script travels in a manifest and an environment
inline constexpr int kJsonDepth = 64;  // the deepest real manifest seen has 23 levels
inline constexpr std::size_t kYamlDocuments = 1000;  // one file of `muster apply`
inline constexpr std::size_t kIdempotencyKeyBytes =
    255;  // Stripe's limit, which clients are written for
inline constexpr std::size_t kPageItems =
    1000;  // one page of a list; keeps an answer within a send
inline constexpr std::size_t kPageItemsMax = 200'000;  // squeue of a deep queue, streamed in chunks

// --- objects (rule A3)
inline constexpr std::size_t kPodSets = 18;
inline constexpr std::size_t kResourceGroups = 16;
inline constexpr std::size_t kFlavorsPerGroup = 64;
inline constexpr std::size_t kResourcesPerGroup = 64;
inline constexpr std::size_t kFlavorsPerQueue = 256;
inline constexpr std::size_t kFlavorResourcesPerGroup = 512;
inline constexpr std::size_t kFlavorLabels = 8;
inline constexpr std::size_t kTopologyLevels = 16;
inline constexpr std::size_t kSliceLayers = 3;
inline constexpr std::size_t kAdmissionChecks = 8;  // per workload
inline constexpr std::size_t kPreemptionGates = 8;
inline constexpr std::size_t kUnhealthyNodes = 8;
inline constexpr std::size_t kConditions = 16;
inline constexpr std::size_t kConcurrentFlavors = 16;  // variants of one workload (KEP-8691)
inline constexpr std::size_t kFinishedSlices = 8;      // of one elastic job, kept for its readers
inline constexpr std::int32_t kPodsPerJob =
    100'000;  // Kubernetes' own limit for indexed Jobs with success policy

// --- engine
inline constexpr std::size_t kInboxCommands = 16'384;  // about a second of submissions at full rate
inline constexpr std::size_t kInflightSubmissions =
    20'000;                                     // accepted by the engine, not yet durable
inline constexpr std::size_t kCommitDepth = 4;  // plans decided ahead of the oldest uncommitted one
inline constexpr std::size_t kCycleHeads = 1024;  // workloads looked at in one Decide; about 5 ms
inline constexpr std::size_t kPendingJobs =
    2'000'000;  // waiting at once, held ones too: about 2 GB of records
inline constexpr std::int64_t kFinishedJobsKeptMs =
    300'000;  // Slurm's MinJobAge: squeue still shows them
inline constexpr std::size_t kFinishedJobsKept = 50'000;  // and never more than this many
inline constexpr std::int64_t kIdempotencyKeysKeptMs =
    86'400'000;  // Stripe's day: who retries later than that means a new request
inline constexpr std::int64_t kForgetKeysEveryMs = 60'000;
inline constexpr std::size_t kForgottenKeys =
    5000;  // at once: about 20 ms of the writer, and 7 million a day

// --- placements: KubeFleet's own bounds (rule P2)
inline constexpr std::size_t kResourceSelectors = 100;
inline constexpr std::size_t kPlacementClusters = 100;  // clusterNames of PickFixed
inline constexpr std::size_t kPlacementTolerations = 100;
inline constexpr std::size_t kClusterSelectorTerms = 10;  // ORed
inline constexpr std::size_t kPreferredTerms = 100;
inline constexpr std::size_t kSpreadConstraints = 10;
inline constexpr std::size_t kClusterGroups = 20;
inline constexpr std::size_t kMemberTaints = 100;
inline constexpr std::size_t kMemberProperties =
    200;  // declared ones; a sorter looks at each member
inline constexpr std::size_t kJobDatasets = 32;
inline constexpr std::int64_t kAvoidClusterS = 600;  // after a start that failed there
inline constexpr std::int64_t kHeartbeatMinS = 1, kHeartbeatMaxS = 600;
inline constexpr std::size_t kNominatedClusters = 20;  // MultiKueue's (kueue#8561)

// --- configuration objects on members: KubeFleet's bounds (rules P2, P20, P28, P29)
inline constexpr std::int32_t kRevisionsMost = 1000;     // revisionHistoryLimit
inline constexpr std::size_t kSelectedResources = 1000;  // by one placement
inline constexpr std::size_t kSnapshotBytes = 8 << 20;   // a row of them is read whole
inline constexpr std::size_t kOverrideResources = 20;
inline constexpr std::size_t kOverrideRules = 20;
inline constexpr std::size_t kOverridePatches = 20;
inline constexpr std::size_t kEnvelopeItems = 50;
inline constexpr std::size_t kDifferencesKept = 100;     // of one object; told when there are more
inline constexpr std::size_t kDifferenceBytes = 1024;    // of one value
inline constexpr std::size_t kObjectCallsPerMember = 8;  // at once: jobs go before them
inline constexpr std::int64_t kSnapshotGatherMs =
    1000;                                          // changes of several objects are one revision
inline constexpr std::int64_t kObjectCheckS = 60;  // each is looked at that often beside its watch

// --- members that do not answer, and objects on members that nobody knows
inline constexpr std::int64_t kMemberLostAfterMs = 15'000;  // its API server restarts in less
inline constexpr std::int64_t kOrphanGraceMs = 20'000;      // below one reconciliation
inline constexpr std::size_t kSetAsidePerMember = 1000;     // recorded; anybody can make labels

// --- explain: what one question may cost, off the engine thread
inline constexpr std::size_t kExplainNames = 5;     // jobs named in one sentence; the rest counted
inline constexpr std::size_t kExplainQueues = 8;    // ClusterQueues listed as holding what it lacks
inline constexpr std::size_t kExplainTrials = 256;  // jobs whose end is tried: one Decide each
inline constexpr std::size_t kExplainJobs =
    5000;  // waiting and running ones that an estimate of the start plays through
inline constexpr std::size_t kPreviewPlans =
    16;  // of one `quota set --dry-run`, on the engine thread: some 50 ms
inline constexpr std::size_t kExplainHeads = 100'000;  // looked at by that estimate: below 1 s

// --- simulate: what one request to the server may cost; `muster simulate` itself has no limits
inline constexpr std::size_t kSimulateJobs = 20'000;       // two months of a busy team
inline constexpr std::size_t kSimulateDecisions = 50'000;  // listed in an answer: about 10 MB
inline constexpr std::size_t kSimulateCycles = 100'000;    // calls of Decide: some ten seconds
inline constexpr std::int64_t kSimulateRetryMs = 5000;     // one runs at a time

// --- store
inline constexpr std::size_t kGroupCommitRows =
    1024;  // beyond 1,000 rows a commit gains nothing (as we measured)
inline constexpr int kReadConnections = 4;  // readers never wait for the writer

// --- backends
inline constexpr std::size_t kLogBytesPerContainer = 64 << 20;  // a 100 MB log is cut, its end kept
inline constexpr std::size_t kLogReadBytes = 8 << 20;           // one non-following log answer
inline constexpr int kPodsPerLocalMember = 4096;                // processes of one host

// --- streams
inline constexpr std::size_t kStreams = 256;  // event and log followers at once
inline constexpr std::size_t kStreamBacklogBytes =
    200 << 10;  // a slower reader is dropped: it would stall others

// --- waiting for the database
// What writes may wait before /readyz says 503: longer than any healthy commit, and with the
// heartbeat below ten
// seconds.
inline constexpr std::int64_t kAcknowledgeWithinMs = 5'000;
// A daemon with nothing to write commits a heartbeat as often, so that it knows whether it
// could: one small flush.
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
// Readers that got no answer in time are not tried again before this; then by one read at a
// time, which waits no
// longer than this.
inline constexpr std::int64_t kReadersRestMs = 2'000;
// All connections busy and no read ended for so long: further readers are refused at once.
inline constexpr std::int64_t kReadersStalledMs = 500;
// Threads that may wait for a connection then; with the connections fewer than the REST pool has
// threads.
inline constexpr std::size_t kStalledReaders = 2;
// REST handlers that may block: the read connections, those that may wait for one, and two that
// nothing keeps.
inline constexpr int kRestPoolThreads = 8;
// One migration: a new index on a million rows takes a minute.
inline constexpr std::int64_t kMigrateWithinMs = 1'800'000;
// After SIGTERM the database has so long to answer what is under way.
inline constexpr std::int64_t kStopDatabaseMs = 3'000;

// --- the lead
// A commit is answered within some milliseconds, on a loaded disk within half a second; whoever is
// stopped for longer than this wakes up without the lead.
inline constexpr std::int64_t kLeadTermMs = 2000;
// A round trip to the database is tried anew so soon while an order waits for the lead.
inline constexpr std::int64_t kLeadAskedAgainMs = 25;

// --- documents of a request
// Keys count too. 1,000 manifests of 4 KiB have up to 450,000; reading the most costs 45 MB.
inline constexpr std::size_t kRequestValues = 500'000;
// Text that aliases and anchors repeat: no more than a request may bring itself.
inline constexpr std::size_t kRequestCopiedBytes = 8 << 20;
// Two of the largest requests at once; a third is asked to come again.
inline constexpr std::size_t kValuesInReading = 2 * kRequestValues;
// Smaller documents are not counted against the others: a request of this size takes 250 KB.
inline constexpr std::size_t kValuesUncounted = 4096;

// --- connections
// A peer that connects and says nothing is let go after this, when connections become scarce.
inline constexpr std::int64_t kIdleUnderPressureS = 10;
// Descriptors that no client may take: the database, members, log files, pods' output.
inline constexpr int kReservedDescriptors = 256;

// --- gRPC (1.51 predates HTTP/2's hardening of 2023)
// Each costs some 50 KB with its two sockets.
inline constexpr std::size_t kGrpcConnections = 512;
// Calls open at once over all connections; each costs some 20 KB.
inline constexpr std::size_t kGrpcStreams = 4096;
// Of one connection: cancelled calls, as nghttp2 bounds them, three times as many a second.
inline constexpr double kStreamResetBurst = 1000, kStreamResetsPerS = 100;
// Of all connections together; beyond it whoever resets is read more slowly.
inline constexpr double kAllResetBurst = 2000, kAllResetsPerS = 1000;
// Of one connection: SETTINGS, and frames of kinds that HTTP/2 does not know.
inline constexpr double kSettingsBurst = 100, kSettingsPerS = 10;
// Of one connection: pings; clients that measure bandwidth ping at every round trip for a while.
inline constexpr double kPingBurst = 1000, kPingsPerS = 1000;
// Of one connection: frames that carry nothing and end nothing (empty DATA, PRIORITY).
inline constexpr double kEmptyFrameBurst = 10'000, kEmptyFramesPerS = 1000;
// One block of headers on the wire, compressed, and the frames it may be cut into.
inline constexpr std::size_t kHeaderBlockBytes = 32 << 10;
inline constexpr int kHeaderBlockFrames = 16;
// A client says that it speaks HTTP/2 at once.
inline constexpr std::int64_t kGrpcPrefaceMs = 10'000;
// Nothing leaves for that long: the client does not read.
inline constexpr std::int64_t kGrpcStallMs = 30'000;
// No call is open for that long.
inline constexpr std::int64_t kGrpcIdleMs = 300'000;
// An event of a watch is not taken for that long: the watch ends, its client may resume.
inline constexpr std::int64_t kWatchStallMs = 30'000;

// --- what people read: the audit trail and followed logs
// One screen's worth to scroll through, if nothing else is asked for.
inline constexpr std::int64_t kAuditPage = 200;
// A row has some hundred bytes: one answer stays within a few megabytes.
inline constexpr std::int64_t kAuditPageMax = 10'000;
// A connection and a thread each, and a quarter of the server's kStreams.
inline constexpr std::size_t kFollowedLogs = 64;

// --- answers of the API
// Warnings of one manifest: a person reads no more, and each one costs a header line.
inline constexpr std::size_t kManifestWarnings = 16;
// All Warning headers of one answer together: as much as an API server of Kubernetes sends.
inline constexpr std::size_t kWarningHeaderBytes = 4096;

// --- requeues and evictions in a row
// Slurm's wait of a requeued batch job: its last run has left its files and ports by then, and a
// script that requeues itself cannot spin.
inline constexpr std::int64_t kRequeueWaitMs = 120'000;
// The longest that annotation muster.io/requeue-wait may name: whoever wants more holds the job.
inline constexpr std::int64_t kRequeueWaitMaxMs = 24LL * 3'600'000;
// An eviction that comes so soon after the job might run again is one in a row: the limit of what
// people call thrashing, and Kueue's own first back-off.
inline constexpr std::int64_t kEvictionRowS = 60;
// The wait of the second eviction in a row; it doubles from there. One second keeps a preempted
// job's return quick.
inline constexpr std::int64_t kEvictionWaitS = 1;
// The longest of these waits: Kueue's backoffBaseSeconds.
inline constexpr std::int64_t kEvictionWaitMaxS = 60;

}  // namespace muster::limits
