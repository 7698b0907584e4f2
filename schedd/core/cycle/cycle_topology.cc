// The machines during one cycle. Charges of holders are cached, because a search for victims takes
// and puts back the same holders many times.
#include "schedd/core/cycle/cycle_topology.h"

#include <algorithm>

namespace muster::core {
namespace {

const PodSets& PodSetsOf(const JobRecord& job) {
  static const PodSets kNone;
  return job.pod_sets ? *job.pod_sets : kNone;
}

}  // namespace

CycleTopology::CycleTopology(TopologyUsage usage, const AdmissionSettings& settings)
    : usage_(std::move(usage)) {
  if (usage_.forest() != nullptr && settings.tas) placer_.emplace(&usage_, settings);
}

const TopologyCharges& CycleTopology::ChargesOf(const JobRecord& holder) {
  static const TopologyCharges kNone;
  if (!placer_ || holder.admission == nullptr) return kNone;
  const auto [entry, fresh] = charges_.try_emplace(holder.id);
  if (fresh) {
    entry->second =
        ChargesOn(*usage_.forest(), PodSetsOf(holder), *holder.admission, holder.cluster);
  }
  return entry->second;
}

// A job that runs already is charged on its own member.
TopologyCharges CycleTopology::NetChargesOf(const JobRecord& job, const Admission& admission,
                                            const JobRecord* held, const std::string& cluster) {
  if (!placer_) return {};
  TopologyCharges all = ChargesOn(*usage_.forest(), PodSetsOf(job), admission,
                                  job.cluster.empty() ? cluster : job.cluster);
  if (held == nullptr || all.empty()) return all;
  return NetCharges(all, ChargesOf(*held));
}

// The first open member on which all machines of the admission are free.
std::string CycleTopology::ClusterOf(const JobRecord& job, const Admission& admission) const {
  if (!placer_) return "";
  const TopologyForest& forest = *usage_.forest();
  for (std::size_t i = 0; i < forest.cluster_count(); ++i) {
    if (!forest.IsOpen(i)) continue;
    const auto charges = ChargesOn(forest, PodSetsOf(job), admission, forest.cluster_name(i));
    if (!charges.list.empty() && usage_.Fits(charges)) return forest.cluster_name(i);
  }
  return "";
}

void CycleProbe::Remove(const Holder& holder) {
  topology_->usage()->Release(topology_->ChargesOf(*holder.job));
}

void CycleProbe::Restore(const Holder& holder) {
  topology_->usage()->Charge(topology_->ChargesOf(*holder.job));
}

bool CycleProbe::Fits() { return asks_.empty() || topology_->placer()->CanPlace(job_, asks_); }

}  // namespace muster::core
