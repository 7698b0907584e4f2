// What the status of a ClusterQueue and of a LocalQueue shows: whether it works and why not, and
// how much of each flavor is used (rule A61). Pure.
#pragma once

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

/// Of a ClusterQueue of `config`; `tree` is the configuration's. `terminating`: deletion was asked
/// for and workloads still hold quota in it.
Readiness ReadinessOf(const ConfigView& config, const AdmissionSettings& settings,
                      const QuotaTree& tree, const ClusterQueue& queue, bool terminating);

/// One resource of one flavor.
struct ResourceUse {
  std::string resource;
  std::int64_t total = 0;
  std::int64_t borrowed = 0;  // above nominal; 0 outside a cohort: there is nobody to borrow from
};
struct FlavorUse {
  std::string flavor;
  std::vector<ResourceUse> resources;
};

/// What `jobs` hold of the queue, by flavor and resource in the order of its spec. Jobs of other
/// queues are passed over.
std::vector<FlavorUse> UseOf(const ClusterQueue& queue, const AdmissionSettings& settings,
                             const std::vector<const JobRecord*>& jobs);

}  // namespace muster::core
