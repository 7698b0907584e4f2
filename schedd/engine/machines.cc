// Machines: the trees of topology aware flavors with what holders take of them (kueue.md 2.11), and
// second passes for what was left open of a placement (2.3).
#include <algorithm>

#include "schedd/engine/impl.h"

namespace muster {
namespace {

constexpr std::int64_t kManyPods = 1'000'000;  // what a member may run is limited by its resources
constexpr const char* kHostname = "kubernetes.io/hostname";

bool HasTopologies(const ConfigView& config) {
  return std::any_of(config.flavors.begin(), config.flavors.end(),
                     [](const auto& flavor) { return !flavor.second.topology.empty(); });
}

// A member that declares no machines is one.
void DeclareMachine(MemberCluster* member) {
  if (!member->nodes.empty()) return;
  Node node;
  node.name = member->name;
  node.labels = member->labels;
  node.labels[kHostname] = member->name;
  node.taints = member->taints;
  node.allocatable = member->allocatable;
  if (AmountOf(node.allocatable, "pods") == 0) SetAmount(&node.allocatable, "pods", kManyPods);
  node.ready = member->healthy;
  member->nodes.push_back(std::move(node));
}

}  // namespace

core::TopologyUsage Engine::Impl::MachinesOf(const ConfigView& config,
                                             const core::TopologyForestPtr& trees,
                                             const core::Holders& holders,
                                             const core::QuotaTree& tree) const {
  core::TopologyUsage usage(trees);
  for (const auto& [name, queue] : config.cluster_queues) {
    const core::NodeIndex node = tree.ClusterQueueIndex(name);
    if (node < 0) continue;
    for (const core::HolderPtr& holder : holders.Of(node)) {
      const JobRecord& job = *holder->job;
      usage.Charge(core::ChargesOn(*trees, *job.pod_sets, *job.admission, job.cluster));
    }
  }
  return usage;
}

core::TopologyForestPtr Engine::Impl::ForestOf(const ConfigView& config) const {
  if (!options.settings->tas || !HasTopologies(config)) return nullptr;
  std::vector<MemberCluster> members;
  for (const auto& [name, declared] : config.member_clusters) {
    members.push_back(WithFacts(declared, facts));
    DeclareMachine(&members.back());
  }
  std::vector<const MemberCluster*> pointers;
  for (const MemberCluster& member : members) pointers.push_back(&member);
  return core::TopologyForest::Build(config, pointers, *options.settings);
}

void Engine::Impl::RefreshMachines() {
  if (!forest_known) {
    forest = ForestOf(*live.config);
    forest_known = true;
    machines_known = false;
  }
  if (machines_known) return;
  machines_known = true;
  machines = forest == nullptr
                 ? core::TopologyUsage()
                 : MachinesOf(*live.config, forest, live.holders, live.charged.usage().tree());
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
