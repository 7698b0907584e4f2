#include "schedd/lifecycle/holder_of.h"

#include <memory>

#include "schedd/lifecycle/job_changes.h"

namespace muster {

core::HolderPtr HolderOf(const core::QuotaTree& tree, const AdmissionSettings& settings,
                         const JobPtr& job) {
  core::HolderPtr made = core::MakeHolder(tree, settings, job);
  if (made->evicted || !changes::IsCancelling(*job)) return made;
  auto leaving = std::make_shared<core::Holder>(*made);
  leaving->evicted = true;
  return leaving;
}

}  // namespace muster
