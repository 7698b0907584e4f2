// What may not be removed, and what an edit would do.
#include <set>

#include "schedd/base/limits.h"
#include "schedd/core/cycle/cycle.h"
#include "schedd/core/explain/explain_trial.h"
#include "schedd/core/member/disruption.h"
#include "schedd/engine/impl.h"
#include "schedd/engine/stand_ins.h"
#include "schedd/shapes/config/queue_objects.h"
#include "schedd/text/json.h"

namespace muster {
namespace {

Error InUse(std::string sentence) { return {Code::kFailedPrecondition, std::move(sentence)}; }

bool Uses(const ClusterQueue& queue, const std::string& flavor) {
  for (const ResourceGroup& group : queue.resource_groups) {
    for (const FlavorQuotas& quotas : group.flavors) {
      if (quotas.flavor == flavor) return true;
    }
  }
  return false;
}

// The world after a plan whose victims are gone already; what waits is looked at anew.
core::Snapshot GoneOn(const core::Snapshot& before, const core::Plan& plan) {
  core::Snapshot after = core::Apply(before, plan);
  if (plan.evictions.empty()) return after;
  core::Trial trial(after);
  for (const core::Eviction& eviction : plan.evictions) {
    const core::HolderPtr* held = after.holders->Find(eviction.victim->id);
    if (held != nullptr) trial.Release(*held);
  }
  std::set<JobId> admitted;
  for (const core::Admit& admit : plan.admits) admitted.insert(admit.job->id);
  after = trial.snapshot();
  after.heads = before.heads;
  for (core::QueueHeads& queue : after.heads) {
    std::erase_if(queue.jobs, [&](const JobPtr& job) { return admitted.contains(job->id); });
  }
  return after;
}

// What the cycles to come would do, until they move nothing more.
EditEffect EffectOf(core::Snapshot snapshot, const core::CycleInput& input) {
  EditEffect effect;
  for (std::size_t i = 0; i < limits::kPreviewPlans; ++i) {
    const core::Plan plan = core::Decide(snapshot, input);
    for (const core::Admit& admit : plan.admits) effect.would_admit.push_back(admit.job);
    for (const core::Eviction& eviction : plan.evictions)
      effect.would_preempt.push_back(eviction.victim);
    if (plan.evictions.empty() && !plan.more_work) break;
    snapshot = GoneOn(snapshot, plan);
  }
  return effect;
}

}  // namespace

Status Engine::Impl::CheckRemoval(const ConfigView& config, const ObjectChange& change) const {
  const std::string& name = change.name;
  switch (change.kind) {
    case ObjectKind::kNamespace:
      if (name == "default") return InUse("namespace default cannot be deleted");
      for (const auto& [id, job] : live.jobs) {
        if (job->ns == name && !IsTerminal(job->state)) {
          return InUse("namespace " + name + " has jobs that have not ended, such as job " +
                       std::to_string(id.value));
        }
      }
      break;
    case ObjectKind::kClusterQueue: {
      const auto stats = live.planned.queues().find(name);
      if (stats != live.planned.queues().end() && stats->second.reserving > 0) {
        return InUse("ClusterQueue " + name + " holds quota for " +
                     std::to_string(stats->second.reserving) +
                     " workloads: stop it or let them end first");
      }
      break;
    }
    case ObjectKind::kResourceFlavor:
      for (const auto& [queue_name, queue] : config.cluster_queues) {
        if (Uses(queue, name))
          return InUse("ResourceFlavor " + name + " is used by ClusterQueue " + queue_name);
      }
      break;
    case ObjectKind::kMemberCluster:
      for (const auto& [key, row] : live.dispatches) {
        if (key.cluster == name && IsLive(row.state)) {
          return InUse("member cluster " + name + " runs jobs, such as job " +
                       std::to_string(row.job.value) + ": drain it first");
        }
      }
      return held_ends.CheckRemoval(name, live.dispatches, !lost_members.contains(name));
    case ObjectKind::kClusterResourcePlacementEviction:
    case ObjectKind::kResourcePlacementEviction: {
      // By its status it is known what is to leave, until the row says so.
      const auto found = config.placement_evictions.find({change.ns, name});
      if (found == config.placement_evictions.end()) break;
      const WorkKey key{change.ns, found->second.placement, found->second.cluster};
      const auto work = live.works.works.find(key);
      if (work != live.works.works.end() && found->second.executed_at.set() &&
          core::IsEvicted(*work->second, {{key, found->second.executed_at}})) {
        return InUse("eviction " + name + " is being carried out on member cluster " +
                     found->second.cluster + ": try again in a second");
      }
      break;
    }
    default:
      break;
  }
  return Done{};
}

void Engine::Impl::Handle(PreviewCommand command) {
  const auto answer = [this, &command](Result<EditEffect> result) {
    answers.push_back(
        [done = std::move(command.done), result = std::move(result)] { done(result); });
  };
  auto config = std::make_shared<ConfigView>(*live.config);
  for (const ObjectChange& change : command.changes) {
    if (change.remove) {
      shapes::RemoveFrom(config.get(), change.kind, change.ns, change.name);
      continue;
    }
    const auto manifest = ParseJson(change.manifest);
    if (!manifest.ok()) return answer(manifest.error());
    const Status applied = shapes::ApplyTo(config.get(), change.kind, *manifest);
    if (!applied.ok()) return answer(applied.error());
  }
  const core::QuotaTreePtr tree = core::QuotaTree::Build(*config);
  Ledger ledger(tree, options.settings);
  auto holders = std::make_shared<core::Holders>(tree);
  for (const JobPtr& job : HoldersOf(committed.jobs)) {
    ledger.Move(nullptr, job.get());
    if (job->admission != nullptr) holders->Put(HolderOf(*tree, *options.settings, job));
  }
  // Everything that waits is looked at, parked or not: the edit is there to move it.
  std::vector<core::QueueHeads> heads;
  for (const auto& [name, queue] : config->cluster_queues) {
    core::QueueHeads waiting;
    waiting.cluster_queue = name;
    waiting.jobs = live.pending.Ordered(name, options.cycle_heads);
    if (!waiting.jobs.empty()) heads.push_back(std::move(waiting));
  }
  core::Snapshot snapshot = MakeSnapshot(config, ledger, holders, std::move(heads));
  if (const auto trees = ForestOf(*config); trees != nullptr)
    snapshot.topology = MachinesOf(*config, trees, *holders, *tree);
  if (snapshot.clusters.empty()) return answer(EditEffect{});
  core::CycleInput input;
  input.now = clock.Now();
  input.seed = random.Next();
  input.budget.heads = options.cycle_heads;
  EditEffect effect = EffectOf(std::move(snapshot), input);
  for (JobPtr& job : effect.would_admit) {
    const auto owner = live.jobs.find(OwnerOf(job->id));
    if (owner != live.jobs.end()) job = owner->second;
  }
  answer(std::move(effect));
}

}  // namespace muster
