// Machines that fail under jobs with a topology assignment (rule A48).
//
// A machine has failed if its member's declaration (annotation muster.io/nodes) lacks it, says that
// it is not ready, or gives it a NoExecute taint that the pods do not tolerate. Such a declaration
// says that no pod of the machine runs on. Check computes the failed machines under each placed job
// anew and compares them with `unhealthy_nodes` in its record, so it does not matter how often it
// runs.
//
// One failed machine is written into the record; a second pass (Machines) then looks for a
// replacement inside the required domain, and evicts the job if there is none. If the machine comes
// back first, the list is emptied and nothing else happens. A second failed machine evicts the job
// for NodeFailures. On a Kubernetes member already the first one does: what was created there pins
// the pods, and a replacement would not move them.
#include "schedd/engine/jobs/node_failures.h"

#include <algorithm>
#include <map>

#include "schedd/model/topology.h"

namespace muster {
namespace {

// The machine with this host name; null if the member does not declare it.
const Node* FindNode(const MemberCluster& member, const std::string& host) {
  const auto found = std::find_if(member.nodes.begin(), member.nodes.end(), [&](const Node& node) {
    const auto label = node.labels.find(kHostnameLabel);
    return label != node.labels.end() && label->second == host;
  });
  return found == member.nodes.end() ? nullptr : &*found;
}

// True if the machine has a NoExecute taint that the pods of the pod set do not tolerate. Without
// constraints the pods tolerate nothing.
bool DrivesAway(const Node& node, const PodSet* pod_set) {
  return std::any_of(node.taints.begin(), node.taints.end(), [&](const Taint& taint) {
    if (taint.effect != "NoExecute") return false;
    if (pod_set == nullptr || pod_set->constraints == nullptr) return true;
    const auto& tolerations = pod_set->constraints->tolerations;
    return std::none_of(tolerations.begin(), tolerations.end(),
                        [&](const Toleration& one) { return Tolerates(one, taint); });
  });
}

// Taints count only with the gate TASReplaceNodeOnNodeTaints. A member that declares no machines is
// one machine with its own name.
bool Failed(const MemberCluster& member, const std::string& machine, const PodSet* pod_set,
            const AdmissionSettings& settings) {
  if (member.nodes.empty()) return machine != member.name;
  const Node* node = FindNode(member, machine);
  if (node == nullptr || !node->ready) return true;
  return settings.tas_replace_on_taints && DrivesAway(*node, pod_set);
}

const PodSet* PodSetOf(const JobRecord& job, const std::string& name) {
  const auto found = std::find_if(job.pod_sets->begin(), job.pod_sets->end(),
                                  [&](const PodSet& one) { return one.name == name; });
  return found == job.pod_sets->end() ? nullptr : &*found;
}

// The failed machines among those that the job was assigned, each once, in the order of its pods.
// Assignments whose lowest level is not the host name name no machines.
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

// Looks at all placed jobs, in id order. Jobs that are being evicted or cancelled leave anyway.
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

// Acts only if the list differs from the one in the record. An empty list: the machine is back and
// is not replaced any more.
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
