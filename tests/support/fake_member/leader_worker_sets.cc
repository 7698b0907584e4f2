// A stand-in for the LeaderWorkerSet controller, as tests/kubebed has it: no StatefulSets between.
#include <map>

#include "tests/support/fake_member/controller_tools.h"

namespace muster::fake {
namespace {

const std::string kMark = "leaderworkerset.sigs.k8s.io/";
using Group = std::map<std::int64_t, PodView>;

struct LeaderWorkerSetView {
  Cluster& cluster;
  Key key;
  json::object set;

  std::int64_t size() const { return Number(set, {"spec", "leaderWorkerTemplate", "size"}, 1); }
};

void RemoveGroup(LeaderWorkerSetView& look, const Group& group) {
  for (const auto& [index, pod] : group) {
    if (!pod.deleting && look.cluster.store().Find(pod.key) != nullptr)
      look.cluster.Remove(pod.key);
  }
}

bool Make(LeaderWorkerSetView& look, const Key& owner, const json::object* pod_template,
          const std::string& name, const std::string& leader, std::int64_t group,
          std::int64_t worker) {
  if (pod_template == nullptr) return false;
  json::object annotations{{kMark + "size", std::to_string(look.size())}};
  if (worker > 0) annotations[kMark + "leader-name"] = leader;
  json::object pod = PodFrom(*pod_template,
                             {{kMark + "name", look.key.name},
                              {kMark + "group-index", std::to_string(group)},
                              {kMark + "worker-index", std::to_string(worker)}},
                             annotations);
  Child(pod, "metadata")["name"] = name;
  return CreatePod(look.cluster, owner, std::move(pod));
}

// Brings one group up to its size; true if all of it is ready.
bool Fill(LeaderWorkerSetView& look, std::int64_t index, const Group& group) {
  const json::object* workers =
      FindObject(look.set, {"spec", "leaderWorkerTemplate", "workerTemplate"});
  const json::object* leaders =
      FindObject(look.set, {"spec", "leaderWorkerTemplate", "leaderTemplate"});
  const bool recreate = Text(look.set, {"spec", "leaderWorkerTemplate", "restartPolicy"}) != "None";
  for (const auto& [worker, pod] : group) {
    if (pod.deleting) return false;  // the group is created again once all its pods are gone
    if (pod.phase() == "Failed" && recreate) {
      RemoveGroup(look, group);
      return false;
    }
  }
  const std::string leader_name = look.key.name + "-" + std::to_string(index);
  const auto leader = group.find(0);
  if (leader == group.end()) {
    if (!group.empty()) {
      RemoveGroup(look, group);
      return false;
    }
    Make(look, look.key, leaders != nullptr ? leaders : workers, leader_name, leader_name, index,
         0);
    return false;
  }
  bool ready = leader->second.ready();
  if (!ready && Text(look.set, {"spec", "startupPolicy"}) == "LeaderReady") return false;
  for (std::int64_t worker = 1; worker < look.size(); ++worker) {
    const auto pod = group.find(worker);
    if (pod != group.end()) {
      ready = ready && pod->second.ready();
      continue;
    }
    ready = false;
    Make(look, leader->second.key, workers, leader_name + "-" + std::to_string(worker), leader_name,
         index, worker);
  }
  return ready;
}

std::map<std::int64_t, Group> Groups(LeaderWorkerSetView& look) {
  std::map<std::int64_t, Group> groups;
  const auto take = [&](PodView pod) {
    const std::string group = pod.Label(kMark + "group-index");
    const std::string worker = pod.Label(kMark + "worker-index");
    if (!group.empty() && !worker.empty())
      groups[std::stoll(group)].emplace(std::stoll(worker), std::move(pod));
  };
  for (PodView& leader : PodsOf(look.cluster, look.cluster.store().Find(look.key)->uid)) {
    for (PodView& worker : PodsOf(look.cluster, Text(leader.object(), {"metadata", "uid"})))
      take(std::move(worker));
    take(std::move(leader));
  }
  return groups;
}

}  // namespace

void ReconcileLeaderWorkerSet(Cluster& cluster, const Key& key) {
  LeaderWorkerSetView look{cluster, key, cluster.store().Object(key)};
  if (cluster.store().Find(key)->deleting) return;
  const std::int64_t wanted = Number(look.set, {"spec", "replicas"}, 1);
  std::map<std::int64_t, Group> groups = Groups(look);
  for (const auto& [index, group] : groups) {
    if (index >= wanted) RemoveGroup(look, group);
  }
  std::int64_t made = 0, ready = 0;
  for (std::int64_t index = 0; index < wanted; ++index) {
    const Group& group = groups[index];
    ready += Fill(look, index, group) ? 1 : 0;
    made += group.count(0) > 0 ? 1 : 0;
  }
  json::object& status = Child(look.set, "status");
  status["replicas"] = made;
  status["updatedReplicas"] = made;
  status["readyReplicas"] = ready;
  status["hpaPodSelector"] = kMark + "name=" + key.name + "," + kMark + "worker-index=0";
  const json::object extra{{"observedGeneration", Number(look.set, {"metadata", "generation"})}};
  const bool available = ready >= wanted;
  SetCondition(status, "Available", available, "AllGroupsReady", "All replicas are ready",
               cluster.Now(), extra);
  SetCondition(status, "Progressing", !available, "GroupsProgressing", "Replicas are progressing",
               cluster.Now(), extra);
  cluster.Write(key, std::move(look.set));
}

}  // namespace muster::fake
