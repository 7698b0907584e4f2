// An entry is a copy of the job's record that waits in another partition's queue. What is decided
// about it happens to the job, which then is in that partition (Attempts::InPartitionOf).
#include "schedd/engine/jobs/partition_entries.h"

#include <string_view>

#include "schedd/base/name_list.h"
#include "schedd/engine/jobs/stand_ins.h"
#include "schedd/lifecycle/batch_gates.h"
#include "schedd/lifecycle/job_changes.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster {
namespace {

// As explanations name it.
constexpr const char* kPartitionGate = "muster.io/partition";

// Its uid differs from the job's in each slot, so that orders by uid tell entries apart.
JobPtr EntryIn(const JobRecord& job, const LocalQueue& queue, std::int32_t machines,
               std::size_t slot, bool gate_open) {
  auto entry = std::make_shared<JobRecord>(job);
  entry->id = StandInId(job.id, slot);
  entry->uid.lo ^= slot * 0x9e3779b97f4a7c15ULL;
  entry->local_queue = queue.name;
  entry->cluster_queue = queue.cluster_queue;
  changes::ChangeBatch(entry.get(), [&](BatchState* state) {
    state->partition_problem = changes::PartitionProblem(job, queue.partition, machines);
  });
  ChangeState(entry.get(), [&](AdmissionState* state) {
    state->preemption_gates.push_back(
        {kPartitionGate, gate_open, PreemptionGateKind::kOfPartition});
  });
  return entry;
}

}  // namespace

bool NamesPartitions(const JobRecord& job) {
  return job.batch != nullptr && !job.batch->partitions.empty();
}

bool HasPartitions(const JobRecord& job) { return NamesPartitions(job) && !IsArrayRecord(job); }

// Slots count from 1 in the order of the list; slot 0 is the slice of an elastic job.
std::vector<JobPtr> PartitionEntriesOf(const JobRecord& job, const ConfigView& config,
                                       const std::set<std::size_t>& open_gates) {
  std::vector<JobPtr> entries;
  if (job.state != JobState::kPending) return entries;
  std::set<std::string> fed;
  if (changes::MayBeTried(job)) fed.insert(job.cluster_queue);
  const std::int32_t machines = changes::DeclaredMachines(config);
  std::size_t slot = 0;
  for (const std::string_view name : NamesIn(job.batch->partitions)) {
    ++slot;
    const auto found = config.local_queues.find({job.ns, std::string(name)});
    if (name == job.local_queue || found == config.local_queues.end()) continue;
    const LocalQueue& queue = found->second;
    if (queue.partition.state != PartitionProperties::State::kUp) continue;
    JobPtr entry = EntryIn(job, queue, machines, slot, open_gates.contains(slot));
    if (changes::MayBeTried(*entry) && fed.insert(queue.cluster_queue).second)
      entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace muster
