// Drains and taints (rules P30 to P32). A look goes over the jobs of drained and tainted members in
// id order and sends away as many as the disruption budgets allow, at most kSentAtOnce.
//
// A drain (muster.io/draining beside muster.io/cordoned) evicts as fast as the budgets allow
// (ClusterDrained); jobs that may not be requeued are waited for unless it is forced. A NoExecute
// taint asks no budget, as in Kubernetes, and ends jobs that may not be requeued (ClusterTainted);
// its timeAdded is stamped when it is written, so tolerationSeconds go on over a restart. A job on
// a member that does not answer is left to its queue's policy. A budget counts the jobs of its
// placement that run, start, or ran and wait to run again; available are those that run, and jobs
// that do not run bypass it. What a budget blocks is told in the drain's progress and tried again
// by the next look.
#include "schedd/engine/members/leaving.h"

#include <algorithm>

#include "schedd/engine/members/rebalancing.h"

namespace muster {
namespace {

constexpr std::int64_t kLookEveryNs = kNanosPerSecond;
constexpr std::size_t kSentAtOnce = 256;  // by one look; the next one follows at once
constexpr std::size_t kReasonsShown = 10;

void Say(DrainProgress* progress, const JobRecord& job, const std::string& why) {
  if (progress->reasons.size() < kReasonsShown)
    progress->reasons.push_back("job " + std::to_string(job.id.value) + ": " + why);
}

}  // namespace

Leaving::Leaving(EngineContext& context, const LiveConfig& config, const KnownMembers& members,
                 LiveJobs& jobs, const DispatchRows& rows, Attempts& attempts, const Works& works,
                 Configuration& configuration)
    : context_(context),
      config_(config),
      members_(members),
      jobs_(jobs),
      rows_(rows),
      attempts_(attempts),
      works_(works),
      configuration_(configuration),
      rebalancing_(std::make_unique<Rebalancing>(context, config, jobs, *this)) {}

Leaving::~Leaving() = default;

void Leaving::Configure() {
  rebalancing_->Configure();
  leaving_members_.clear();
  evictions_.clear();
  progress_.clear();
  for (const auto& [name, member] : config_.view()->member_clusters) {
    if (member.draining || core::DrivesAway(member)) leaving_members_.insert(name);
  }
  for (const auto& [key, eviction] : config_.view()->placement_evictions) {
    if (!eviction.over) evictions_.insert(key);
  }
  reserved_too_ = true;
  next_ = context_.clock.Now();
}

std::optional<Monotonic> Leaving::Next() const {
  const auto look = NextLook(), rebalance = rebalancing_->Next();
  if (!look || !rebalance) return look ? look : rebalance;
  return std::min(*look, *rebalance);
}

std::optional<Monotonic> Leaving::NextLook() const {
  if (leaving_members_.empty() && evictions_.empty()) return std::nullopt;
  return next_;
}

DrainProgress Leaving::ProgressOf(const std::string& cluster) const {
  const auto found = progress_.find(cluster);
  return found == progress_.end() ? DrainProgress{} : found->second;
}

void Leaving::Handle(DrainCommand command) {
  auto progress = std::make_shared<DrainProgress>();
  configuration_.EditDrain(
      command, [progress, done = std::move(command.done)](const Result<ObjectPtr>& member) {
        if (!member.ok()) return done(member.error());
        done(*progress);
      });
  Look();
  *progress = ProgressOf(command.cluster);
}

bool Leaving::Fire() {
  const bool moved = rebalancing_->Fire();
  const auto due = NextLook();
  return (due && context_.clock.Now() >= *due && Look()) || moved;
}

bool Leaving::Look() {
  next_ = context_.clock.Now() + kLookEveryNs;
  sent_ = 0;
  progress_.clear();
  const ConfigPtr config = config_.view();  // what is done here may change it
  core::Disruptions budgets(*config);
  CountJobs(&budgets);
  FollowTaints(*config, &budgets);
  const auto open = evictions_;
  for (const auto& key : open) {
    const auto eviction = config->placement_evictions.find(key);
    if (eviction != config->placement_evictions.end()) CarryOut(*config, *eviction, &budgets);
  }
  Drain(*config, &budgets);
  reserved_too_ = sent_ >= kSentAtOnce;
  if (sent_ >= kSentAtOnce) next_ = context_.clock.Now();
  return sent_ > 0 || !open.empty();
}

bool Leaving::IsLeaving(const JobRecord& job) const {
  return IsTrue(job, "Evicted") || changes::IsCancelling(job);
}

bool Leaving::IsAvailable(const JobRecord& job) const {
  return job.state == JobState::kRunning && !IsLeaving(job) && !members_.IsOnLostMember(job);
}

void Leaving::CountJobs(core::Disruptions* budgets) const {
  if (!budgets->needs_count()) return;
  for (const auto& [id, job] : jobs_.all()) {
    if (core::CountsForBudget(*job)) budgets->Count(*job, IsAvailable(*job));
  }
}

// What holds quota there. Jobs without an attempt are found only among all jobs, and none follow
// on a member that takes none.
Leaving::Jobs Leaving::JobsOn(const std::set<std::string>& clusters) const {
  Jobs found;
  const auto offer = [&](const JobPtr& job) {
    if (HoldsQuota(job->state) && clusters.contains(job->cluster)) found[job->id] = job;
  };
  if (reserved_too_) {
    for (const auto& [id, job] : jobs_.all()) offer(job);
    return found;
  }
  for (const auto& [key, row] : rows_.all()) {
    if (!clusters.contains(key.cluster)) continue;
    if (const JobPtr job = jobs_.Find(row.job); job != nullptr) offer(job);
  }
  return found;
}

void Leaving::Send(const JobPtr& job, Reason reason, const std::string& message) {
  ++sent_;
  attempts_.EvictFor(job, reason, {std::string(ReasonName(reason)), "", message});
}

// As in Kubernetes, a taint asks no budget.
void Leaving::FollowTaints(const ConfigView& config, core::Disruptions* budgets) {
  std::set<std::string> tainted;
  for (const std::string& name : leaving_members_) {
    const auto member = config.member_clusters.find(name);
    if (member != config.member_clusters.end() && core::DrivesAway(member->second))
      tainted.insert(name);
  }
  if (tainted.empty()) return;
  const WallTime now = context_.clock.WallNow();
  for (const auto& [id, job] : JobsOn(tainted)) {
    if (sent_ >= kSentAtOnce) return;
    // What does not answer is its queue's to decide.
    if (IsLeaving(*job) || (IsDispatched(job->state) && members_.IsOnLostMember(*job))) continue;
    const auto driven = core::DrivenAway(config, *job, config.member_clusters.at(job->cluster));
    if (!driven || driven->at > now) continue;
    if (IsAvailable(*job)) {
      if (const auto key = core::GovernorOf(config, *job)) budgets->Gone(*key);
    }
    Send(job, Reason::kClusterTainted, driven->message);
  }
}

void Leaving::Drain(const ConfigView& config, core::Disruptions* budgets) {
  std::set<std::string> drained;
  for (const std::string& name : leaving_members_) {
    const auto member = config.member_clusters.find(name);
    if (member == config.member_clusters.end() || !member->second.draining) continue;
    drained.insert(name);
    progress_[name];
  }
  if (drained.empty()) return;
  for (const auto& [id, job] : JobsOn(drained)) {
    const JobPtr now = jobs_.Find(id);  // a taint may have sent it away
    if (now != nullptr && HoldsQuota(now->state)) DrainOne(config, now, budgets);
  }
}

void Leaving::DrainOne(const ConfigView& config, const JobPtr& job, core::Disruptions* budgets) {
  DrainProgress& progress = progress_.at(job->cluster);
  const bool runs = IsDispatched(job->state);
  if (IsLeaving(*job)) {
    progress.evicting += 1;
  } else if (runs && members_.IsOnLostMember(*job)) {
    progress.waiting += 1;
    Say(&progress, *job, "member cluster " + job->cluster + " does not answer");
  } else if (runs && !MayRequeue(*job) && !config.member_clusters.at(job->cluster).drain_forced) {
    progress.waiting += 1;
    Say(&progress, *job, "it may not be requeued, so its end is waited for");
  } else {
    const auto key = IsAvailable(*job) ? core::GovernorOf(config, *job) : std::nullopt;
    if (sent_ >= kSentAtOnce) {
      progress.evicting += 1;  // by the next look, which follows at once
    } else if (key && !budgets->Take(*key, 1)) {
      progress.blocked += 1;
      Say(&progress, *job, budgets->WhyBlocked(*key));
    } else {
      progress.evicting += 1;
      Send(job, Reason::kClusterDrained, "member cluster " + job->cluster + " is drained");
    }
  }
}

}  // namespace muster
