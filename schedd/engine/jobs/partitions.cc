#include "schedd/engine/jobs/partitions.h"

#include <algorithm>
#include <set>

#include "schedd/base/limits_slurm_gates.h"
#include "schedd/lifecycle/batch_gates.h"

namespace muster {
namespace {

bool ScriptWaits(const JobRecord& job) {
  return job.batch != nullptr && (job.state == JobState::kPending || job.state == JobState::kHeld);
}

const PartitionProperties& PartitionOf(const ConfigView& config,
                                       const std::pair<std::string, std::string>& name) {
  static const PartitionProperties kNone;
  const auto queue = config.local_queues.find(name);
  return queue == config.local_queues.end() ? kNone : queue->second.partition;
}

// Queues whose properties differ. Without `before`: those with any.
std::set<std::pair<std::string, std::string>> ChangedQueues(const ConfigView* before,
                                                            const ConfigView& after) {
  std::set<std::pair<std::string, std::string>> changed;
  for (const auto& [name, queue] : after.local_queues) {
    const PartitionProperties& was =
        before == nullptr ? PartitionProperties{} : PartitionOf(*before, name);
    if (!(queue.partition == was)) changed.insert(name);
  }
  return changed;
}

}  // namespace

void Partitions::Reset() {
  seen_ = nullptr;
  due_.clear();
}

// A configuration is an immutable value: another pointer is another configuration.
bool Partitions::Fire() {
  if (config_.view() != seen_) {
    const auto changed = ChangedQueues(seen_.get(), *config_.view());
    const bool machines = seen_ != nullptr && changes::DeclaredMachines(*seen_) !=
                                                  changes::DeclaredMachines(*config_.view());
    std::set<JobId> concerned;
    for (const auto& [id, job] : jobs_.all()) {
      const bool problem = seen_ == nullptr && !BatchStateOf(*job).partition_problem.empty();
      const bool other = machines || changed.contains({job->ns, job->local_queue});
      if (ScriptWaits(*job) && (problem || other)) concerned.insert(id);
      if (changed.empty() && !machines && seen_ != nullptr) break;
    }
    due_.insert(due_.end(), concerned.begin(), concerned.end());
    seen_ = config_.view();
  }
  const std::size_t most = std::min(limits::kDependentsAtOnce, commits_.Room());
  std::size_t done = 0;
  for (; done < most && !due_.empty(); ++done) {
    const JobPtr job = jobs_.Find(due_.front());
    due_.pop_front();
    if (job != nullptr && ScriptWaits(*job)) Judge(job);
  }
  return done > 0;
}

void Partitions::Judge(const JobPtr& job) {
  std::string problem =
      changes::PartitionProblem(*job, PartitionOf(*config_.view(), {job->ns, job->local_queue}),
                                changes::DeclaredMachines(*config_.view()));
  if (problem == BatchStateOf(*job).partition_problem) return;
  auto draft = std::make_shared<JobRecord>(*job);
  changes::ChangeBatch(draft.get(),
                       [&](BatchState* state) { state->partition_problem = std::move(problem); });
  changes::SayWhyItWaits(draft.get());
  jobs_.Put(job, std::move(draft), "JobPartitionJudged");
}

}  // namespace muster
