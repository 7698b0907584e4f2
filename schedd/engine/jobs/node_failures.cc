// Machines that fail under jobs that stand on them (rule A48).
//
// What tells of a failure is the member's declaration (annotation muster.io/nodes): a machine that
// is not in it any more, that is not ready, or that has a NoExecute taint which the pods do not
// tolerate. A declaration of that kind says that no pod of the machine runs on. One failed machine
// under a job is in its `unhealthy_nodes` until a second pass has replaced it, and leaves the list
// if it comes back; without a replacement, or with a second one, the job is evicted for
// NodeFailures. On a Kubernetes member the first one evicts it: the objects that were created there
// pin its pods, and a replacement would not move them.
#include "schedd/engine/jobs/node_failures.h"

#include <algorithm>
#include <map>

#include "schedd/model/topology.h"

namespace muster {
namespace {

// The machine of this host name; null if the member declares none such.
const Node* FindNode(const MemberCluster& member, const std::string& host) {
  const auto found = std::find_if(member.nodes.begin(), member.nodes.end(), [&](const Node& node) {
    const auto label = node.labels.find(kHostnameLabel);
    return label != node.labels.end() && label->second == host;
  });
  return found == member.nodes.end() ? nullptr : &*found;
}

bool DrivesAway(const Node& node, const PodSet* pod_set) {
  return std::any_of(node.taints.begin(), node.taints.end(), [&](const Taint& taint) {
    if (taint.effect != "NoExecute") return false;
    if (pod_set == nullptr || pod_set->constraints == nullptr) return true;
    const auto& tolerations = pod_set->constraints->tolerations;
    return std::none_of(tolerations.begin(), tolerations.end(),
                        [&](const Toleration& one) { return Tolerates(one, taint); });
  });
}

bool Failed(const MemberCluster& member, const std::string& machine, const PodSet* pod_set,
            const AdmissionSettings& settings) {
  if (member.nodes.empty()) return machine != member.name;  // it is one machine itself
  const Node* node = FindNode(member, machine);
  if (node == nullptr || !node->ready) return true;
  return settings.tas_replace_on_taints && DrivesAway(*node, pod_set);
}

const PodSet* PodSetOf(const JobRecord& job, const std::string& name) {
  const auto found = std::find_if(job.pod_sets->begin(), job.pod_sets->end(),
                                  [&](const PodSet& one) { return one.name == name; });
  return found == job.pod_sets->end() ? nullptr : &*found;
}

// The failed machines among those that the job stands on, each once, in the order of its pods.
std::vector<std::string> FailedUnder(const JobRecord& job, const MemberCluster& member,
                                     const AdmissionSettings& settings) {
  std::vector<std::string> failed;
  for (const PodSetAssignment& pod_set : job.admission->pod_sets) {
    const TopologyAssignment* placed = pod_set.topology.get();
    if (placed == nullptr || placed->levels.empty() || placed->levels.back() != kHostnameLabel)
      continue;
    for (const TopologyDomain& domain : placed->domains) {
      const std::string& machine = domain.values.back();
      if (std::find(failed.begin(), failed.end(), machine) != failed.end()) continue;
      if (Failed(member, machine, PodSetOf(job, pod_set.name), settings)) failed.push_back(machine);
    }
  }
  return failed;
}

std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

// After every change of what members declare.
void NodeFailures::Check() {
  const AdmissionSettings& settings = context_.settings();
  if (!settings.tas || !settings.tas_failed_node_replacement) return;
  std::map<JobId, JobPtr> placed;
  for (const auto& [id, job] : jobs_.all()) {
    if (!HoldsQuota(job->state) || job->admission == nullptr || IsTrue(*job, "Evicted")) continue;
    const auto& pod_sets = job->admission->pod_sets;
    const bool on_machines =
        std::any_of(pod_sets.begin(), pod_sets.end(),
                    [](const PodSetAssignment& pod_set) { return pod_set.topology != nullptr; });
    if (on_machines && !changes::IsCancelling(*job)) placed[id] = job;
  }
  for (const auto& [id, job] : placed) {
    const auto member = config_.view()->member_clusters.find(job->cluster);
    if (member != config_.view()->member_clusters.end())
      Note(job, FailedUnder(*job, member->second, settings));
  }
}

// A machine that is back is not replaced any more.
void NodeFailures::Note(const JobPtr& job, const std::vector<std::string>& failed) {
  const std::vector<std::string>& known = StateOf(*job).unhealthy_nodes;
  if (failed == known) return;
  const auto evict = [&](const std::string& why) {
    attempts_.EvictFor(job, Reason::kNodeFailures,
                       {std::string(ReasonName(Reason::kNodeFailures)), "", why});
  };
  if (failed.size() > 1) {
    return evict(
        "Workload eviction triggered due to multiple TAS assigned node failures, including: " +
        Listed(failed));
  }
  if (!failed.empty() && IsDispatched(job->state) &&
      config_.view()->member_clusters.at(job->cluster).backend == "kubernetes") {
    return evict("Workload was evicted as its pods on member cluster " + job->cluster +
                 " cannot leave unhealthy node(s): " + failed.front());
  }
  auto draft = std::make_shared<JobRecord>(*job);
  ChangeState(draft.get(), [&](AdmissionState* state) { state->unhealthy_nodes = failed; });
  jobs_.Put(job, std::move(draft), failed.empty() ? "JobMachineBack" : "JobMachineFailed");
}

}  // namespace muster
