// A draft becomes the live configuration. The order matters: wakes compare the quota trees before
// and after, so they are collected before the recount; members are followed and everything is
// counted anew under the new tree; only then do jobs move, because each of their changes is charged
// under the new tree. Wakes happen when the edit is durable, so no job is decided on a
// configuration that may still be lost.
//
// An edit that matters to no amounts (a placement, an override) counts nothing anew: at most the
// placements of waiting jobs are compared.
#include "schedd/engine/configure/configuration.h"
#include "schedd/engine/live/wakes.h"

namespace muster {

// The queues' order takes the configuration before jobs are moved in it.
void Configuration::Take(ConfigEdit edit) {
  const ConfigPtr before = config_.view();
  const std::vector<ObjectKey> changed = std::move(edit.changed);
  commits_.tx().config = edit.config;
  commits_.tx().object_table = edit.objects;
  config_.Set(std::move(edit.config), std::move(edit.objects));
  for (ConfigFollower* follower : followers_) follower->Configure();
  if (!edit.matters) {
    if (before->placements == config_.view()->placements) return;
    waiting_.queues().TakePlacements(config_.view());
    array_tasks_.Resync();
    FollowPlacements(*before, changed);
    return;
  }
  commits_.tx().other_quotas = true;
  const core::QuotaTreePtr tree_before = jobs_.planned().usage().tree_ptr();
  const core::QuotaTreePtr tree = core::QuotaTree::Build(*config_.view());
  commits_.tx().wakes.merge(WokenBy({*before, *tree_before}, {*config_.view(), *tree}, changed));
  FollowMembers(*before, changed);
  jobs_.Recount(tree);
  machines_.ForgetTrees();
  waiting_.queues().Configure(config_.view(), tree, context_.options.settings);
  ResolveQueues();
  stand_ins_.Resync();
  array_tasks_.Resync();
  FollowPlacements(*before, changed);
  PushPriorities(*before);
  SyncReserved();
  DrainStopped();
  WakeRestarted();
  node_failures_.Check();
  jobs_.ConfigureFairUse();
}

// Members that the edit added, changed or removed.
void Configuration::FollowMembers(const ConfigView& before, const std::vector<ObjectKey>& changed) {
  for (const auto& [kind, ns, name] : changed) {
    if (kind != ObjectKind::kMemberCluster) continue;
    WakeForMember(before, name);
    ForgetMember(name);
  }
}

// Both declarations are compared with the member's reported facts laid over them: a flavor may go
// by a label that only the member reports. Jobs that wait for room have another sentence in any
// case.
void Configuration::WakeForMember(const ConfigView& before, const std::string& name) {
  const ConfigView& config = *config_.view();
  const QueueNames& waits_for_room = waiting_.waits_for_room();
  commits_.tx().wakes.insert(waits_for_room.begin(), waits_for_room.end());
  const auto was = before.member_clusters.find(name);
  const auto is = config.member_clusters.find(name);
  if (was == before.member_clusters.end() || is == config.member_clusters.end()) return;
  const MemberCluster known = WithFacts(was->second, members_.facts());
  commits_.tx().wakes.merge(WokenByMember(&known, WithFacts(is->second, members_.facts()), config));
}

// A declared member counts again; one that is gone is forgotten, so that its late reports mean
// nothing.
void Configuration::ForgetMember(const std::string& name) {
  if (config_.view()->member_clusters.contains(name)) {
    members_.Declare(name);
  } else {
    members_.Remove(name);
    held_ends_.ForgetMember(name);
  }
}

}  // namespace muster
