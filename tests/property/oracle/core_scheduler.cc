#include "tests/property/oracle/core_scheduler.h"

namespace muster::oracle {
namespace {

// More plans than a small world can need: a run with more repeats itself for ever.
constexpr int kMostPlans = 300;

}  // namespace

CoreScheduler::CoreScheduler(const World& world)
    : world_(world),
      config_(ConfigOf(world)),
      settings_(SettingsOf(world)),
      tree_(core::QuotaTree::Build(*config_)),
      usage_(tree_),
      holders_(tree_) {
  pending_.Configure(config_, tree_, settings_);
  for (int i = 0; i < static_cast<int>(world_.workloads.size()); ++i) {
    const Workload& of = world_.workloads[static_cast<std::size_t>(i)];
    if (of.holding) {
      Hold(i);
    } else if (!of.done) {
      pending_.Add(RecordOf(world_, i), Now());
    }
  }
}

bool CoreScheduler::OnePlan(std::size_t per_queue, std::size_t rounds, CoreDecisions* decisions) {
  core::Snapshot snapshot;
  snapshot.config = config_;
  snapshot.settings = settings_;
  snapshot.usage = usage_;
  snapshot.holders = std::make_shared<const core::Holders>(holders_);
  snapshot.heads = pending_.Heads(per_queue, 100000);
  snapshot.now = Now();
  snapshot.cycle = cycle_;
  core::CycleInput input;
  input.budget.rounds = rounds;
  input.cache = &cache_;
  const core::Plan plan = core::Decide(snapshot, input);
  cycle_ += static_cast<std::int64_t>(plan.rounds);
  for (const auto& admit : plan.admits) {
    const int workload = WorkloadOf(*admit.job);
    Holding holding = HoldingOf(world_, workload, *admit.admission);
    world_.workloads[static_cast<std::size_t>(workload)].holding = holding;
    Hold(workload);
    decisions->admitted[workload] = std::move(holding);
    decisions->moves.push_back({workload, -1, Reason::kNone});
  }
  for (const auto& eviction : plan.evictions) {
    const int workload = WorkloadOf(*eviction.victim);
    world_.workloads[static_cast<std::size_t>(workload)].evicting = true;
    Release(workload);
    Hold(workload);
    decisions->evicted[workload] = eviction.preemption_reason;
    decisions->moves.push_back(
        {workload, WorkloadOf(*eviction.preemptor), eviction.preemption_reason});
  }
  decisions->scanning = false;
  for (const auto& waits : plan.not_admitted) {
    decisions->scanning = decisions->scanning || waits.last != nullptr;
    decisions->waiting[WorkloadOf(*waits.job)] = {waits.reason, waits.requeue};
  }
  pending_.Settle(plan, Now());
  return plan.more_work || pending_.HasActive();
}

CoreDecisions CoreScheduler::SingleHeadCycle() {
  CoreDecisions decisions;
  OnePlan(1, 1, &decisions);
  return decisions;
}

CoreDecisions CoreScheduler::ManyHeads(std::size_t per_queue) {
  CoreDecisions decisions;
  for (int i = 0; i < kMostPlans; ++i) {
    if (!OnePlan(per_queue, SIZE_MAX, &decisions)) break;
  }
  return decisions;
}

// Charges the workload's holding of the world to the core's usage.
void CoreScheduler::Hold(int workload) {
  const JobPtr job = RecordOf(world_, workload);
  usage_.Add(*job->admission);
  holders_.Put(core::MakeHolder(*tree_, *settings_, job));
}

void CoreScheduler::Release(int workload) {
  usage_.Remove(*(*holders_.Find({workload + 1}))->job->admission);
  holders_.Erase({workload + 1});
}

// The job has ended: the workload holds nothing any more.
void CoreScheduler::Stop(int workload) {
  Release(workload);
  Workload& of = world_.workloads[static_cast<std::size_t>(workload)];
  of.holding.reset();
  of.evicting = false;
  pending_.NoteRelease(world_.queues[static_cast<std::size_t>(of.queue)].name);
}

void CoreScheduler::Flush(const std::vector<int>& workloads) {
  std::vector<std::string> queues;
  for (const int workload : workloads) {
    const Workload& of = world_.workloads[static_cast<std::size_t>(workload)];
    queues.push_back(world_.queues[static_cast<std::size_t>(of.queue)].name);
  }
  pending_.FlushTrees(queues, Now());
}

void CoreScheduler::FinishEvictions() {
  std::vector<int> stopped;
  for (int i = 0; i < static_cast<int>(world_.workloads.size()); ++i) {
    if (world_.workloads[static_cast<std::size_t>(i)].evicting) stopped.push_back(i);
  }
  FinishEvictions(stopped);
}

void CoreScheduler::FinishEvictions(const std::vector<int>& stopped) {
  for (const int workload : stopped) {
    Stop(workload);
    pending_.Add(RecordOf(world_, workload), Now());
  }
  Flush(stopped);
}

void CoreScheduler::Arrive(int workload) {
  world_.workloads[static_cast<std::size_t>(workload)].done = false;
  pending_.Add(RecordOf(world_, workload), Now());
}

void CoreScheduler::Finish(int workload) {
  Stop(workload);
  world_.workloads[static_cast<std::size_t>(workload)].done = true;
  Flush({workload});
}

}  // namespace muster::oracle
