// The conditions and usage that a ClusterQueue's status shows (rule A61), in Kueue's words.
//
// The checks run in Kueue's order: Stopped, missing flavors, admission checks (missing, inactive,
// several MultiKueue checks, MultiKueue per flavor, MultiKueue with ProvisioningRequest), missing
// topologies, cohort cycle. The condition has the reason of the first problem and the sentences of
// all of them.
#include "schedd/core/quota/queue_status.h"

#include <algorithm>

#include "schedd/base/quantity.h"

namespace muster::core {
namespace {

constexpr std::string_view kMultiKueue = "kueue.x-k8s.io/multikueue";
constexpr std::string_view kProvisioning = "kueue.x-k8s.io/provisioning-request";

// Collects sentences; the first reason is the one that is shown.
class Problems {
 public:
  void Add(const char* reason, std::string message) {
    if (messages_.empty()) reason_ = reason;
    messages_ += (messages_.empty() ? "" : ", ") + std::move(message);
  }
  // Adds a sentence with the names, separated by commas; nothing if the list is empty.
  void Add(const char* reason, const char* sentence, const std::vector<std::string>& names) {
    if (names.empty()) return;
    std::string list;
    for (const auto& name : names) list += (list.empty() ? "" : ",") + name;
    Add(reason, sentence + list);
  }
  bool empty() const { return messages_.empty(); }
  Readiness ToReadiness() const {
    return {false, reason_, "Can't admit new workloads: " + messages_ + "."};
  }

 private:
  std::string reason_, messages_;
};

// Calls `visit` with the name of each flavor of the spec, in order.
template <class Visit>
void ForEachFlavor(const ClusterQueue& queue, Visit visit) {
  for (const auto& group : queue.resource_groups) {
    for (const auto& flavor : group.flavors) visit(flavor.flavor);
  }
}

// The flavors of the queue's spec that no ResourceFlavor object defines, each once, in spec order.
std::vector<std::string> MissingFlavors(const ConfigView& config, const ClusterQueue& queue) {
  std::vector<std::string> missing;
  ForEachFlavor(queue, [&](const std::string& name) {
    if (!config.flavors.contains(name) &&
        std::find(missing.begin(), missing.end(), name) == missing.end()) {
      missing.push_back(name);
    }
  });
  return missing;
}

// Kueue's limits on MultiKueue: at most one such check per queue, for all flavors, and not beside a
// ProvisioningRequest check.
void CheckAdmissionChecks(const ConfigView& config, const ClusterQueue& queue, Problems* problems) {
  std::vector<std::string> missing, inactive, multi_kueue, per_flavor, provisioning;
  for (const auto& rule : queue.admission_checks) {
    const auto found = config.admission_checks.find(rule.name);
    if (found == config.admission_checks.end()) {
      missing.push_back(rule.name);
      continue;
    }
    if (!found->second.active) inactive.push_back(rule.name);
    if (found->second.controller == kProvisioning) provisioning.push_back(rule.name);
    if (found->second.controller != kMultiKueue) continue;
    multi_kueue.push_back(rule.name);
    if (!rule.on_flavors.empty()) per_flavor.push_back(rule.name);
  }
  for (auto* list : {&missing, &inactive, &multi_kueue, &per_flavor, &provisioning})
    std::sort(list->begin(), list->end());
  problems->Add("AdmissionCheckNotFound", "references missing AdmissionCheck(s): ", missing);
  problems->Add("AdmissionCheckInactive", "references inactive AdmissionCheck(s): ", inactive);
  if (multi_kueue.size() > 1) {
    problems->Add(
        "MultipleMultiKueueAdmissionChecks",
        "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: ",
        multi_kueue);
  }
  problems->Add("MultiKueueAdmissionCheckAppliedPerFlavor",
                "Cannot specify MultiKueue AdmissionCheck per flavor, found: ", per_flavor);
  if (multi_kueue.empty() || provisioning.empty()) return;
  std::vector<std::string> both = multi_kueue;
  both.insert(both.end(), provisioning.begin(), provisioning.end());
  std::sort(both.begin(), both.end());
  problems->Add(
      "MultiKueueWithProvisioningRequest",
      "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: ", both);
}

// Every flavor that names a Topology needs it, if topology aware scheduling is on.
void CheckTopologies(const ConfigView& config, const ClusterQueue& queue, Problems* problems) {
  ForEachFlavor(queue, [&](const std::string& name) {
    const auto flavor = config.flavors.find(name);
    if (flavor == config.flavors.end() || flavor->second.topology.empty()) return;
    if (config.topologies.contains(flavor->second.topology)) return;
    problems->Add("TopologyNotFound", "there is no Topology \"" + flavor->second.topology +
                                          "\" for TAS flavor \"" + name + "\"");
  });
}

}  // namespace

Readiness ReadinessOf(const ConfigView& config, const AdmissionSettings& settings,
                      const QuotaTree& tree, const ClusterQueue& queue, bool terminating) {
  if (terminating)
    return {false, "Terminating", "Can't admit new workloads; clusterQueue is terminating"};
  Problems problems;
  if (queue.stop_policy != StopPolicy::kNone) problems.Add("Stopped", "is stopped");
  problems.Add("FlavorNotFound",
               "references missing ResourceFlavor(s): ", MissingFlavors(config, queue));
  CheckAdmissionChecks(config, queue, &problems);
  if (settings.tas) CheckTopologies(config, queue, &problems);
  const NodeIndex node = tree.ClusterQueueIndex(queue.name);
  if (node >= 0 && tree.node(node).in_cycle)
    problems.Add("CohortCycle", "its cohorts form a cycle");
  if (!problems.empty()) return problems.ToReadiness();
  return {true, "Ready", "Can admit new workloads"};
}

std::vector<FlavorUse> UseOf(const ClusterQueue& queue, const AmountAt& held) {
  std::vector<FlavorUse> list;
  for (const auto& group : queue.resource_groups) {
    for (const auto& flavor : group.flavors) {
      FlavorUse& use = list.emplace_back();
      use.flavor = flavor.flavor;
      for (const auto& [resource, quota] : flavor.resources) {
        const std::int64_t total = held(flavor.flavor, resource);
        const std::int64_t above = std::max<std::int64_t>(0, SaturatingSub(total, quota.nominal));
        use.resources.push_back({resource, total, queue.cohort.empty() ? 0 : above});
      }
    }
  }
  return list;
}

}  // namespace muster::core
