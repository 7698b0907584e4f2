#include <algorithm>

#include "schedd/engine/rebalancing_impl.h"

namespace muster {
namespace {

constexpr std::size_t kTriedAtOnce = 16;                    // a few milliseconds
constexpr std::int64_t kStepEveryNs = 50 * kNanosPerMilli;  // decisions go on in between
constexpr std::int64_t kBusyAgainNs = 5 * kNanosPerSecond;  // another job is on its way

// Larger gains first, then whose loss matters less.
bool GoesBefore(const JobRecord& a, const core::BetterMember& to_a, const JobRecord& b,
                const core::BetterMember& to_b) {
  if (core::BringsMore(to_a, to_b)) return true;
  if (core::BringsMore(to_b, to_a)) return false;
  return a.priority != b.priority ? a.priority < b.priority : a.id < b.id;
}

}  // namespace

void Engine::Impl::Leaving::Rebalancing::Configure() {
  look_.reset();
  std::map<std::string, Monotonic> due;
  for (const auto& [name, queue] : engine_.live.config->cluster_queues) {
    if (!queue.rebalance.on) continue;
    const Monotonic next = engine_.clock.Now() + SecondsToNanos(queue.rebalance.every_s);
    const auto known = due_.find(name);
    due[name] = known == due_.end() ? next : std::min(known->second, next);
  }
  due_ = std::move(due);
}

std::optional<Monotonic> Engine::Impl::Leaving::Rebalancing::Next() const {
  if (look_) return next_step_;
  std::optional<Monotonic> first;
  for (const auto& [queue, at] : due_) first = first ? std::min(*first, at) : at;
  return first;
}

bool Engine::Impl::Leaving::Rebalancing::Fire() {
  const auto next = Next();
  const Monotonic now = engine_.clock.Now();
  if (!next || now < *next) return false;
  if (!look_) {
    const auto due = std::min_element(
        due_.begin(), due_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    Begin(due->first);
    return false;
  }
  next_step_ = now + kStepEveryNs;
  TrySome();
  return look_->left.empty() && End();
}

void Engine::Impl::Leaving::Rebalancing::Begin(const std::string& queue) {
  const Rebalance& settings = engine_.live.config->cluster_queues.at(queue).rebalance;
  const Monotonic now = engine_.clock.Now();
  if (SomebodyMoves(settings)) {
    due_[queue] = now + kBusyAgainNs;
    return;
  }
  due_[queue] = now + SecondsToNanos(settings.every_s);
  std::vector<JobId> jobs;
  for (const auto& [id, job] : engine_.live.jobs) {
    if (IsCandidate(*job, queue)) jobs.push_back(id);
  }
  if (jobs.empty()) return;
  std::sort(jobs.begin(), jobs.end());
  Start(queue, std::move(jobs));
}

void Engine::Impl::Leaving::Rebalancing::Start(const std::string& queue, std::vector<JobId> jobs) {
  const ConfigPtr& config = engine_.live.config;
  look_.reset(new Look{queue, std::move(jobs), config, core::Disruptions(*config), std::nullopt});
  leaving_.CountJobs(&look_->budgets);
  next_step_ = engine_.clock.Now();
}

// Whoever was sent away has not found his place yet: what he will take is not known. One that waits
// for longer than a period is forgotten.
bool Engine::Impl::Leaving::Rebalancing::SomebodyMoves(const Rebalance& settings) const {
  const WallTime since{
      SaturatingSub(engine_.clock.WallNow().us, SecondsToMicros(settings.every_s))};
  return std::any_of(engine_.live.jobs.begin(), engine_.live.jobs.end(),
                     [&since](const auto& entry) {
                       const JobRecord& job = *entry.second;
                       const Condition* evicted = FindCondition(job, "Evicted");
                       if (evicted == nullptr || !evicted->status || IsTerminal(job.state) ||
                           evicted->reason != ReasonName(Reason::kRebalanced)) {
                         return false;
                       }
                       return HoldsQuota(job.state) || evicted->last_transition > since;
                     });
}

bool Engine::Impl::Leaving::Rebalancing::IsCandidate(const JobRecord& job,
                                                     const std::string& queue) const {
  return job.admission != nullptr && job.admission->cluster_queue == queue &&
         leaving_.IsAvailable(job) && core::MayBeMoved(*engine_.live.config, job);
}

void Engine::Impl::Leaving::Rebalancing::TrySome() {
  const ConfigView& config = *engine_.live.config;
  const Rebalance& settings = config.cluster_queues.at(look_->queue).rebalance;
  auto clusters = engine_.live.planned.Clusters(config, engine_.facts);
  engine_.AddStarting(&clusters);
  const auto placed = engine_.placed_jobs.Counts();
  const core::Rebalancer rebalancer(config, *engine_.options.settings, clusters, placed.get(),
                                    engine_.clock.WallNow());
  for (std::size_t tried = 0; tried < kTriedAtOnce && !look_->left.empty(); ++tried) {
    const auto found = engine_.live.jobs.find(look_->left.back());
    look_->left.pop_back();
    if (found == engine_.live.jobs.end()) continue;
    const JobPtr job = found->second;
    if (!IsCandidate(*job, look_->queue) || !MayGo(*job)) continue;
    auto better = rebalancer.Find(*job, settings.gain);
    auto& best = look_->best;
    if (better && (!best || GoesBefore(*job, *better, *best->job, best->better)))
      best = Candidate{job, std::move(*better)};
  }
}

// Whether its budget would let it go.
bool Engine::Impl::Leaving::Rebalancing::MayGo(const JobRecord& job) const {
  const auto key = core::GovernorOf(*look_->config, job);
  if (!key || look_->budgets.BudgetOf(*key) == nullptr) return true;
  core::Disruptions with_it_gone = look_->budgets;
  return with_it_gone.Take(*key, 1);
}

// All have been looked at. What was found while the look went on may not hold any more.
bool Engine::Impl::Leaving::Rebalancing::End() {
  const std::unique_ptr<Look> look = std::move(look_);
  if (!look->best) return false;
  Start(look->queue, {look->best->job->id});
  TrySome();
  const std::optional<Candidate> still = std::move(look_->best);
  look_.reset();
  if (!still) return false;
  leaving_.Send(still->job, Reason::kRebalanced, still->better.message);
  return true;
}

}  // namespace muster
