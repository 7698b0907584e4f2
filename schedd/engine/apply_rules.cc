// What may not be removed, cordoning, and what an edit would do.
#include "schedd/core/cycle.h"
#include "schedd/engine/impl.h"
#include "schedd/shapes/queue_objects.h"
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
      // Counted with what is being released: the amounts are still in use until that is durable.
      const auto stats = live.charged.queues().find(name);
      if (stats != live.charged.queues().end() && stats->second.reserving > 0) {
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
                       std::to_string(row.job.value));
        }
      }
      break;
    default:
      break;
  }
  return Done{};
}

void Engine::Impl::Handle(CordonCommand command) {
  const auto found = live.objects->find({ObjectKind::kMemberCluster, "", command.cluster});
  const auto answer = [this, &command](Result<ObjectPtr> result) {
    answers.push_back(
        [done = std::move(command.done), result = std::move(result)] { done(result); });
  };
  if (found == live.objects->end())
    return answer(NotFound("member cluster " + command.cluster + " does not exist"));
  auto manifest = ParseJson(found->second->manifest);
  if (!manifest.ok() || !manifest->is_object())
    return answer(Internal("member cluster " + command.cluster + " is unreadable"));
  json::value& metadata = manifest->as_object()["metadata"];
  if (!metadata.is_object()) metadata = json::object{};
  json::value& annotations = metadata.as_object()["annotations"];
  if (!annotations.is_object()) annotations = json::object{};
  annotations.as_object()["muster.io/cordoned"] = command.cordon ? "true" : "false";
  ObjectChange change;
  change.kind = ObjectKind::kMemberCluster;
  change.name = command.cluster;
  change.manifest = WriteJson(*manifest);
  auto outcome = Apply(command.actor, {change}, false);
  if (!outcome.ok()) return answer(outcome.error());
  AnswerAfterCommit(
      [done = std::move(command.done), object = outcome->front().object](const Error* error) {
        if (error != nullptr) {
          done(*error);
        } else {
          done(object);
        }
      });
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
  EditEffect effect;
  core::Snapshot snapshot = MakeSnapshot(config, ledger, holders, std::move(heads));
  if (const auto trees = ForestOf(*config); trees != nullptr)
    snapshot.topology = MachinesOf(*config, trees, *holders, *tree);
  if (!snapshot.clusters.empty()) {
    core::CycleInput input;
    input.now = clock.Now();
    input.seed = random.Next();
    input.budget.heads = options.cycle_heads;
    const core::Plan plan = core::Decide(snapshot, input);
    for (const core::Admit& admit : plan.admits) effect.would_admit.push_back(admit.job);
    for (const core::Eviction& eviction : plan.evictions)
      effect.would_preempt.push_back(eviction.victim);
  }
  answer(std::move(effect));
}

}  // namespace muster
