// Cycles. A cycle takes heads of all ClusterQueues with active jobs, makes a snapshot of the live
// world, has core::Decide make a plan, has core::CheckPlan derive every promise of the plan again,
// and carries it out. What the plan gives and takes counts at once (LiveJobs::planned), so the next
// cycle decides on top of it while the commit is on its way.
//
// No cycle runs while a configuration is not durable, while waiting jobs are being measured anew
// (ResourceChecks), or while admitted pods are not ready and that blocks admission (rule A23, step
// l). How many heads a cycle takes is bounded by the rows that the open commit has room for, but
// every queue gets one.
#include "schedd/engine/decide/decider.h"

#include <algorithm>

#include "schedd/core/cycle/cycle.h"
#include "schedd/core/cycle/plan_check.h"
#include "schedd/engine/jobs/partition_entries.h"
#include "schedd/engine/jobs/stand_ins.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/telemetry/log.h"

namespace muster {
namespace {

// The plan without member clusters. core::Decide takes an empty list of members for "do not place";
// here it means that nothing can run.
core::Plan NothingRuns(const core::Snapshot& snapshot) {
  core::Plan plan;
  for (const core::QueueHeads& queue : snapshot.heads) {
    for (const JobPtr& job : queue.jobs) {
      core::UnadmittedWorkload waiting;
      waiting.job = job;
      waiting.reason = Reason::kNoMemberCluster;
      waiting.message = "no member cluster is declared";
      waiting.requeue = core::RequeueReason::kGated;
      plan.not_admitted.push_back(std::move(waiting));
    }
  }
  return plan;
}

// Entries of one job in several partitions may be admitted together: its own counts, else that of
// the partition that it named first.
bool IsFirstChoice(const core::Plan& plan, const JobRecord& entry) {
  if (!HasPartitions(entry)) return true;
  const auto rank = [](JobId id) { return IsStandIn(id) ? SlotOf(id) : 0; };
  return std::none_of(plan.admits.begin(), plan.admits.end(), [&](const auto& other) {
    return OwnerOf(other.job->id) == OwnerOf(entry.id) && rank(other.job->id) < rank(entry.id);
  });
}

}  // namespace

void Decider::Reset() {
  to_sweep_.clear();
  openings_.clear();
  waits_for_pods_ = false;
}

// Also used by previews, with another configuration and the committed amounts.
core::Snapshot Decider::MakeSnapshot(const ConfigPtr& config, const Ledger& ledger,
                                     std::shared_ptr<const core::Holders> holders,
                                     std::vector<core::QueueHeads> heads) {
  core::Snapshot snapshot;
  snapshot.config = config;
  snapshot.settings = context_.options.settings;
  snapshot.usage = ledger.usage();
  snapshot.holders = std::move(holders);
  snapshot.heads = std::move(heads);
  snapshot.clusters = ledger.Clusters(*config, members_.facts());
  jobs_.AddStarting(&snapshot.clusters);
  snapshot.placed = jobs_.placed().Counts();
  snapshot.now = context_.clock.WallNow();
  snapshot.cycle = cycles_;
  snapshot.pods_not_ready = alarms_.SomePodsUnready();
  snapshot.local_usages = jobs_.fair().Usages(*config);
  return snapshot;
}

// The usage of LocalQueues is told to the queues first, because it decides which job is the head
// (rule A42).
bool Decider::Cycle() {
  array_tasks_.Refill();
  jobs_.fair().TellOrder(*config_.view(), &waiting_.queues());
  if (!waiting_.queues().HasActive() && !machines_.SecondPassDue()) return false;
  if (!commits_.MayDecide()) return false;
  waits_for_pods_ = waits_for_pods_ && alarms_.SomePodsUnready();
  if (waits_for_pods_ || checks_.Pending()) return false;
  const Monotonic begin = context_.clock.Now();
  // Every queue gets a head, whatever its name: a total below the number of queues would starve the
  // last ones in name order.
  const std::size_t queues = std::max<std::size_t>(config_.view()->cluster_queues.size(), 1);
  const std::size_t wanted = std::min(context_.options.cycle_heads, commits_.Room());
  const std::size_t per_queue = std::max<std::size_t>(wanted / queues, 1);
  auto heads = waiting_.queues().Heads(per_queue, std::max(wanted, queues * per_queue));
  array_tasks_.CutHeads(&heads);
  // Not owned and not copied: nothing reads the snapshot's holders once the plan is being carried
  // out.
  const std::shared_ptr<const core::Holders> holders(std::shared_ptr<void>(), &jobs_.holders());
  const core::TopologyUsage& machines = machines_.Usage();
  core::Snapshot snapshot =
      MakeSnapshot(config_.view(), jobs_.planned(), holders, std::move(heads));
  snapshot.topology = machines;
  snapshot.second_pass = machines_.TakeSecondPasses(snapshot.now);
  core::Plan plan;
  if (snapshot.clusters.empty()) {
    for (const JobPtr& job : snapshot.second_pass) machines_.OfferSecondPass(job);
    plan = NothingRuns(snapshot);
  } else {
    plan = Decide(snapshot, begin);
  }
  CarryOut(plan);
  context_.metrics.OnCycle(
      static_cast<double>(context_.clock.Now() - begin) / static_cast<double>(kNanosPerSecond),
      !plan.admits.empty());
  commits_.MarkChanged();
  return true;
}

// An unsound plan stops the daemon before anything of it is carried out: it would break a quota or
// run a job where it may not.
core::Plan Decider::Decide(const core::Snapshot& snapshot, Monotonic now) {
  core::CycleInput input;
  input.now = now;
  input.seed = context_.random.Next();
  input.budget.heads = context_.options.cycle_heads;
  input.cache = &cache_;
  core::Plan plan = core::Decide(snapshot, input);
  cycles_ += static_cast<std::int64_t>(plan.rounds);
  const std::vector<std::string> broken = core::CheckPlan(snapshot, plan);
  for (const std::string& sentence : broken)
    Log(LogLevel::kError, "engine", "plan_unsound", {{"err", sentence}});
  if (!broken.empty()) FlushLog();
  MUSTER_CHECK(broken.empty());
  return plan;
}

// Queues first, so that records which Put changes find their jobs where the plan has left them.
// What the plan meant for a second entry of one job is free again, and others may wait for it.
// Admissions come before evictions, and both before the reasons of jobs that wait.
void Decider::CarryOut(const core::Plan& plan) {
  waiting_.queues().Settle(plan, context_.clock.WallNow());
  waits_for_pods_ = plan.wait_for_pods_ready;
  for (const core::PlannedAdmission& admit : plan.admits) {
    if (admit.second_pass) {
      Complete(admit);
    } else if (IsArrayRecord(*admit.job)) {
      array_tasks_.Admit(admit);
    } else if (admit.replaced != nullptr) {
      stand_ins_.AdmitSlice(admit);
    } else if (IsFirstChoice(plan, *admit.job)) {
      attempts_.Admit(admit);
    } else {
      waiting_.NoteReleased(admit.admission->cluster_queue);
    }
  }
  array_tasks_.Finish();
  for (const core::Eviction& eviction : plan.evictions) attempts_.Evict(eviction);
  for (const core::UnadmittedWorkload& waiting : plan.not_admitted) NoteWaiting(waiting);
  context_.metrics.OnRecomputations(plan.recomputations);
}

// A second pass has decided what was open of a placement (rule A17). The job may have lost its
// quota since the snapshot.
void Decider::Complete(const core::PlannedAdmission& admit) {
  const JobPtr job = jobs_.Find(admit.job->id);
  if (job == nullptr || !NeedsSecondPass(*job)) return;
  machines_.EraseSecondPass(job->id);
  attempts_.CompletePlacement(job, admit);
}

}  // namespace muster
