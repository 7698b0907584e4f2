// `muster quota set --dry-run` and its kin: what an edit of the configuration would admit and
// preempt.
//
// A preview works on a copy of the committed world under the edited configuration. It plays the
// cycles that would follow: it decides, treats the victims of the plan as gone at once, applies the
// plan, and decides again, until a plan moves nothing more or limits::kPreviewPlans is reached.
// Waiting jobs are offered whether they are parked or not, because the edit is there to move them.
// The result is an estimate: jobs that arrive meanwhile, and ends, are not in it.
#include <algorithm>
#include <set>

#include "schedd/base/limits.h"
#include "schedd/core/cycle/apply.h"
#include "schedd/core/cycle/cycle.h"
#include "schedd/core/explain/explain_trial.h"
#include "schedd/engine/decide/decider.h"
#include "schedd/engine/jobs/stand_ins.h"
#include "schedd/lifecycle/holder_of.h"
#include "schedd/shapes/config/queue_objects.h"
#include "schedd/text/json.h"

namespace muster {
namespace {

// The configuration after the changes, by the same readers as a real edit; preconditions and
// removal rules are not checked.
Result<ConfigPtr> WithChanges(const ConfigView& before, const std::vector<ObjectChange>& changes) {
  auto config = std::make_shared<ConfigView>(before);
  for (const ObjectChange& change : changes) {
    if (change.remove) {
      shapes::RemoveFrom(config.get(), change.kind, change.ns, change.name);
      continue;
    }
    const auto manifest = ParseJson(change.manifest);
    if (!manifest.ok()) return manifest.error();
    const Status applied = shapes::ApplyTo(config.get(), change.kind, *manifest);
    if (!applied.ok()) return applied.error();
  }
  return ConfigPtr(std::move(config));
}

// The snapshot after a plan was carried out and its victims are gone. If there were victims, all
// heads that were not admitted are offered again, for they may fit now.
core::Snapshot GoneOn(const core::Snapshot& before, const core::Plan& plan) {
  core::Snapshot after = core::Apply(before, plan);
  if (plan.evictions.empty()) return after;
  core::Trial trial(after);
  for (const core::Eviction& eviction : plan.evictions) {
    const core::HolderPtr* held = after.holders->Find(eviction.victim->id);
    if (held != nullptr) trial.Release(*held);
  }
  std::set<JobId> admitted;
  for (const core::PlannedAdmission& admit : plan.admits) admitted.insert(admit.job->id);
  after = trial.snapshot();
  after.heads = before.heads;
  for (core::QueueHeads& queue : after.heads) {
    std::erase_if(queue.jobs, [&](const JobPtr& job) { return admitted.contains(job->id); });
  }
  return after;
}

// A plan that evicts ends with its first round, so it is always followed by another one.
EditEffect EffectOf(core::Snapshot snapshot, const core::CycleInput& input) {
  EditEffect effect;
  for (std::size_t i = 0; i < limits::kPreviewPlans; ++i) {
    const core::Plan plan = core::Decide(snapshot, input);
    for (const core::PlannedAdmission& admit : plan.admits) effect.would_admit.push_back(admit.job);
    for (const core::Eviction& eviction : plan.evictions)
      effect.would_preempt.push_back(eviction.victim);
    if (plan.evictions.empty() && !plan.more_work) break;
    snapshot = GoneOn(snapshot, plan);
  }
  return effect;
}

}  // namespace

void Decider::Handle(PreviewCommand command) {
  commits_.Answer(
      [done = std::move(command.done), effect = Preview(command.changes)] { done(effect); });
}

// Amounts are counted anew, because the edit may change the quota tree. Stand-ins are shown as the
// jobs that they stand in for.
Result<EditEffect> Decider::Preview(const std::vector<ObjectChange>& changes) {
  const Result<ConfigPtr> changed = WithChanges(*config_.view(), changes);
  if (!changed.ok()) return changed.error();
  const ConfigPtr& config = *changed;
  const core::QuotaTreePtr tree = core::QuotaTree::Build(*config);
  Ledger ledger(tree, context_.options.settings);
  auto holders = std::make_shared<core::Holders>(tree);
  for (const JobPtr& job : HoldersOf(commits_.committed().jobs)) {
    ledger.Move(nullptr, job.get());
    if (job->admission != nullptr) holders->Put(HolderOf(*tree, context_.settings(), job));
  }
  // Parked jobs too: the edit may move them.
  std::vector<core::QueueHeads> heads;
  for (const auto& [name, queue] : config->cluster_queues) {
    core::QueueHeads waiting;
    waiting.cluster_queue = name;
    waiting.jobs = waiting_.queues().Ordered(name, context_.options.cycle_heads);
    if (!waiting.jobs.empty()) heads.push_back(std::move(waiting));
  }
  core::Snapshot snapshot = MakeSnapshot(config, ledger, holders, std::move(heads));
  if (const auto trees = machines_.ForestOf(*config); trees != nullptr)
    snapshot.topology = Machines::UsageOf(*config, trees, *holders, *tree, nullptr);
  if (snapshot.clusters.empty()) return EditEffect{};
  core::CycleInput input;
  input.now = context_.clock.Now();
  input.seed = context_.random.Next();
  input.budget.heads = context_.options.cycle_heads;
  EditEffect effect = EffectOf(std::move(snapshot), input);
  for (JobPtr& job : effect.would_admit) {
    if (JobPtr owner = jobs_.Find(OwnerOf(job->id)); owner != nullptr) job = std::move(owner);
  }
  // Tasks of one array come together, and show as its record.
  effect.would_admit.erase(std::unique(effect.would_admit.begin(), effect.would_admit.end()),
                           effect.would_admit.end());
  return effect;
}

}  // namespace muster
