// Who leaves a member that is drained or has a taint NoExecute, as fast as disruption budgets
// allow.
#include <algorithm>

#include "schedd/engine/rebalancing_impl.h"

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

Engine::Impl::Leaving::Leaving(Impl& engine_in)
    : engine(engine_in), rebalancing_(std::make_unique<Rebalancing>(*this)) {}

Engine::Impl::Leaving::~Leaving() = default;

void Engine::Impl::Leaving::Configure() {
  rebalancing_->Configure();
  members_.clear();
  evictions_.clear();
  progress_.clear();
  for (const auto& [name, member] : engine.live.config->member_clusters) {
    if (member.draining || core::DrivesAway(member)) members_.insert(name);
  }
  for (const auto& [key, eviction] : engine.live.config->placement_evictions) {
    if (!eviction.over) evictions_.insert(key);
  }
  reserved_too_ = true;
  next_ = engine.clock.Now();
}

std::optional<Monotonic> Engine::Impl::Leaving::Next() const {
  const auto look = NextLook(), rebalance = rebalancing_->Next();
  if (!look || !rebalance) return look ? look : rebalance;
  return std::min(*look, *rebalance);
}

std::optional<Monotonic> Engine::Impl::Leaving::NextLook() const {
  if (members_.empty() && evictions_.empty()) return std::nullopt;
  return next_;
}

DrainProgress Engine::Impl::Leaving::ProgressOf(const std::string& cluster) const {
  const auto found = progress_.find(cluster);
  return found == progress_.end() ? DrainProgress{} : found->second;
}

bool Engine::Impl::Leaving::Fire() {
  const bool moved = rebalancing_->Fire();
  const auto due = NextLook();
  return (due && engine.clock.Now() >= *due && Look()) || moved;
}

bool Engine::Impl::Leaving::Look() {
  next_ = engine.clock.Now() + kLookEveryNs;
  sent_ = 0;
  progress_.clear();
  const ConfigPtr config = engine.live.config;  // what is done here may change it
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
  if (sent_ >= kSentAtOnce) next_ = engine.clock.Now();
  return sent_ > 0 || !open.empty();
}

bool Engine::Impl::Leaving::IsLeaving(const JobRecord& job) const {
  return IsTrue(job, "Evicted") || changes::IsCancelling(job);
}

bool Engine::Impl::Leaving::IsAvailable(const JobRecord& job) const {
  return job.state == JobState::kRunning && !IsLeaving(job) && !engine.IsOnLostMember(job);
}

void Engine::Impl::Leaving::CountJobs(core::Disruptions* budgets) const {
  if (!budgets->needs_count()) return;
  for (const auto& [id, job] : engine.live.jobs) {
    if (core::CountsForBudget(*job)) budgets->Count(*job, IsAvailable(*job));
  }
}

// What holds quota there. Jobs without an attempt are found only among all jobs, and none follow
// on a member that takes none.
Engine::Impl::Leaving::Jobs Engine::Impl::Leaving::JobsOn(
    const std::set<std::string>& clusters) const {
  Jobs found;
  const auto offer = [&](const JobPtr& job) {
    if (HoldsQuota(job->state) && clusters.contains(job->cluster)) found[job->id] = job;
  };
  if (reserved_too_) {
    for (const auto& [id, job] : engine.live.jobs) offer(job);
    return found;
  }
  for (const auto& [key, row] : engine.live.dispatches) {
    if (!clusters.contains(key.cluster)) continue;
    const auto job = engine.live.jobs.find(row.job);
    if (job != engine.live.jobs.end()) offer(job->second);
  }
  return found;
}

void Engine::Impl::Leaving::Send(const JobPtr& job, Reason reason, const std::string& message) {
  ++sent_;
  engine.EvictFor(job, reason, {std::string(ReasonName(reason)), "", message});
}

// As in Kubernetes, a taint asks no budget.
void Engine::Impl::Leaving::FollowTaints(const ConfigView& config, core::Disruptions* budgets) {
  std::set<std::string> tainted;
  for (const std::string& name : members_) {
    const auto member = config.member_clusters.find(name);
    if (member != config.member_clusters.end() && core::DrivesAway(member->second))
      tainted.insert(name);
  }
  if (tainted.empty()) return;
  const WallTime now = engine.clock.WallNow();
  for (const auto& [id, job] : JobsOn(tainted)) {
    if (sent_ >= kSentAtOnce) return;
    // What does not answer is its queue's to decide.
    if (IsLeaving(*job) || (IsDispatched(job->state) && engine.IsOnLostMember(*job))) continue;
    const auto driven = core::DrivenAway(config, *job, config.member_clusters.at(job->cluster));
    if (!driven || driven->at > now) continue;
    if (IsAvailable(*job)) {
      if (const auto key = core::GovernorOf(config, *job)) budgets->Gone(*key);
    }
    Send(job, Reason::kClusterTainted, driven->message);
  }
}

void Engine::Impl::Leaving::Drain(const ConfigView& config, core::Disruptions* budgets) {
  std::set<std::string> drained;
  for (const std::string& name : members_) {
    const auto member = config.member_clusters.find(name);
    if (member == config.member_clusters.end() || !member->second.draining) continue;
    drained.insert(name);
    progress_[name];
  }
  if (drained.empty()) return;
  for (const auto& [id, job] : JobsOn(drained)) {
    const auto now = engine.live.jobs.find(id);  // a taint may have sent it away
    if (now != engine.live.jobs.end() && HoldsQuota(now->second->state))
      DrainOne(config, now->second, budgets);
  }
}

void Engine::Impl::Leaving::DrainOne(const ConfigView& config, const JobPtr& job,
                                     core::Disruptions* budgets) {
  DrainProgress& progress = progress_.at(job->cluster);
  const bool runs = IsDispatched(job->state);
  if (IsLeaving(*job)) {
    progress.evicting += 1;
  } else if (runs && engine.IsOnLostMember(*job)) {
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
