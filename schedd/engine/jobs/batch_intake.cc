#include "schedd/engine/jobs/batch_intake.h"

#include "schedd/lifecycle/batch_gates.h"

namespace muster {

void TakeBatchGates(const ConfigView& config, Dependencies& dependencies, JobRecord* job,
                    WallTime today) {
  if (job->batch == nullptr) return;
  const auto queue = config.local_queues.find({job->ns, job->local_queue});
  if (queue != config.local_queues.end()) {
    std::string problem =
        changes::PartitionProblem(*job, queue->second.partition, changes::DeclaredMachines(config));
    if (problem != BatchStateOf(*job).partition_problem) {
      changes::ChangeBatch(
          job, [&](BatchState* state) { state->partition_problem = std::move(problem); });
    }
  }
  if (BatchStateOf(*job).begin_at) changes::BeginAt(job, BatchStateOf(*job).begin_at, today);
  dependencies.JudgeNew(job);
}

}  // namespace muster
