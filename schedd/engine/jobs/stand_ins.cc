// Ids of stand-ins and their lists. A stand-in's id is computed from its job's id and a slot, so
// that it is the same in every cycle and after every restart without being stored. Ids of stand-ins
// are negative: -(job * kSlots + (kSlots - 1 - slot)). Division gives the job back, the remainder
// the slot. The slot is counted downwards inside a job so that, of two stand-ins that are equal in
// all other respects, the one of the better flavor (the lower slot) has the smaller id and comes
// first.
#include "schedd/engine/jobs/stand_ins.h"

#include "schedd/base/limits.h"
#include "schedd/base/limits_slurm_arrays.h"
#include "schedd/base/limits_slurm_gates.h"
#include "schedd/engine/jobs/partition_entries.h"
#include "schedd/engine/jobs/variants.h"
#include "schedd/lifecycle/job_changes.h"
#include "schedd/model/scale_lifecycle.h"

namespace muster {
namespace {

constexpr std::int64_t kSlots = kStandInSlots;
static_assert(limits::kConcurrentFlavors < kSlots);
static_assert(limits::kArrayWindow <= kSlots);
static_assert(limits::kPartitionsOfJob < kSlots);

}  // namespace

// See the formula at the top. Slot 0 is the slice, slot n the variant of the n-th flavor or the
// entry in the n-th partition.
JobId StandInId(JobId job, std::size_t slot) {
  return JobId{-(job.value * kSlots + kSlots - 1 - static_cast<std::int64_t>(slot))};
}

JobId OwnerOf(JobId id) { return IsStandIn(id) ? JobId{-id.value / kSlots} : id; }

std::size_t SlotOf(JobId stand_in) {
  return static_cast<std::size_t>(kSlots - 1 - (-stand_in.value) % kSlots);
}

// A parent has variants, a batch script of several partitions an entry for each of the others. An
// elastic job has a slice while it is dispatched, wants to grow and is not leaving. No job has two
// of these kinds.
std::vector<JobPtr> StandInsOf(const JobRecord& job, const ConfigView& config,
                               const std::set<std::size_t>& open_gates) {
  if (IsParent(job)) return VariantsOf(job, config, open_gates);
  if (HasPartitions(job)) return PartitionEntriesOf(job, config, open_gates);
  const ElasticScale* scale = ScaleOf(job);
  const bool grows = scale != nullptr && scale->pending && IsDispatched(job.state) &&
                     StateOf(job).active && !IsTrue(job, "Evicted") && !changes::IsCancelling(job);
  if (!grows) return {};
  return {std::make_shared<JobRecord>(SliceRecord(job, StandInId(job.id, 0)))};
}

// Compares everything that a queue or a cycle reads of an entry.
bool SameEntry(const JobRecord& a, const JobRecord& b) {
  return a.uid == b.uid && (a.pod_sets == b.pod_sets || *a.pod_sets == *b.pod_sets) &&
         a.priority == b.priority && a.priority_boost == b.priority_boost &&
         a.cluster_queue == b.cluster_queue && a.conditions == b.conditions &&
         StateOf(a) == StateOf(b);
}

}  // namespace muster
