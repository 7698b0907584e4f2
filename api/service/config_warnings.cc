// Walks up the parents of a cohort and remembers the way: the first cohort that comes a second time
// closes a cycle. Parents that no Cohort object declares have no parent, as in Kueue.
#include "api/service/config_warnings.h"

#include <algorithm>

namespace muster::api {

std::string CohortCycle(const ConfigView& config, const std::string& cohort) {
  std::vector<std::string> chain;
  for (std::string at = cohort; !at.empty();) {
    const bool again = std::find(chain.begin(), chain.end(), at) != chain.end();
    chain.push_back(at);
    if (again) {
      std::string text;
      for (const std::string& name : chain) text += (text.empty() ? "" : " -> ") + name;
      return text;
    }
    const auto declared = config.cohorts.find(at);
    at = declared == config.cohorts.end() ? "" : declared->second.parent;
  }
  return "";
}

std::vector<std::string> ConfigWarnings(const ConfigView& config, ObjectKind kind,
                                        const std::string& name) {
  if (kind == ObjectKind::kCohort) {
    const std::string cycle = CohortCycle(config, name);
    if (cycle.empty()) return {};
    return {"Cohort \"" + name + "\": its cohorts form a cycle (" + cycle +
            "): no ClusterQueue of theirs admits anything until it is broken"};
  }
  if (kind == ObjectKind::kNamespace) {
    const auto ns = config.namespaces.find(name);
    if (ns == config.namespaces.end() || !ns->second.tenancy.audit) return {};
    return {"Namespace \"" + name +
            "\": label pod-security.kubernetes.io/audit has no effect: Muster acts on enforce and "
            "warn"};
  }
  if (kind != ObjectKind::kClusterQueue) return {};
  const auto queue = config.cluster_queues.find(name);
  if (queue == config.cluster_queues.end()) return {};
  const std::string cycle = CohortCycle(config, queue->second.cohort);
  if (cycle.empty()) return {};
  return {"ClusterQueue \"" + name + "\": its cohorts form a cycle (" + cycle +
          "): it admits nothing until that is broken"};
}

}  // namespace muster::api
