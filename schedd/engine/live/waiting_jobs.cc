// Verdicts spare the cycles the work of looking at each of many equal jobs: what was found of one
// head holds for its whole group (all jobs of the ClusterQueue that no rule can tell apart, rule
// A16), or only for its class where the reason is its LocalQueue's or its own gate.
#include "schedd/engine/live/waiting_jobs.h"

#include "schedd/core/queue/workload_class.h"

namespace muster {
namespace {

// With more classes than this at once they wait without a shared reason.
constexpr std::size_t kVerdicts = 10'000;
constexpr std::int64_t kSweepEveryNs = 5 * kNanosPerSecond;

// What was found of a workload that waits for this reason is true of others too.
bool HoldsForOthers(core::RequeueReason reason) {
  return reason == core::RequeueReason::kNoFit ||
         reason == core::RequeueReason::kPreemptionNoCandidates ||
         reason == core::RequeueReason::kGated;
}

}  // namespace

void WaitingJobs::Reset(const core::QuotaTreePtr& tree) {
  queues_ = core::PendingQueues();
  verdicts_.clear();
  released_.clear();
  waits_for_room_.clear();
  queues_.Configure(config_.view(), tree, context_.options.settings);
}

void WaitingJobs::Requeue(const JobPtr& job) {
  Remove(job->id);
  Add(job);
}

std::string WaitingJobs::GroupKey(const JobRecord& job) const {
  std::string key = "group " + job.cluster_queue + '\n';
  core::AppendSchedulingKey(*config_.view(), job, context_.settings(), &key);
  return key;
}

std::string WaitingJobs::ClassKey(const JobRecord& job) const {
  std::string key = "class " + job.cluster_queue + '\n';
  core::AppendClassKey(*config_.view(), job, context_.settings(), &key);
  return key;
}

const Verdict* WaitingJobs::VerdictOf(const JobRecord& job) const {
  if (verdicts_.empty()) return nullptr;
  auto found = verdicts_.find(ClassKey(job));
  if (found == verdicts_.end()) found = verdicts_.find(GroupKey(job));
  return found == verdicts_.end() ? nullptr : &found->second;
}

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

void WaitingJobs::Wake(const QueueNames& names) {
  if (names.empty()) return;
  // `names` may be `waits_for_room_` itself.
  const std::vector<std::string> woken(names.begin(), names.end());
  verdicts_.clear();
  for (const std::string& name : woken) waits_for_room_.erase(name);
  queues_.Flush(woken, context_.clock.WallNow());
}

void WaitingJobs::FlushReleased(const core::QuotaTree& tree) {
  if (released_.empty()) return;
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
