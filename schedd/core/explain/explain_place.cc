// Explain: the jobs before a job in its queues, whether one of them holds the others up, and what
// decides between member clusters.
#include <algorithm>
#include <map>

#include "schedd/base/limits.h"
#include "schedd/core/explain/explain_parts.h"
#include "schedd/core/member/member_fit.h"
#include "schedd/core/plan/requeue.h"
#include "schedd/core/queue/queue_entry.h"
#include "schedd/core/queue/queue_order.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster::core {
namespace {

// The order of one ClusterQueue (rule A12), from records alone: explain has no PendingQueues.
class QueueOrder {
 public:
  QueueOrder(const Snapshot& snapshot, const ClusterQueue& queue)
      : settings_(*snapshot.settings),
        usages_(queue.usage_based ? snapshot.local_usages.get() : nullptr),
        sticky_(queue.strategy == QueueingStrategy::kBestEffortFifo) {
    for (const auto& [name, local] : snapshot.config->local_queues) {
      if (local.partition.tier != 1) tiers_.emplace(name, local.partition.tier);
    }
  }

  // True if the job waits for its victims: then its queue tries it before all others (rule A13).
  bool Sticks(const JobRecord& job) const {
    return sticky_ && job.reason == Reason::kWaitingForPreemptedWorkloads;
  }
  // True if `a` comes before `b`.
  bool operator()(const JobPtr& a, const JobPtr& b) const {
    const double left = UsageOf(*a);
    const double right = UsageOf(*b);
    if (left != right) return left < right;
    if (Sticks(*a) != Sticks(*b)) return Sticks(*a);
    if (const std::int32_t first = Tier(*a), second = Tier(*b); first != second)
      return first > second;
    return Before(*a, *b, settings_);
  }

 private:
  // 0 in a queue that does not order by usage, so that all are equal.
  double UsageOf(const JobRecord& job) const {
    if (usages_ == nullptr) return 0;
    const auto found = usages_->find({job.ns, job.local_queue});
    return found == usages_->end() ? 0 : found->second;
  }

  std::int32_t Tier(const JobRecord& job) const {
    if (tiers_.empty()) return 1;
    const auto found = tiers_.find({job.ns, job.local_queue});
    return found == tiers_.end() ? 1 : found->second;
  }

  const AdmissionSettings& settings_;
  const LocalQueueUsages* usages_;
  const bool sticky_;
  // Of LocalQueues whose tier is not 1.
  std::map<std::pair<std::string, std::string>, std::int32_t> tiers_;
};

// True if the job may be in its queue and is not in a back-off.
bool MayBeTried(const Snapshot& snapshot, const JobRecord& job) {
  return CheckEntry(*snapshot.config, *snapshot.settings, job) == QueueEntry::kEnters &&
         BackoffExpired(job, snapshot.now);
}

std::string BlockedText(const ClusterQueue& queue, const JobRecord& blocker, bool sticks) {
  std::string text = "ClusterQueue " + queue.name;
  text += sticks ? " tries " + MentionOf(blocker) +
                       " before all others until the workloads that it preempted are gone"
                 : " is StrictFIFO: " + MentionOf(blocker) + " must start or leave first";
  if (!sticks && !blocker.message.empty()) text += "; it waits: " + blocker.message;
  return text;
}

}  // namespace

void SayPlacement(const Snapshot& snapshot, const JobRecord& job, Explanation* explanation) {
  const auto say = [&](std::string text) { explanation->facts.push_back(std::move(text)); };
  const PlacementAsk ask = AskOf(*snapshot.config, *snapshot.settings, job, snapshot.now);
  if (ask.placement != nullptr) say("it goes by " + MentionOf(*ask.placement));
  if (ask.own != nullptr && !ask.own->cluster.empty()) {
    say("it is pinned to member cluster " + ask.own->cluster);
  }
  if (ask.own != nullptr && !ask.own->datasets.empty()) {
    std::string names;
    for (const auto& dataset : ask.own->datasets) names += (names.empty() ? "" : ", ") + dataset;
    say(std::string(ask.own->datasets_required ? "it needs" : "it prefers") + " datasets " + names);
  }
  if (!ask.obstacle.empty()) say(ask.obstacle);
  for (const AvoidedCluster& avoided : ask.avoided) {
    if (HoldsQuota(job.state)) continue;
    say("it avoids member cluster " + avoided.cluster +
        ", where an earlier attempt did not start, " + "until " +
        TimeText(avoided.until, snapshot.now));
  }
  const Condition* placed = FindCondition(job, "Placed");
  if (placed != nullptr && placed->status && HoldsQuota(job.state)) say(placed->message);
}

