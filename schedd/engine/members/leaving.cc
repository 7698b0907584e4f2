// Drains and taints (rule P32) by looks. A look is taken once a second while a member is draining
// or has a NoExecute taint, or an eviction object is open. In this order it counts jobs for the
// disruption budgets (rule P31), follows taints, judges eviction objects (eviction_objects.cc), and
// drains. It sends away kSentAtOnce jobs at most and follows itself at once if more are left. Each
// look derives everything from objects, records and rows, so a crash between two looks loses
// nothing.
//
// A drain (muster.io/draining beside muster.io/cordoned) evicts as fast as the budgets allow
// (ClusterDrained); a job that may not be requeued is waited for, unless the drain is forced. A
// NoExecute taint asks no budget, as in Kubernetes, and ends jobs that may not be requeued
// (ClusterTainted); `timeAdded` was stamped when the taint was written, so tolerationSeconds go on
// over a restart. A job on a member that does not answer is left to its queue's policy (rule D16).
// Jobs that a budget blocks are named in the drain's progress and tried again by the next look.
#include "schedd/engine/members/leaving.h"

#include <algorithm>

#include "schedd/engine/members/rebalancing.h"

namespace muster {
namespace {

constexpr std::int64_t kLookEveryNs = kNanosPerSecond;
// The jobs that one look sends away; the next look follows at once.
constexpr std::size_t kSentAtOnce = 256;
constexpr std::size_t kReasonsShown = 10;

// Adds why a job stays; the first kReasonsShown are enough for a user.
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

// Finds what there is to do under the new configuration, and looks at once, at reserved jobs too.
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

// The earlier of the next look and of the next step of rebalancing.
std::optional<Monotonic> Leaving::Next() const {
  const auto look = NextLook(), rebalance = rebalancing_->Next();
  if (!look || !rebalance) return look ? look : rebalance;
  return std::min(*look, *rebalance);
}

// Nullopt while nothing has to leave: then looks cost nothing.
std::optional<Monotonic> Leaving::NextLook() const {
  if (leaving_members_.empty() && evictions_.empty()) return std::nullopt;
  return next_;
}

DrainProgress Leaving::ProgressOf(const std::string& cluster) const {
  const auto found = progress_.find(cluster);
  return found == progress_.end() ? DrainProgress{} : found->second;
}

// The answer is called after the commit, when the first look has filled `progress`.
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

// True if anything was done. The budgets are shared by all parts of one look, so together they take
// no more than is allowed.
bool Leaving::Look() {
  next_ = context_.clock.Now() + kLookEveryNs;
  sent_ = 0;
  progress_.clear();
  // Kept: the status of an eviction object is an edit, which replaces the live configuration.
  const ConfigPtr config = config_.view();
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

// Evicted, cancelled or being deleted.
bool Leaving::IsLeaving(const JobRecord& job) const {
  return IsTrue(job, "Evicted") || changes::IsCancelling(job);
}

// Counts as available for a budget (rule P31).
bool Leaving::IsAvailable(const JobRecord& job) const {
  return job.state == JobState::kRunning && !IsLeaving(job) && !members_.IsOnLostMember(job);
}

// Without budgets no job has to be counted.
void Leaving::CountJobs(core::Disruptions* budgets) const {
  if (!budgets->needs_count()) return;
  for (const auto& [id, job] : jobs_.all()) {
    if (core::CountsForBudget(*job)) budgets->Count(*job, IsAvailable(*job));
  }
}

// The jobs that hold quota on these members, in id order. Usually they are found by the rows of
// attempts. Reserved jobs have no row and are found only among all jobs; that is done once after a
// change of the configuration, because no further job is reserved on a member that is cordoned or
// tainted.
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

// Every departure is an eviction: the quota is held until the pods are gone.
void Leaving::Send(const JobPtr& job, Reason reason, const std::string& message) {
  ++sent_;
  attempts_.EvictFor(job, reason, {std::string(ReasonName(reason)), "", message});
}

// Asks no budget, but counts the jobs that go as gone, so that a drain in the same look takes
// fewer.
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
    // A job on a member that does not answer is left to its queue's policy.
    if (IsLeaving(*job) || (IsDispatched(job->state) && members_.IsOnLostMember(*job))) continue;
    const auto driven = core::DrivenAway(config, *job, config.member_clusters.at(job->cluster));
    if (!driven || driven->at > now) continue;
    if (IsAvailable(*job)) {
      if (const auto key = core::GovernorOf(config, *job)) budgets->Gone(*key);
    }
    Send(job, Reason::kClusterTainted, driven->message);
  }
}

// Progress is kept for each draining member, also if nothing is left there.
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
    // A taint may have sent it away in this look.
    const JobPtr now = jobs_.Find(id);
    if (now != nullptr && HoldsQuota(now->state)) DrainOne(config, now, budgets);
  }
}

// One job of a draining member: it leaves, or its member's progress says why not. Only a job that
// runs asks the budget of its placement.
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
      // The next look, which follows at once, evicts it.
      progress.evicting += 1;
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
