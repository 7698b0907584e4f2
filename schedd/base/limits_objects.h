// Bounds of what a client may send: requests, documents and the objects of the API. Include
// schedd/base/limits.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::limits {

// --- requests
// One manifest. etcd refuses objects above 1.5 MiB; this stays below, so that a member takes it.
inline constexpr std::size_t kManifestBytes = 1 << 20;
// One request: a jobs:batch of 1,000 manifests of 4 KiB, twice over.
inline constexpr std::size_t kRequestBytes = 8 << 20;
// All headers of one request: nginx and Go's net/http both accept this much.
inline constexpr std::size_t kHeaderBytes = 16 << 10;
// Jobs of one jobs:batch request.
inline constexpr std::size_t kBatchJobs = 1000;
// One batch script: it travels inside a manifest, and into an environment variable.
inline constexpr std::size_t kScriptBytes = 512 << 10;
// Nesting of JSON: the deepest real manifest that we have seen has 23 levels.
inline constexpr int kJsonDepth = 64;
// Documents of one file of `muster apply`.
inline constexpr std::size_t kYamlDocuments = 1000;
// Stripe's limit for idempotency keys, for which clients are written.
inline constexpr std::size_t kIdempotencyKeyBytes = 255;
// Items of one page of a list: an answer then fits into one send.
inline constexpr std::size_t kPageItems = 1000;
// The most that a client may ask for at once: squeue of a deep queue, streamed in chunks.
inline constexpr std::size_t kPageItemsMax = 200'000;

// --- documents of a request
// JSON values of one request; keys count too. 1,000 manifests of 4 KiB have up to 450,000 values;
// reading the most costs 45 MB.
inline constexpr std::size_t kRequestValues = 500'000;
// Text that YAML aliases and anchors repeat: no more than a request may bring itself.
inline constexpr std::size_t kRequestCopiedBytes = 8 << 20;
// Values of all requests that are being read: two of the largest requests at once. A third request
// is refused and may be repeated.
inline constexpr std::size_t kValuesInReading = 2 * kRequestValues;
// Requests with fewer values are not counted against kValuesInReading: one of this size takes
// 250 KB.
inline constexpr std::size_t kValuesUncounted = 4096;

// --- objects of Kueue's API: the bounds of its validation markers (rule A3)
inline constexpr std::size_t kPodSets = 18;
inline constexpr std::size_t kResourceGroups = 16;
inline constexpr std::size_t kFlavorsPerGroup = 64;
inline constexpr std::size_t kResourcesPerGroup = 64;
inline constexpr std::size_t kFlavorsPerQueue = 256;
inline constexpr std::size_t kFlavorResourcesPerGroup = 512;
inline constexpr std::size_t kFlavorLabels = 8;
inline constexpr std::size_t kTopologyLevels = 16;
inline constexpr std::size_t kSliceLayers = 3;
// Admission checks of one workload.
inline constexpr std::size_t kAdmissionChecks = 8;
inline constexpr std::size_t kPreemptionGates = 8;
inline constexpr std::size_t kUnhealthyNodes = 8;
inline constexpr std::size_t kConditions = 16;
// Variants of one workload (KEP-8691).
inline constexpr std::size_t kConcurrentFlavors = 16;
// Finished slices of one elastic job that are kept in its record, for users to read.
inline constexpr std::size_t kFinishedSlices = 8;
// Kubernetes' own limit for indexed Jobs with a success policy.
inline constexpr std::int32_t kPodsPerJob = 100'000;

// --- access (rules U1, U2 and U7)
// Parts of one role: its combinations of a verb with a group, resource and name, or with a path.
// Who grants a role is asked about each of them; Kubernetes' largest role has about 1,000.
inline constexpr std::size_t kRoleParts = 20'000;
// Subjects of one binding, and groups of one access token: a site's people are groups.
inline constexpr std::size_t kBindingSubjects = 1000;
inline constexpr std::size_t kTokenGroups = 100;
// The name of a user or group: an X.509 name or a URL with a subject fits.
inline constexpr std::size_t kPrincipalNameBytes = 1024;

// --- placements: KubeFleet's own bounds (rule P2)
inline constexpr std::size_t kResourceSelectors = 100;
// spec.policy.clusterNames of PickFixed.
inline constexpr std::size_t kPlacementClusters = 100;
inline constexpr std::size_t kPlacementTolerations = 100;
// Terms of requiredDuringSchedulingIgnoredDuringExecution, any of which may match.
inline constexpr std::size_t kClusterSelectorTerms = 10;
inline constexpr std::size_t kPreferredTerms = 100;
inline constexpr std::size_t kSpreadConstraints = 10;
inline constexpr std::size_t kClusterGroups = 20;
inline constexpr std::size_t kMemberTaints = 100;
// Declared properties of one member: sorting by a property reads it of every member.
inline constexpr std::size_t kMemberProperties = 200;
inline constexpr std::size_t kJobDatasets = 32;
// A member on which an attempt failed to start is avoided by that job for this long.
inline constexpr std::int64_t kAvoidClusterS = 600;
// spec.heartbeatPeriodSeconds of a MemberCluster.
inline constexpr std::int64_t kHeartbeatMinS = 1, kHeartbeatMaxS = 600;
// Members that are asked to admit one job: MultiKueue's bound (kueue#8561).
inline constexpr std::size_t kNominatedClusters = 20;

// --- configuration objects on members: KubeFleet's bounds (rules P2, P20, P28, P29)
// spec.revisionHistoryLimit.
inline constexpr std::int32_t kRevisionsMost = 1000;
// Objects that one placement selects.
inline constexpr std::size_t kSelectedResources = 1000;
// Manifests of one ResourceSnapshot: its row is read as a whole.
inline constexpr std::size_t kSnapshotBytes = 8 << 20;
inline constexpr std::size_t kOverrideResources = 20;
inline constexpr std::size_t kOverrideRules = 20;
inline constexpr std::size_t kOverridePatches = 20;
inline constexpr std::size_t kEnvelopeItems = 50;
// Differences kept of one object; the status says when there are more.
inline constexpr std::size_t kDifferencesKept = 100;
// Bytes kept of one value of a difference.
inline constexpr std::size_t kDifferenceBytes = 1024;

// --- answers of the API
// Warnings of one manifest: a person reads no more, and each one costs a header line.
inline constexpr std::size_t kManifestWarnings = 16;
// All Warning headers of one answer together: as much as a Kubernetes API server sends.
inline constexpr std::size_t kWarningHeaderBytes = 4096;
// Rows of the audit trail in one answer if the client does not say: one screen to scroll through.
inline constexpr std::int64_t kAuditPage = 200;
// A row has some hundred bytes, so one answer stays within a few megabytes.
inline constexpr std::int64_t kAuditPageMax = 10'000;
// Bytes of one text of an audit row, such as a detail: what people read in a line or two. Names of
// objects and users are shorter.
inline constexpr std::size_t kAuditTextBytes = 1024;
// Groups in an audit row: directories have users with hundreds of them, and a row is written for
// every request.
inline constexpr std::size_t kAuditGroups = 32;

}  // namespace muster::limits
