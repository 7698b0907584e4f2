// Deciding: when, on which snapshot, and what a plan does to the live world.
#include <algorithm>

#include "schedd/core/cycle/cycle.h"
#include "schedd/core/cycle/plan_check.h"
#include "schedd/core/queue/workload_class.h"
#include "schedd/engine/impl.h"
#include "schedd/engine/stand_ins_impl.h"
#include "schedd/telemetry/log.h"

namespace muster {
namespace {

constexpr std::size_t kVerdicts = 10'000;     // more classes than that wait without a shared reason
constexpr std::size_t kSweepAtOnce = 10'000;  // about 10 ms
constexpr std::int64_t kSweepEveryNs = 5 * kNanosPerSecond;

// Of all that no rule can tell apart: whatever their LocalQueue, unless that is the reason.
std::string GroupKey(const ConfigView& config, const JobRecord& job,
                     const AdmissionSettings& settings) {
  std::string key = "group " + job.cluster_queue + '\n';
  core::AppendSchedulingKey(config, job, settings, &key);
  return key;
}

std::string ClassKey(const ConfigView& config, const JobRecord& job,
                     const AdmissionSettings& settings) {
  std::string key = "class " + job.cluster_queue + '\n';
  core::AppendClassKey(config, job, settings, &key);
  return key;
}

// What was found of a workload that waits so is true of others too.
bool HoldsForOthers(core::RequeueReason reason) {
  return reason == core::RequeueReason::kNoFit ||
         reason == core::RequeueReason::kPreemptionNoCandidates ||
         reason == core::RequeueReason::kGated;
}

}  // namespace

core::Snapshot Engine::Impl::MakeSnapshot(const ConfigPtr& config, const Ledger& ledger,
                                          std::shared_ptr<const core::Holders> holders,
                                          std::vector<core::QueueHeads> heads) {
  core::Snapshot snapshot;
  snapshot.config = config;
  snapshot.settings = options.settings;
  snapshot.usage = ledger.usage();
  snapshot.holders = std::move(holders);
  snapshot.heads = std::move(heads);
  snapshot.clusters = ledger.Clusters(*config, facts);
  AddStarting(&snapshot.clusters);
  snapshot.placed = placed_jobs.Counts();
  snapshot.now = clock.WallNow();
  snapshot.cycle = decided_cycles;
  snapshot.pods_not_ready = !unready.empty();
  snapshot.local_usages = fair.Usages(*config);
  return snapshot;
}

bool Engine::Impl::Cycle() {
  fair.TellOrder(*live.config, &live.pending);
  const std::size_t room = CommitRoom();
  if ((!live.pending.HasActive() && !SecondPassDue()) || commits.size() >= CommitDepth() ||
      Resting() || room == 0 || configs_in_flight > 0 || tx.config != nullptr) {
    return false;
  }
  waits_for_pods = waits_for_pods && !unready.empty();
  if (waits_for_pods || !to_recheck.empty()) return false;
  const Monotonic begin = clock.Now();
  // Every queue gets a head, whatever its name: a total below the number of queues would starve the
  // last ones.
  const std::size_t queues = std::max<std::size_t>(live.config->cluster_queues.size(), 1);
  const std::size_t wanted = std::min(options.cycle_heads, room);
  const std::size_t per_queue = std::max<std::size_t>(wanted / queues, 1);
  auto heads = live.pending.Heads(per_queue, std::max(wanted, queues * per_queue));
  // Not owned: the snapshot ends before anything of the plan is carried out by another step.
  const std::shared_ptr<const core::Holders> holders(std::shared_ptr<void>(), &live.holders);
  RefreshMachines();
  core::Snapshot snapshot = MakeSnapshot(live.config, live.planned, holders, std::move(heads));
  snapshot.topology = machines;
  snapshot.second_pass = second_passes.TakeDue(snapshot.now);
  core::Plan plan;
  if (snapshot.clusters.empty()) {
    for (const JobPtr& job : snapshot.second_pass) OfferSecondPass(job);
    // Decide takes "no members" for "do not place"; here it means that nothing can run.
    for (const core::QueueHeads& queue : snapshot.heads) {
      for (const JobPtr& job : queue.jobs) {
        core::NotAdmitted waiting;
        waiting.job = job;
        waiting.reason = Reason::kNoMemberCluster;
        waiting.message = "no member cluster is declared";
        waiting.requeue = core::RequeueReason::kGated;
        plan.not_admitted.push_back(std::move(waiting));
      }
    }
  } else {
    core::CycleInput input;
    input.now = begin;
    input.seed = random.Next();
    input.budget.heads = options.cycle_heads;
    input.cache = &cycle_cache;
    plan = core::Decide(snapshot, input);
    decided_cycles += static_cast<std::int64_t>(plan.rounds);
    const std::vector<std::string> broken = core::CheckPlan(snapshot, plan);
    for (const std::string& sentence : broken)
      Log(LogLevel::kError, "engine", "plan_unsound", {{"err", sentence}});
    if (!broken.empty()) FlushLog();
    MUSTER_CHECK(broken.empty());
  }
  live.pending.Settle(plan, clock.WallNow());
  waits_for_pods = plan.wait_for_pods_ready;
  for (const core::Admit& admit : plan.admits) {
    if (admit.second_pass) {
      Complete(admit);
    } else {
      Admit(admit);
    }
  }
  for (const core::Eviction& eviction : plan.evictions) Evict(eviction);
  for (const core::NotAdmitted& waiting : plan.not_admitted) NoteWaiting(waiting);
  metrics.OnRecomputations(plan.recomputations);
  metrics.OnCycle(static_cast<double>(clock.Now() - begin) / static_cast<double>(kNanosPerSecond),
                  !plan.admits.empty());
  dirty = true;
  return true;
}

void Engine::Impl::NoteWaiting(const core::NotAdmitted& waiting) {
  NoteOpening(waiting);
  if (IsStandIn(waiting.job->id)) return stand_ins->Note(waiting);
  const auto found = live.jobs.find(waiting.job->id);
  if (found == live.jobs.end()) return;
  const JobPtr job = found->second;
  if (waiting.second_pass) {
    AddEvent("SecondPassFailed", job->id, ObjectName(*job), std::string(ReasonName(waiting.reason)),
             waiting.message);
    OfferSecondPass(job);
    return;
  }
  const WallTime at = clock.WallNow();
  const auto change = [&](const JobRecord& one) {
    auto draft = changes::Waiting(one, waiting.reason, waiting.message, *options.settings, at);
    if (draft != nullptr && waiting.preemption_gated) MarkPreemptionGated(draft.get(), at);
    return draft;
  };
  PutSoft(job, change, true);
  if (waiting.reason == Reason::kWaitingForCapacity) waits_for_room.insert(job->cluster_queue);
  if (!HoldsForOthers(waiting.requeue)) return;
  if (verdicts.size() >= kVerdicts) verdicts.clear();
  const bool of_class = waiting.requeue == core::RequeueReason::kGated;
  const auto [verdict, fresh] =
      verdicts.try_emplace(of_class ? ClassKey(*live.config, *job, *options.settings)
                                    : GroupKey(*live.config, *job, *options.settings));
  const bool other_reason = verdict->second.reason != waiting.reason;
  verdict->second.reason = waiting.reason;
  verdict->second.message = waiting.message;
  const Monotonic now = clock.Now();
  if (fresh || other_reason || now - verdict->second.swept >= kSweepEveryNs) {
    verdict->second.swept = now;
    to_sweep.push_back(job->id);
  }
}

// One class a call: what was found of its head is true of every member, and each of them says so.
void Engine::Impl::Sweep() {
  const JobId head = to_sweep.front();
  to_sweep.pop_front();
  const auto found = live.jobs.find(head);
  if (found == live.jobs.end()) return;
  const Verdict* verdict = VerdictOf(*found->second);
  if (verdict == nullptr) return;
  const Reason reason = verdict->reason;
  const std::string message = verdict->message;
  std::vector<JobPtr> members;
  live.pending.ForEachInClass(head, [&](const JobPtr& member) {
    if (members.size() >= kSweepAtOnce) return;
    const auto one = live.jobs.find(member->id);
    if (one != live.jobs.end() &&
        (one->second->reason != reason || one->second->message != message)) {
      members.push_back(one->second);
    }
  });
  for (const JobPtr& member : members) {
    PutSoft(
        member,
        [&](const JobRecord& one) {
          return changes::Waiting(one, reason, message, *options.settings, clock.WallNow());
        },
        false);
  }
  if (members.size() == kSweepAtOnce) to_sweep.push_front(head);
}

const Verdict* Engine::Impl::VerdictOf(const JobRecord& job) const {
  if (verdicts.empty()) return nullptr;
  auto found = verdicts.find(ClassKey(*live.config, job, *options.settings));
  if (found == verdicts.end())
    found = verdicts.find(GroupKey(*live.config, job, *options.settings));
  return found == verdicts.end() ? nullptr : &found->second;
}

void Engine::Impl::FlushAll() {
  verdicts.clear();
  waits_for_room.clear();
  live.pending.FlushAll(clock.WallNow());
}

// What waits in these queues may be helped by what has changed.
void Engine::Impl::WakeQueues(const QueueNames& names) {
  if (names.empty()) return;
  verdicts.clear();
  for (const std::string& name : names) waits_for_room.erase(name);
  live.pending.Flush({names.begin(), names.end()}, clock.WallNow());
}

void Engine::Impl::WakeTreeAfterCommit(const std::string& cluster_queue) {
  AddTree({*live.config, live.planned.usage().tree()}, cluster_queue, &tx.wakes);
}

// Quota came free in some queues: everything under the same root cohorts may now fit; and room
// came free on a member, for which jobs of any tree may wait.
void Engine::Impl::FlushReleased() {
  if (released.empty()) return;
  const core::QuotaTree& tree = live.planned.usage().tree();
  std::set<core::NodeIndex> roots;
  for (const std::string& name : released) {
    const core::NodeIndex queue = tree.ClusterQueueIndex(name);
    if (queue >= 0) roots.insert(tree.node(queue).root);
  }
  std::vector<std::string> names(waits_for_room.begin(), waits_for_room.end());
  waits_for_room.clear();
  for (const auto& [name, one] : live.config->cluster_queues) {
    const core::NodeIndex queue = tree.ClusterQueueIndex(name);
    if (queue >= 0 && roots.contains(tree.node(queue).root)) names.push_back(name);
  }
  for (const std::string& name : released) live.pending.NoteRelease(name);
  released.clear();
  live.pending.Flush(names, clock.WallNow());
}

}  // namespace muster
