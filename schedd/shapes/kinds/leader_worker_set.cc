// LeaderWorkerSet: `replicas` groups of `size` pods that serve until deleted.
//
// Kueue makes one Workload per group. Muster makes one for the whole object, so that a service
// either starts with all its groups or waits. Without a leader template it has the pod set `main`
// (replicas x size pods), with one it has `leader` (replicas pods) and `worker` (replicas x
// (size - 1) pods).
#include "schedd/base/limits.h"
#include "schedd/base/quantity.h"
#include "schedd/shapes/kinds/shape_list.h"
#include "schedd/shapes/kinds/shape_ops.h"
#include "schedd/shapes/parts/metadata.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

// subGroupPolicy: subgroups of one size, with the leader in the first one or outside of them.
void CheckGroupPolicy(const Field& policy, std::int32_t size) {
  if (policy.Object() == nullptr) return;
  policy.OnlyMembers({"subGroupSize", "subGroupPolicyType", "type"});
  const Field field = policy["subGroupSize"];
  const auto sub = field.Count(1);
  if (sub && (*sub > size || (size % *sub != 0 && (size - 1) % *sub != 0))) {
    field.Fail("must divide size or size - 1");
  }
}

void CheckRollout(const Field& strategy) {
  if (strategy.Object() == nullptr) return;
  strategy.OnlyMembers({"type", "rollingUpdateConfiguration"});
  (void)strategy["type"].OneOf({"RollingUpdate"});
  strategy["rollingUpdateConfiguration"].OnlyMembers({"maxUnavailable", "maxSurge", "partition"});
}

void CheckNetwork(const Field& network) {
  if (network.Object() == nullptr) return;
  network.OnlyMembers({"subdomainPolicy"});
  (void)network["subdomainPolicy"].OneOf({"Shared", "UniquePerReplica"});
}

// Appends the pod sets. A group of one pod with a leader template has no workers.
void ReadGroups(const Field& groups, std::int32_t replicas, ParsedJob* job) {
  groups.OnlyMembers({"leaderTemplate", "workerTemplate", "size", "restartPolicy", "subGroupPolicy",
                      "volumeClaimTemplates", "persistentVolumeClaimRetentionPolicy",
                      "resizePolicy"});
  groups["volumeClaimTemplates"].Refuse("volume claims per pod are not supported by this version");
  (void)groups["restartPolicy"].OneOf(
      {"RecreateGroupOnPodRestart", "RecreateGroupAfterStart", "None", "Default"});
  const Field size_field = groups["size"];
  const std::int32_t size = size_field.CountOr(1, 1);
  CheckGroupPolicy(groups["subGroupPolicy"], size);
  if (SaturatingMul(replicas, size) > limits::kPodsPerJob) {
    size_field.Fail("makes more than " + std::to_string(limits::kPodsPerJob) + " pods with " +
                    std::to_string(replicas) + " replicas");
    return;
  }
  const PodRules rules = {.restart = RestartRule::kAlways};
  const bool leaders = groups["leaderTemplate"].present();
  if (leaders)
    job->pod_sets.push_back(ReadPodSet(groups["leaderTemplate"], "leader", replicas, rules));
  const std::int32_t workers = replicas * (leaders ? size - 1 : size);
  PodSet worker = ReadPodSet(groups["workerTemplate"], leaders ? "worker" : "main", workers, rules);
  if (workers > 0) job->pod_sets.push_back(std::move(worker));
}

void ParseLeaderWorkerSet(const Field& root, ParsedJob* job) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "spec", "status"});
  ReadJobMetadata(root, {.max_bytes = 63, .dns1035 = true}, job);
  const Field spec = root["spec"];
  if (!spec.Require() || spec.Object() == nullptr) return;
  spec.OnlyMembers(
      {"replicas", "leaderWorkerTemplate", "rolloutStrategy", "startupPolicy", "networkConfig"});
  const std::int32_t replicas = spec["replicas"].CountOr(1, 1);
  (void)spec["startupPolicy"].OneOf({"LeaderCreated", "LeaderReady"});
  CheckRollout(spec["rolloutStrategy"]);
  CheckNetwork(spec["networkConfig"]);
  const Field groups = spec["leaderWorkerTemplate"];
  if (groups.Require() && groups.Object() != nullptr) ReadGroups(groups, replicas, job);
  CheckPodSets(spec, job->pod_sets);
}

void VisitLeaderWorkerSetTemplates(json::object& manifest, const TemplateVisitor& visit) {
  auto& groups = MakeObjectAt(MakeObjectAt(manifest, "spec"), "leaderWorkerTemplate");
  auto* leader = MutableObject(&groups, "leaderTemplate");
  if (leader != nullptr) visit("leader", *leader);
  visit(leader != nullptr ? "worker" : "main", MakeObjectAt(groups, "workerTemplate"));
}

// The kind cannot be suspended. Instead it has no groups until it is released.
void PrepareLeaderWorkerSet(json::object& manifest, const RenderContext& context,
                            std::vector<RenderedObject>*) {
  auto& spec = MakeObjectAt(manifest, "spec");
  if (context.suspended) spec["replicas"] = 0;
}

}  // namespace

const ShapeOps kLeaderWorkerSetOps = {ShapeKind::kLeaderWorkerSet, ParseLeaderWorkerSet,
                                      VisitLeaderWorkerSetTemplates, PrepareLeaderWorkerSet};

}  // namespace muster::shapes
