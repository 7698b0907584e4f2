// Builders for the tests of schedd/core: a configuration, pending jobs and the snapshot of both.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedd/core/cycle.h"
#include "schedd/core/plan_check.h"
#include "schedd/core/snapshot.h"

namespace muster::core::testing {

struct QuotaOf {
  std::string flavor, resource;
  std::int64_t nominal = 0;
  std::optional<std::int64_t> borrowing = {}, lending = {};
};

/// One resource group; the entries of one flavor are consecutive and name the same resources.
inline ResourceGroup Group(const std::vector<QuotaOf>& quotas) {
  ResourceGroup group;
  for (const auto& quota : quotas) {
    if (group.flavors.empty() || group.flavors.back().flavor != quota.flavor) {
      group.flavors.push_back({quota.flavor, {}});
    }
    group.flavors.back().resources.emplace_back(
        quota.resource, Quota{quota.nominal, quota.borrowing, quota.lending});
    auto& covered = group.covered_resources;
    if (std::find(covered.begin(), covered.end(), quota.resource) == covered.end()) {
      covered.push_back(quota.resource);
    }
  }
  return group;
}

inline PodSet Pods(const std::string& name, std::int32_t count, const ResourceList& requests) {
  return {name, count, requests, nullptr};
}

inline PodSet With(PodSet pods, const SchedulingConstraints& constraints) {
  pods.constraints = std::make_shared<const SchedulingConstraints>(constraints);
  return pods;
}

/// A small fleet. Every queue has a LocalQueue `lq-<name>` in namespace `default`.
class World {
 public:
  World() { config_.namespaces["default"] = {"default", {{"env", "prod"}}}; }

  World& Flavor(const std::string& name, const LabelMap& labels = {},
                const std::vector<Taint>& taints = {}) {
    config_.flavors[name] = {name, labels, taints, {}};
    return *this;
  }
  ClusterQueue& Queue(const std::string& name, const std::string& cohort,
                      const std::vector<QuotaOf>& quotas) {
    auto& queue = config_.cluster_queues[name];
    queue.name = name;
    queue.cohort = cohort;
    queue.namespace_selector = LabelSelector{};
    queue.resource_groups = {Group(quotas)};
    for (const auto& quota : quotas) {
      if (!config_.flavors.contains(quota.flavor)) Flavor(quota.flavor);
    }
    config_.local_queues[{"default", "lq-" + name}] = {"default", "lq-" + name, name,
                                                       StopPolicy::kNone};
    return queue;
  }
  World& CohortOf(const std::string& name, const std::string& parent,
                  const std::vector<QuotaOf>& quotas = {}) {
    config_.cohorts[name] = {name, parent, {}};
    if (!quotas.empty()) config_.cohorts[name].resource_groups = {Group(quotas)};
    return *this;
  }
  MemberCluster& Member(const std::string& name, const ResourceList& allocatable) {
    ClusterView view;
    view.member.name = name;
    view.member.backend = "local";
    view.member.any_flavor = true;
    view.member.allocatable = allocatable;
    view.free = allocatable;
    clusters_.push_back(view);
    return clusters_.back().member;
  }

  /// A pending job; ids count up and so do submit times.
  std::shared_ptr<JobRecord> Job(const std::string& queue, std::int32_t priority,
                                 const PodSets& pod_sets) {
    auto job = std::make_shared<JobRecord>();
    job->id = {++last_id_};
    job->uid = {7, static_cast<std::uint64_t>(last_id_)};
    job->name = "job-" + std::to_string(last_id_);
    job->ns = "default";
    job->local_queue = "lq-" + queue;
    job->cluster_queue = queue;
    job->priority = priority;
    job->submit_time = {1'000'000 + last_id_};
    job->accept_seq = last_id_;
    job->pod_sets = std::make_shared<const PodSets>(pod_sets);
    return job;
  }
  JobPtr Add(const std::shared_ptr<JobRecord>& job) {
    pending_.Add(job);
    return job;
  }
  /// One pod set `main`, added to the pending queues.
  JobPtr Submit(const std::string& queue, std::int32_t count, const ResourceList& requests,
                std::int32_t priority = 0) {
    return Add(Job(queue, priority, {Pods("main", count, requests)}));
  }

  core::Usage EmptyUsage() const { return core::Usage(QuotaTree::Build(config_)); }

  Snapshot Take(std::size_t per_queue = 1000) const {
    Snapshot snapshot;
    snapshot.config = std::make_shared<const ConfigView>(config_);
    snapshot.usage = used_.value_or(EmptyUsage());
    snapshot.heads = pending_.Heads(per_queue, 1'000'000);
    snapshot.clusters = clusters_;
    return snapshot;
  }
  void Use(const core::Usage& usage) { used_ = usage; }

  ConfigView& config() { return config_; }
  PendingQueues& pending() { return pending_; }
  std::vector<ClusterView>& clusters() { return clusters_; }

 private:
  ConfigView config_;
  PendingQueues pending_;
  std::vector<ClusterView> clusters_;
  std::optional<core::Usage> used_;
  std::int64_t last_id_ = 0;
};

inline std::vector<std::int64_t> AdmittedIds(const Plan& plan) {
  std::vector<std::int64_t> ids;
  for (const auto& admit : plan.admits) ids.push_back(admit.job->id.value);
  return ids;
}

inline CycleInput Input(std::size_t heads = 1'000'000) {
  CycleInput input;
  input.budget.heads = heads;
  return input;
}

}  // namespace muster::core::testing
