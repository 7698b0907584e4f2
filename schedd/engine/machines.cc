// Machines: the trees of topology aware flavors with what holders take of them (rule A44), and
// second passes for what was left open of a placement (rule A17).
#include "schedd/core/topology/member_machines.h"
#include "schedd/engine/impl.h"

namespace muster {
namespace {

core::TopologyCharges ChargesOn(const core::TopologyForest& trees, const JobRecord& job) {
  return core::ChargesOn(trees, *job.pod_sets, *job.admission, job.cluster);
}

}  // namespace

core::TopologyUsage Engine::Impl::MachinesOf(const ConfigView& config,
                                             const core::TopologyForestPtr& trees,
                                             const core::Holders& holders,
                                             const core::QuotaTree& tree,
                                             MachineCharges* each) const {
  core::TopologyUsage usage(trees);
  for (const auto& [name, queue] : config.cluster_queues) {
    const core::NodeIndex node = tree.ClusterQueueIndex(name);
    if (node < 0) continue;
    for (const core::HolderPtr& holder : holders.Of(node)) {
      core::TopologyCharges charges = ChargesOn(*trees, *holder->job);
      usage.Charge(charges);
      if (each != nullptr) (*each)[holder->id] = std::move(charges);
    }
  }
  return usage;
}

core::TopologyForestPtr Engine::Impl::ForestOf(const ConfigView& config) const {
  std::vector<MemberCluster> members;
  members.reserve(config.member_clusters.size());
  for (const auto& [name, declared] : config.member_clusters)
    members.push_back(WithFacts(declared, facts));
  return core::ForestOf(config, std::move(members), *options.settings);
}

void Engine::Impl::RefreshMachines() {
  if (!forest_known) {
    forest = ForestOf(*live.config);
    forest_known = true;
    machines_known = false;
  }
  if (machines_known) return;
  machines_known = true;
  machine_charges.clear();
  machines = forest == nullptr ? core::TopologyUsage()
                               : MachinesOf(*live.config, forest, live.holders,
                                            live.planned.usage().tree(), &machine_charges);
}

// One holder more, less, or elsewhere: only what it takes changes.
void Engine::Impl::TrackMachines(const JobRecord& before, const JobPtr& after, bool holds) {
  if (forest == nullptr || !forest_known || !machines_known) {
    machines_known = false;
    return;
  }
  const auto known = machine_charges.find(after->id);
  const bool had = known != machine_charges.end();
  if (had && holds && before.admission == after->admission && before.cluster == after->cluster)
    return;
  if (had) {
    machines.Release(known->second);
    machine_charges.erase(known);
  }
  if (!holds) return;
  core::TopologyCharges& charges = machine_charges[after->id];
  charges = ChargesOn(*forest, *after);
  machines.Charge(charges);
}

void Engine::Impl::OfferSecondPass(const JobPtr& job) {
  if (NeedsSecondPass(*job)) second_passes.Offer(job, clock.WallNow());
  second_passes.Update(job);
}

bool Engine::Impl::SecondPassDue() const {
  const WallTime due = second_passes.NextDue();
  return due.set() && due <= clock.WallNow();
}

// What was open of its placement is decided.
void Engine::Impl::Complete(const core::Admit& admit) {
  const auto found = live.jobs.find(admit.job->id);
  if (found == live.jobs.end() || !NeedsSecondPass(*found->second)) return;
  const JobPtr before = found->second;
  auto draft = std::make_shared<JobRecord>(*before);
  draft->admission = admit.admission;
  ChangeState(draft.get(), [](AdmissionState* state) { state->unhealthy_nodes.clear(); });
  second_passes.Erase(before->id);
  GoOn(Put(before, std::move(draft), "JobPlaced"));
}

}  // namespace muster
