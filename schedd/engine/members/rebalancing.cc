// Rebalancing (rule P17). It is opt-in twice: the ClusterQueue has muster.io/rebalance: "true"
// (with -gain, 10 points, and -every, 5m), and the job has muster.io/checkpointable: "true".
//
// Once a period the running jobs of a queue are looked at, kTriedAtOnce in each step, so that
// decisions go on in between. The better member of a job is the one that its placement would choose
// if the job ran nowhere (schedd/core/member/rebalance.h), so nothing goes to and fro. Of all
// candidates one leaves (Rebalanced): the one that comes to an earlier cluster group or gains most
// points, then the lower priority, then the smaller id. It is tried once more at the end of the
// look, because the world may have changed since. Budgets of its placement are kept. No look begins
// before the job that left last has its place, or has waited for a period, because the room that it
// takes is not known yet.
#include "schedd/engine/members/rebalancing.h"

#include <algorithm>

namespace muster {
namespace {

// A few milliseconds of work.
constexpr std::size_t kTriedAtOnce = 16;
// Decisions go on between two steps.
constexpr std::int64_t kStepEveryNs = 50 * kNanosPerMilli;
// Another job is on its way: try again soon.
constexpr std::int64_t kBusyAgainNs = 5 * kNanosPerSecond;

// True if `a` is the better candidate. The smaller id makes the choice certain.
bool GoesBefore(const JobRecord& a, const core::BetterMember& to_a, const JobRecord& b,
                const core::BetterMember& to_b) {
  if (core::BringsMore(to_a, to_b)) return true;
  if (core::BringsMore(to_b, to_a)) return false;
  return a.priority != b.priority ? a.priority < b.priority : a.id < b.id;
}

}  // namespace

// A look under way is given up, because its queue or members may be gone. A queue that asks for
// rebalancing for the first time waits for one period.
void Rebalancing::Configure() {
  look_.reset();
  std::map<std::string, Monotonic> due;
  for (const auto& [name, queue] : config_.view()->cluster_queues) {
    if (!queue.rebalance.on) continue;
    const Monotonic next = context_.clock.Now() + SecondsToNanos(queue.rebalance.every_s);
    const auto known = due_.find(name);
    due[name] = known == due_.end() ? next : std::min(known->second, next);
  }
  due_ = std::move(due);
}

std::optional<Monotonic> Rebalancing::Next() const {
  if (look_) return next_step_;
  std::optional<Monotonic> first;
  for (const auto& [queue, at] : due_) first = first ? std::min(*first, at) : at;
  return first;
}

// Either begins the look that is due first, or takes one step of the look under way. True if a job
// left.
bool Rebalancing::Fire() {
  const auto next = Next();
  const Monotonic now = context_.clock.Now();
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

// Collects the candidates of the queue, if no job of a look before is still on its way.
void Rebalancing::Begin(const std::string& queue) {
  const Rebalance& settings = config_.view()->cluster_queues.at(queue).rebalance;
  const Monotonic now = context_.clock.Now();
  if (SomebodyMoves(settings)) {
    due_[queue] = now + kBusyAgainNs;
    return;
  }
  due_[queue] = now + SecondsToNanos(settings.every_s);
  std::vector<JobId> jobs;
  for (const auto& [id, job] : jobs_.all()) {
    if (IsCandidate(*job, queue)) jobs.push_back(id);
  }
  if (jobs.empty()) return;
  std::sort(jobs.begin(), jobs.end());
  Start(queue, std::move(jobs));
}

// Budgets are counted once, at the beginning of the look.
void Rebalancing::Start(const std::string& queue, std::vector<JobId> jobs) {
  const ConfigPtr& config = config_.view();
  look_.reset(new Look{queue, std::move(jobs), config, core::Disruptions(*config), std::nullopt});
  leaving_.CountJobs(&look_->budgets);
  next_step_ = context_.clock.Now();
}

// True if a job that was rebalanced has not found its place: it is still leaving, or it has waited
// for less than a period.
bool Rebalancing::SomebodyMoves(const Rebalance& settings) const {
  const WallTime since{
      SaturatingSub(context_.clock.WallNow().us, SecondsToMicros(settings.every_s))};
  return std::any_of(jobs_.all().begin(), jobs_.all().end(), [&since](const auto& entry) {
    const JobRecord& job = *entry.second;
    const Condition* evicted = FindCondition(job, "Evicted");
    if (evicted == nullptr || !evicted->status || IsTerminal(job.state) ||
        evicted->reason != ReasonName(Reason::kRebalanced)) {
      return false;
    }
    return HoldsQuota(job.state) || evicted->last_transition > since;
  });
}

// The job may have changed since it was collected.
bool Rebalancing::IsCandidate(const JobRecord& job, const std::string& queue) const {
  return job.admission != nullptr && job.admission->cluster_queue == queue &&
         leaving_.IsAvailable(job) && core::MayBeMoved(*config_.view(), job);
}

// Tries some of the jobs that are left, and remembers the best.
void Rebalancing::TrySome() {
  const ConfigView& config = *config_.view();
  const Rebalance& settings = config.cluster_queues.at(look_->queue).rebalance;
  const auto clusters = jobs_.Clusters();
  const auto placed = jobs_.placed().Counts();
  const core::Rebalancer rebalancer(config, context_.settings(), clusters, placed.get(),
                                    context_.clock.WallNow());
  for (std::size_t tried = 0; tried < kTriedAtOnce && !look_->left.empty(); ++tried) {
    const JobPtr job = jobs_.Find(look_->left.back());
    look_->left.pop_back();
    if (job == nullptr || !IsCandidate(*job, look_->queue) || !MayGo(*job)) continue;
    auto better = rebalancer.Find(*job, settings.gain);
    auto& best = look_->best;
    if (better && (!best || GoesBefore(*job, *better, *best->job, best->better)))
      best = Candidate{job, std::move(*better)};
  }
}

// True if the job's budget would let it go. A copy of the budgets is asked, because asking takes
// the job off.
bool Rebalancing::MayGo(const JobRecord& job) const {
  const auto key = core::GovernorOf(*look_->config, job);
  if (!key || look_->budgets.BudgetOf(*key) == nullptr) return true;
  core::Disruptions with_it_gone = look_->budgets;
  return with_it_gone.Take(*key, 1);
}

// All were looked at. The best is tried once more, alone: what was found during the look may not
// hold any more.
bool Rebalancing::End() {
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
