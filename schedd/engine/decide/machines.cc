// Use of the machines of topology aware flavors, kept up to date holder by holder. `charges_` has
// what each holder takes, and `usage_` is their sum on the trees. A change of one holder takes its
// old charges off and adds its new ones; so a cycle does not count all holders again.
//
// Two flags say what is valid: without `forest_known_` the trees are made anew at the next Usage
// (members or flavors changed), and without `usage_known_` all holders are charged anew. Track only
// marks the usage as unknown while there is nothing to keep up to date.
#include "schedd/engine/decide/machines.h"

#include "schedd/core/topology/member_machines.h"
#include "schedd/engine/commit/ledger.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster {
namespace {

core::TopologyCharges ChargesOn(const core::TopologyForest& trees, const JobRecord& job) {
  return core::ChargesOn(trees, *job.pod_sets, *job.admission, job.cluster);
}

}  // namespace

// Goes over the holders queue by queue; a queue that the tree does not know has none.
core::TopologyUsage Machines::UsageOf(const ConfigView& config,
                                      const core::TopologyForestPtr& trees,
                                      const core::Holders& holders, const core::QuotaTree& tree,
                                      Charges* each) {
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

// Machines are those that members declare or report (rule A44).
core::TopologyForestPtr Machines::ForestOf(const ConfigView& config) const {
  std::vector<MemberCluster> members;
  members.reserve(config.member_clusters.size());
  for (const auto& [name, declared] : config.member_clusters)
    members.push_back(WithFacts(declared, members_.facts()));
  return core::ForestOf(config, std::move(members), context_.settings());
}

void Machines::Reset() {
  forest_known_ = false;
  second_passes_ = {};
}

// Called by each cycle; after the first call it costs nothing until ForgetTrees.
const core::TopologyUsage& Machines::Usage() {
  if (!forest_known_) {
    forest_ = ForestOf(*config_.view());
    forest_known_ = true;
    usage_known_ = false;
  }
  if (usage_known_) return usage_;
  usage_known_ = true;
  charges_.clear();
  usage_ = forest_ == nullptr
               ? core::TopologyUsage()
               : UsageOf(*config_.view(), forest_, jobs_.holders(), jobs_.tree(), &charges_);
  return usage_;
}

void Machines::Change(const JobRecord& before, const JobPtr& job) {
  const bool held = before.admission != nullptr && HoldsQuota(before.state);
  const bool holds = job->admission != nullptr && HoldsQuota(job->state);
  if (held || holds) Track(before, job, holds);
  OfferSecondPass(job);
}

// The admission tells which machines a holder takes, and on which member; if both are the same,
// nothing changes.
void Machines::Track(const JobRecord& before, const JobPtr& after, bool holds) {
  if (forest_ == nullptr || !forest_known_ || !usage_known_) {
    usage_known_ = false;
    return;
  }
  const auto known = charges_.find(after->id);
  const bool had = known != charges_.end();
  if (had && holds && before.admission == after->admission && before.cluster == after->cluster)
    return;
  if (had) {
    usage_.Release(known->second);
    charges_.erase(known);
  }
  if (!holds) return;
  core::TopologyCharges& charges = charges_[after->id];
  charges = ChargesOn(*forest_, *after);
  usage_.Charge(charges);
}

// Offer queues a job that needs a second pass, unless it is queued; Update replaces its record or
// drops it.
void Machines::OfferSecondPass(const JobPtr& job) {
  if (NeedsSecondPass(*job)) second_passes_.Offer(job, context_.clock.WallNow());
  second_passes_.Update(job);
}

bool Machines::SecondPassDue() const {
  const WallTime due = second_passes_.NextDue();
  return due.set() && due <= context_.clock.WallNow();
}

}  // namespace muster
