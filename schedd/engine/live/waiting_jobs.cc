// The queues of waiting jobs, and two things that spare cycles work.
//
// Verdicts: many waiting jobs are equal (rule A14), and a cycle looks at one of them. What it found
// holds for the whole group, that is, all jobs of the ClusterQueue that no rule can tell apart; or
// only for the class (the group within one LocalQueue) where the reason is the LocalQueue's or the
// namespace's own gate (rule A19). The others get the same reason without being looked at
// (Decider::Sweep), and so do newcomers. Any wake forgets all verdicts, because it may have made
// them wrong.
//
// Wakes: a parked job is tried again only when something may have helped it (rule A16). Quota that
// came free is collected during a step (NoteReleased) and wakes once (FlushReleased), all queues
// under the same root cohorts. Jobs that lack room on a member wait for any holder's end in any
// tree; their queues are remembered by name (`waits_for_room_`).
#include "schedd/engine/live/waiting_jobs.h"

#include "schedd/base/fault_points.h"
#include "schedd/core/queue/workload_class.h"

namespace muster {
namespace {

// Bounds memory: with more classes than this at once all verdicts are forgotten.
constexpr std::size_t kVerdicts = 10'000;
// The same reason with other numbers is told to the equals this often at most.
constexpr std::int64_t kSweepEveryNs = 5 * kNanosPerSecond;

// True if the reason follows from what equal workloads have in common. Other reasons are one
// workload's own: it lost a race, or waits for its victims.
bool HoldsForOthers(core::RequeueReason reason) {
  return reason == core::RequeueReason::kNoFit ||
         reason == core::RequeueReason::kPreemptionNoCandidates ||
         reason == core::RequeueReason::kGated;
}

}  // namespace

// The order of the queues comes from the configuration and the settings; jobs are added by
// LiveJobs::Enter.
void WaitingJobs::Reset(const core::QuotaTreePtr& tree) {
  queues_ = core::PendingQueues();
  verdicts_.clear();
  released_.clear();
  waits_for_room_.clear();
  untold_.clear();
  queues_.Configure(config_.view(), tree, context_.options.settings);
}

// A job that comes into a parked class is parked with it, so no cycle tells it why it waits.
void WaitingJobs::Add(const JobPtr& job) {
  queues_.Add(job, context_.clock.WallNow());
  if (job->reason == Reason::kPendingEvaluation && VerdictOf(*job) != nullptr)
    untold_.insert(job->id);
}

// One whose class was woken meanwhile is looked at again anyway, and has no verdict.
std::optional<JobId> WaitingJobs::TakeUntold() {
  if (untold_.empty()) return std::nullopt;
  return untold_.extract(untold_.begin()).value();
}

void WaitingJobs::Requeue(const JobPtr& job) {
  Remove(job->id);
  Add(job);
}

// The key of all jobs of the ClusterQueue that no rule can tell apart.
std::string WaitingJobs::GroupKey(const JobRecord& job) const {
  std::string key = "group " + job.cluster_queue + '\n';
  core::AppendSchedulingKey(*config_.view(), job, context_.settings(), &key);
  return key;
}

// The key of those of the group that are also of the same namespace and LocalQueue.
std::string WaitingJobs::ClassKey(const JobRecord& job) const {
  std::string key = "class " + job.cluster_queue + '\n';
  core::AppendClassKey(*config_.view(), job, context_.settings(), &key);
  return key;
}

// The verdict about the smaller set comes first: a gate of the LocalQueue keeps the job out before
// any quota is looked at.
const Verdict* WaitingJobs::VerdictOf(const JobRecord& job) const {
  if (verdicts_.empty()) return nullptr;
  auto found = verdicts_.find(ClassKey(job));
  if (found == verdicts_.end()) found = verdicts_.find(GroupKey(job));
  return found == verdicts_.end() ? nullptr : &found->second;
}

// The message is always taken over, for newcomers; the equals are told again only if the reason
// differs or kSweepEveryNs is over.
bool WaitingJobs::NoteVerdict(const JobRecord& job, const core::UnadmittedWorkload& waiting) {
  if (!HoldsForOthers(waiting.requeue)) return false;
  if (verdicts_.size() >= kVerdicts) verdicts_.clear();
  const bool of_class = waiting.requeue == core::RequeueReason::kGated;
  const auto [verdict, fresh] = verdicts_.try_emplace(of_class ? ClassKey(job) : GroupKey(job));
  const bool other_reason = verdict->second.reason != waiting.reason;
  verdict->second.reason = waiting.reason;
  verdict->second.message = waiting.message;
  const Monotonic now = context_.clock.Now();
  if (!fresh && !other_reason && now - verdict->second.swept < kSweepEveryNs) return false;
  verdict->second.swept = now;
  return true;
}

void WaitingJobs::FlushAll() {
  verdicts_.clear();
  waits_for_room_.clear();
  queues_.FlushAll(context_.clock.WallNow());
}

// Also takes the names out of `waits_for_room_`: their jobs are tried again and note anew what they
// lack.
void WaitingJobs::Wake(const QueueNames& names) {
  if (names.empty()) return;
  // A copy: `names` may be `waits_for_room_` itself.
  const std::vector<std::string> woken(names.begin(), names.end());
  verdicts_.clear();
  for (const std::string& name : woken) waits_for_room_.erase(name);
  queues_.Flush(woken, context_.clock.WallNow());
}

// Called once a step, before the cycle. A name of a queue that has been removed since wakes
// nothing. Flavor searches that began before the release may start over (NoteRelease, rule A20).
void WaitingJobs::FlushReleased(const core::QuotaTree& tree) {
  if (released_.empty() || MUSTER_PLANTED(lost_wake_up)) return;
  std::set<core::NodeIndex> roots;
  for (const std::string& name : released_) {
    const core::NodeIndex queue = tree.ClusterQueueIndex(name);
    if (queue >= 0) roots.insert(tree.node(queue).root);
  }
  std::vector<std::string> names(waits_for_room_.begin(), waits_for_room_.end());
  waits_for_room_.clear();
  for (const auto& [name, one] : config_.view()->cluster_queues) {
    const core::NodeIndex queue = tree.ClusterQueueIndex(name);
    if (queue >= 0 && roots.contains(tree.node(queue).root)) names.push_back(name);
  }
  for (const std::string& name : released_) queues_.NoteRelease(name);
  released_.clear();
  queues_.Flush(names, context_.clock.WallNow());
}

}  // namespace muster