// With the verdicts of all members, not only the choice.
std::vector<ClusterVerdict> CompareMembers(const Snapshot& snapshot, const JobRecord& job,
                                           const Admission* admission) {
  if (snapshot.clusters.empty() || job.pod_sets == nullptr) return {};
  const PlacementAsk ask = AskOf(*snapshot.config, *snapshot.settings, job, snapshot.now);
  PlacementDemand demand;
  demand.pod_sets = job.pod_sets.get();
  demand.admission = admission;
  demand.ask = &ask;
  demand.placed = snapshot.placed.get();
  demand.kind = KindOnMember(job);
  demand.job_uid = job.uid;
  return Place(*snapshot.config, snapshot.clusters, demand, true).verdicts;
}

// Counts the jobs before this one, sorts only the few that are shown, and names the blocker: the
// first job of a StrictFIFO queue, or a sticky preemptor.
QueuePlace PlaceInQueue(const ExplainInput& input) {
  QueuePlace place;
  const JobRecord& job = *input.job;
  const auto queue = input.snapshot.config->cluster_queues.find(job.cluster_queue);
  if (queue == input.snapshot.config->cluster_queues.end() || !MayBeTried(input.snapshot, job))
    return place;
  const QueueOrder before(input.snapshot, queue->second);
  std::vector<JobPtr> ahead;
  for (const JobPtr& other : input.waiting) {
    if (other->cluster_queue != job.cluster_queue) continue;
    // The job itself counts as waiting, but not as one before itself.
    const bool self = other->id == job.id;
    if (!self && !MayBeTried(input.snapshot, *other)) continue;
    const bool same_local = other->ns == job.ns && other->local_queue == job.local_queue;
    ++place.waiting;
    if (same_local) ++place.local_waiting;
    if (self || !before(other, input.job)) continue;
    ahead.push_back(other);
    if (same_local) ++place.local_position;
  }
  place.position = ahead.size() + 1;
  ++place.local_position;
  const std::size_t shown = std::min(ahead.size(), limits::kExplainNames);
  std::partial_sort(ahead.begin(), ahead.begin() + static_cast<std::ptrdiff_t>(shown), ahead.end(),
                    before);
  ahead.resize(shown);
  place.ahead = std::move(ahead);
  if (place.ahead.empty()) return place;
  const JobPtr& first = place.ahead.front();
  const bool sticks = before.Sticks(*first);
  // In a BestEffortFIFO queue the first job holds nobody up.
  if (!sticks && queue->second.strategy != QueueingStrategy::kStrictFifo) return place;
  place.blocker = first;
  place.blocked = BlockedText(queue->second, *first, sticks);
  return place;
}

std::vector<JobPtr> OrderOfQueue(const Snapshot& snapshot, const std::string& cluster_queue,
                                 const std::vector<JobPtr>& waiting, std::size_t many) {
  std::vector<JobPtr> order;
  const auto queue = snapshot.config->cluster_queues.find(cluster_queue);
  if (queue == snapshot.config->cluster_queues.end()) return order;
  for (const JobPtr& job : waiting) {
    if (job->cluster_queue == cluster_queue && MayBeTried(snapshot, *job)) order.push_back(job);
  }
  const auto sorted = static_cast<std::ptrdiff_t>(std::min(many, order.size()));
  std::partial_sort(order.begin(), order.begin() + sorted, order.end(),
                    QueueOrder(snapshot, queue->second));
  return order;
}

}  // namespace muster::core
