// One ClusterQueue among others and a workload that needs flavors, for the tests of the flavor
// search.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedd/core/flavor/flavor_plan.h"
#include "tests/unit/core/quotas.h"

namespace muster::core::testing {

/// Answers by "flavor/resource" and records the questions.
class ScriptedOracle final : public PreemptionOracle {
 public:
  using Possibility = PreemptionOutlook::Possibility;
  explicit ScriptedOracle(const QuotaTree& tree) : tree_(tree) {}

  std::map<std::string, PreemptionOutlook> answers;  // for others no victim is found
  std::vector<std::pair<std::string, std::int64_t>> asked;

  PreemptionOutlook Simulate(const Preemptor&, FlavorResourceIndex pair,
                             std::int64_t amount) override {
    const std::string key = tree_.pair(pair).first + "/" + tree_.pair(pair).second;
    asked.emplace_back(key, amount);
    const auto found = answers.find(key);
    return found == answers.end() ? PreemptionOutlook{} : found->second;
  }

 private:
  const QuotaTree& tree_;
};

/// Machines by flavor: each has room for some pods now, and for more when it is empty.
class ScriptedPlacer final : public TopologyPlacer {
 public:
  struct Flavor {
    std::vector<std::string> levels;
    std::int32_t free_pods = 0, pods = 0;
  };
  std::map<std::string, Flavor> flavors;
  std::vector<TopologyAsk> asked;  // of the last Place
  int places = 0;

  bool Knows(const std::string& flavor) const override { return flavors.contains(flavor); }
  bool HasLevels(const std::string& flavor, const TopologyRequest& request) const override {
    const auto& levels = flavors.at(flavor).levels;
    return !request.required ||
           std::find(levels.begin(), levels.end(), *request.required) != levels.end();
  }
  TopologyPlacement Place(const JobRecord&, std::span<const TopologyAsk> asks,
                          bool simulate_empty) override {
    ++places;
    asked.assign(asks.begin(), asks.end());
    TopologyPlacement result;
    std::map<std::string, std::int32_t> taken;
    for (const TopologyAsk& ask : asks) {
      const Flavor& flavor = flavors.at(ask.flavor);
      taken[ask.flavor] += ask.count;
      if (taken[ask.flavor] > (simulate_empty ? flavor.pods : flavor.free_pods)) {
        result.failed = true;
        result.failed_pod_set = ask.pod_set;
        result.failed_flavor = ask.flavor;
        result.failure = "no room for " + std::to_string(ask.count);
        return result;
      }
      auto topology = std::make_shared<TopologyAssignment>();
      topology->levels = {"host"};
      topology->domains = {{{"node-of-" + ask.flavor}, ask.count}};
      result.placed.emplace_back(ask.pod_set, topology);
    }
    return result;
  }
};

inline PodSet Pods(const std::string& name, std::int32_t count, const ResourceList& requests) {
  return {name, count, requests, nullptr};
}

inline PodSet With(PodSet pods, const SchedulingConstraints& constraints) {
  pods.constraints = std::make_shared<const SchedulingConstraints>(constraints);
  return pods;
}

inline PodSet OnTopology(PodSet pods, const TopologyRequest& request) {
  pods.topology = std::make_shared<const TopologyRequest>(request);
  return pods;
}

class FlavorWorld {
 public:
  FlavorWorld& Flavor(const std::string& name, const LabelMap& labels = {},
                      const std::vector<Taint>& taints = {}, const std::string& topology = "") {
    config.flavors[name] = {name, labels, taints, {}, topology};
    return *this;
  }
  ClusterQueue& Queue(const std::string& name, const std::string& cohort,
                      const std::vector<QuotaEntry>& quotas) {
    ClusterQueue& queue = config.cluster_queues[name];
    queue.name = name;
    queue.cohort = cohort;
    queue.resource_groups = {Group(quotas)};
    for (const auto& quota : quotas) {
      if (!config.flavors.contains(quota.flavor)) Flavor(quota.flavor);
    }
    return queue;
  }
  FlavorWorld& CohortOf(const std::string& name, const std::string& parent,
                        const std::vector<QuotaEntry>& quotas) {
    Cohort& cohort = config.cohorts[name];
    cohort.name = name;
    cohort.parent = parent;
    cohort.resource_groups = {Group(quotas)};
    return *this;
  }
  void Take(const std::string& queue, const std::string& flavor, const std::string& resource,
            std::int64_t amount) {
    Build();
    usage->Add(usage->tree().ClusterQueueIndex(queue), usage->tree().PairIndex(flavor, resource),
               amount);
  }
  /// Builds the quota tree; quotas cannot change afterwards.
  void Build() {
    if (!usage) usage.emplace(QuotaTree::Build(config));
  }
  ScriptedOracle& Oracle() {
    Build();
    if (oracle == nullptr) oracle = std::make_unique<ScriptedOracle>(usage->tree());
    return *oracle;
  }

  JobRecord Job(const PodSets& pod_sets, const std::string& queue = "q") const {
    JobRecord job;
    job.cluster_queue = queue;
    job.pod_sets = std::make_shared<const PodSets>(pod_sets);
    return job;
  }
  Assignment Assign(const JobRecord& job, AssignRequest request = {}) {
    Build();
    if (request.oracle == nullptr) request.oracle = oracle.get();
    return AssignFlavors(config, settings, *usage, config.cluster_queues.at(job.cluster_queue), job,
                         placer, request);
  }
  Assignment Assign(const PodSets& pod_sets, const std::string& queue = "q") {
    return Assign(Job(pod_sets, queue));
  }
  /// The verdict without sentences, from a fresh plan; its flavor of the first step, or the kind.
  std::string Quick(const JobRecord& job) {
    Build();
    FlavorPlan plan(config, settings, usage->tree(), config.cluster_queues.at(job.cluster_queue),
                    job, placer);
    const QuickVerdict verdict = plan.Choose(*usage, nullptr);
    switch (verdict.kind) {
      case QuickVerdict::Kind::kFits:
        return "fits " + verdict.choice->admission->pod_sets[0].flavors.begin()->second;
      case QuickVerdict::Kind::kNoVictims:
        return "no victims";
      case QuickVerdict::Kind::kNeedsSearch:
        return "needs search";
      case QuickVerdict::Kind::kNoFit:
        break;
    }
    return "no fit";
  }

  ConfigView config;
  AdmissionSettings settings;
  std::optional<Usage> usage;
  std::unique_ptr<ScriptedOracle> oracle;
  TopologyPlacer* placer = nullptr;
};

/// "two" for the first pod set, "no fit: <message>" if there is none.
inline std::string FlavorOf(const Assignment& assignment, std::size_t pod_set,
                            const std::string& resource) {
  if (assignment.Mode() == FlavorMode::kNoFit) return "no fit: " + assignment.Message();
  return assignment.pod_sets.at(pod_set).flavors.at(resource).flavor;
}

}  // namespace muster::core::testing
