// Builders for the tests of schedd/core: a configuration, pending jobs and the snapshot of both.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedd/core/cycle/apply.h"
#include "schedd/core/cycle/cycle.h"
#include "schedd/core/cycle/plan_check.h"
#include "schedd/core/cycle/snapshot.h"
#include "schedd/model/admission_lifecycle.h"
#include "tests/unit/core/quotas.h"

namespace muster::core::testing {

inline PodSet Pods(const std::string& name, std::int32_t count, const ResourceList& requests) {
  PodSet pods;
  pods.name = name;
  pods.count = count;
  pods.requests = requests;
  return pods;
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
    ResourceFlavor& flavor = config_.flavors[name];
    flavor.name = name;
    flavor.node_labels = labels;
    flavor.node_taints = taints;
    return *this;
  }
  ClusterQueue& Queue(const std::string& name, const std::string& cohort,
                      const std::vector<QuotaEntry>& quotas) {
    auto& queue = config_.cluster_queues[name];
    queue.name = name;
    queue.cohort = cohort;
    queue.namespace_selector = LabelSelector{};
    queue.resource_groups = {Group(quotas)};
    for (const auto& quota : quotas) {
      if (!config_.flavors.contains(quota.flavor)) Flavor(quota.flavor);
    }
    AddLocalQueue("default", "lq-" + name, name);
    return queue;
  }
  LocalQueue& AddLocalQueue(const std::string& ns, const std::string& name,
                            const std::string& cluster_queue) {
    LocalQueue& queue = config_.local_queues[{ns, name}];
    queue.ns = ns;
    queue.name = name;
    queue.cluster_queue = cluster_queue;
    return queue;
  }
  World& CohortOf(const std::string& name, const std::string& parent,
                  const std::vector<QuotaEntry>& quotas = {}) {
    config_.cohorts[name] = Cohort{};
    config_.cohorts[name].name = name;
    config_.cohorts[name].parent = parent;
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

  /// A pending job; ids and submit times count up.
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
    pending().Add(job, now_);
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
    snapshot.settings = settings_;
    snapshot.usage = used_.value_or(EmptyUsage());
    if (!held_.empty()) {
      auto holders = std::make_shared<Holders>(snapshot.usage.tree_ptr());
      for (const auto& job : held_) {
        snapshot.usage.Add(*job->admission);
        holders->Put(MakeHolder(snapshot.usage.tree(), *settings_, job));
      }
      snapshot.holders = std::move(holders);
    }
    snapshot.heads = pending_.Heads(per_queue, 1'000'000);
    snapshot.clusters = clusters_;
    snapshot.now = now_;
    return snapshot;
  }
  void Use(const core::Usage& usage) { used_ = usage; }
  /// A job of one pod that holds quota of the queue's first flavor with this resource.
  JobPtr Hold(const std::string& queue, const std::string& resource, std::int64_t amount,
              std::int32_t priority = 0) {
    auto job = Job(queue, priority, {Pods("main", 1, {{resource, amount}})});
    auto admission = std::make_shared<Admission>();
    admission->cluster_queue = queue;
    PodSetAssignment pods;
    pods.name = "main";
    pods.count = 1;
    pods.flavors[resource] = config_.cluster_queues[queue].resource_groups[0].flavors[0].flavor;
    pods.usage = {{resource, amount}};
    admission->pod_sets.push_back(pods);
    ReserveQuota(job.get(), admission, now_);
    SyncAdmitted(job.get(), *settings_, now_);
    job->state = JobState::kRunning;
    held_.push_back(job);
    return job;
  }
  /// The holder of this id as it is now; it may be replaced or erased.
  std::vector<JobPtr>& held() { return held_; }
  void Set(const AdmissionSettings& settings) {
    settings_ = std::make_shared<const AdmissionSettings>(settings);
  }
  WallTime now() const { return now_; }

  ConfigView& config() { return config_; }
  /// With the present configuration.
  PendingQueues& pending() {
    pending_.Configure(std::make_shared<const ConfigView>(config_), QuotaTree::Build(config_),
                       settings_);
    return pending_;
  }
  std::vector<ClusterView>& clusters() { return clusters_; }

 private:
  ConfigView config_;
  PendingQueues pending_;
  std::vector<ClusterView> clusters_;
  std::optional<core::Usage> used_;
  std::vector<JobPtr> held_;
  AdmissionSettingsPtr settings_ = std::make_shared<const AdmissionSettings>();
  WallTime now_{1'700'000'000'000'000};
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
