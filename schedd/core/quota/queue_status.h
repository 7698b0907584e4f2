// The status of a ClusterQueue: whether it is active and why not, and how much of each flavor is
// used (rule A61); a LocalQueue's status uses the same parts (rule A60). Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schedd/core/quota/quota_tree.h"
#include "schedd/model/admission_settings.h"

namespace muster::core {

/// The condition Active.
struct Readiness {
  bool active = false;
  std::string reason, message;
};

/// The readiness of a ClusterQueue of `config`; `tree` is made of the same configuration.
/// `terminating`: its deletion was requested and workloads still hold quota in it.
Readiness ReadinessOf(const ConfigView& config, const AdmissionSettings& settings,
                      const QuotaTree& tree, const ClusterQueue& queue, bool terminating);

/// One resource of one flavor.
struct ResourceUse {
  std::string resource;
  std::int64_t total = 0;
  std::int64_t borrowed = 0;  // the part above nominal; 0 for a queue without a cohort
};
struct FlavorUse {
  std::string flavor;
  std::vector<ResourceUse> resources;
};

/// What is held of the queue, by flavor and resource in the order of its spec. `held` gives the
/// amount of one of them.
using AmountAt =
    std::function<std::int64_t(const std::string& flavor, const std::string& resource)>;
std::vector<FlavorUse> UseOf(const ClusterQueue& queue, const AmountAt& held);

}  // namespace muster::core
