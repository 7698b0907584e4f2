// A cohort tree and the workloads that hold quota in it, for the tests of the searches for victims.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedd/core/preempt/preemption.h"
#include "tests/unit/core/quotas.h"

namespace muster::core::testing {

/// Amounts by "flavor/resource"; "gpu" alone is resource gpu of flavor "f".
using Amounts = std::vector<std::pair<std::string, std::int64_t>>;
/// A workload that holds quota.

struct HeldQuota {
  std::string name, queue;
  std::int32_t priority = 0;
  Amounts amounts;
  bool evicted = false;
  std::int64_t reserved_s = 0;  // when quota was reserved
  std::int64_t created_s = 0;
  std::string local_queue = "lq";
};

/// The workload that needs room.
struct Incoming {
  std::string queue;
  std::int32_t priority = 0;
  Amounts amounts;
  Amounts only_contested = {};  // pairs that lack room; empty: all of `amounts`
  std::int64_t created_s = 0;
};

class Contest {
  /// Queues, holders and settings, built by Build.
 public:
  ClusterQueue& Queue(const std::string& name, const std::string& cohort,
                      const std::vector<QuotaEntry>& quotas) {
    ClusterQueue& queue = config_.cluster_queues[name];
    queue.name = name;
    queue.cohort = cohort;
    queue.resource_groups = {Group(quotas)};
    return queue;
  }
  Cohort& CohortOf(const std::string& name, const std::string& parent,
                   const std::vector<QuotaEntry>& quotas = {}) {
    Cohort& cohort = config_.cohorts[name];
    cohort.name = name;
    cohort.parent = parent;
    if (!quotas.empty()) cohort.resource_groups = {Group(quotas)};
    return cohort;
  }
  Contest& Holds(const HeldQuota& held) {
    held_.push_back(held);
    return *this;
  }
  AdmissionSettings& settings() { return settings_; }
  LocalQueueUsages& local_usages() { return local_usages_; }
  Contest& Fair(std::vector<FairStrategy> strategies = {FairStrategy::kLessThanOrEqualToFinalShare,
                                                        FairStrategy::kLessThanInitialShare}) {
    settings_.fair_sharing = std::move(strategies);
    return *this;
  }

  /// Builds tree, usage and holders; it must run before the queries.
  void Build() {
    tree_ = QuotaTree::Build(config_);
    usage_ = Usage(tree_);
    holders_ = Holders(tree_);
    std::int64_t id = 0;
    for (const HeldQuota& held : held_)
      holders_.Put(MakeHolder(*tree_, settings_, JobOf(held, ++id)));
    for (const HeldQuota& held : held_) {
      const NodeIndex queue = tree_->ClusterQueueIndex(held.queue);
      for (const Charge& charge : ChargesOf(held.amounts)) {
        usage_.Add(queue, charge.pair, charge.amount);
      }
    }
  }

  /// "name Reason" of every victim, in the order chosen. Calls Build.
  std::vector<std::string> Victims(const Incoming& incoming, TopologyProbe* probe = nullptr) {
    Build();
    const Charges requests = ChargesOf(incoming.amounts);
    std::vector<FlavorResourceIndex> contested;
    for (const Charge& charge :
         incoming.only_contested.empty() ? requests : ChargesOf(incoming.only_contested)) {
      contested.push_back(charge.pair);
    }
    VictimSearch search(settings_, holders_, &usage_,
                        local_usages_.empty() ? nullptr : &local_usages_);
    std::vector<std::string> out;
    for (const Victim& victim : search.Find(PreemptorOf(incoming), requests, contested, probe)) {
      out.push_back(victim.holder->job->name + " " + std::string(ReasonName(victim.reason)));
    }
    return out;
  }

  PreemptionOutlook Outlook(const Incoming& incoming) {
    Build();
    const Charges requests = ChargesOf(incoming.amounts);
    VictimSearch search(settings_, holders_, &usage_);
    return search.Simulate(PreemptorOf(incoming), requests.at(0).pair, requests.at(0).amount);
  }

  Charges ChargesOf(const Amounts& amounts) const {
    Charges charges;
    for (const auto& [name, amount] : amounts) charges.push_back({PairOf(name), amount});
    return charges;
  }
  FlavorResourceIndex PairOf(const std::string& name) const {
    const auto slash = name.find('/');
    return slash == std::string::npos
               ? tree_->PairIndex("f", name)
               : tree_->PairIndex(name.substr(0, slash), name.substr(slash + 1));
  }
  Preemptor PreemptorOf(const Incoming& incoming) const {
    return {nullptr,
            tree_->ClusterQueueIndex(incoming.queue),
            incoming.priority,
            {incoming.created_s * 1'000'000}};
  }
  NodeIndex NodeOf(const std::string& name) const {
    const NodeIndex queue = tree_->ClusterQueueIndex(name);
    return queue >= 0 ? queue : tree_->CohortIndex(name);
  }
  ConfigView& config() { return config_; }
  const QuotaTree& tree() const { return *tree_; }
  Usage& usage() { return usage_; }
  Holders& holders() { return holders_; }

 private:
  JobPtr JobOf(const HeldQuota& held, std::int64_t id) const {
    auto job = std::make_shared<JobRecord>();
    job->id = {id};
    job->uid = {1, static_cast<std::uint64_t>(id)};
    job->name = held.name;
    job->ns = "default";
    job->local_queue = held.local_queue;
    job->cluster_queue = held.queue;
    job->priority = held.priority;
    job->submit_time = {held.created_s * 1'000'000};
    std::vector<Condition> conditions = {
        {"QuotaReserved", "QuotaReserved", "", true, {held.reserved_s * 1'000'000}}};
    if (held.evicted) conditions.push_back({"Evicted", "Preempted", "", true, {}});
    job->conditions = std::make_shared<const std::vector<Condition>>(std::move(conditions));
    auto admission = std::make_shared<Admission>();
    admission->cluster_queue = held.queue;
    // One pod set for each pair: a pod set has a resource only once.
    for (const auto& [name, amount] : held.amounts) {
      const auto& [flavor, resource] = tree_->pair(PairOf(name));
      PodSetAssignment pods;
      pods.name = "p" + std::to_string(admission->pod_sets.size());
      pods.count = 1;
      pods.flavors = {{resource, flavor}};
      pods.usage = {{resource, amount}};
      admission->pod_sets.push_back(std::move(pods));
    }
    job->admission = std::move(admission);
    return job;
  }

  ConfigView config_;
  AdmissionSettings settings_;
  LocalQueueUsages local_usages_;
  std::vector<HeldQuota> held_;
  QuotaTreePtr tree_;
  Usage usage_;
  Holders holders_;
};

}  // namespace muster::core::testing
