#include "tests/bench/load_scenario.h"

namespace muster::bench {
namespace {

constexpr const char* kFlavor = "bench";
constexpr const char* kTopology = "racks";
constexpr const char* kBlock = "cloud.provider.com/topology-block";
constexpr const char* kRack = "cloud.provider.com/topology-rack";
constexpr const char* kHost = "kubernetes.io/hostname";
constexpr std::int64_t kNodeCpu = 96'000;
constexpr std::int64_t kNodeMemory = std::int64_t{256} << 30;
constexpr std::int64_t kNodePods = 110;

std::string QueueName(std::int32_t cohort, std::int32_t queue) {
  return "cq-" + std::to_string(cohort) + "-" + std::to_string(queue);
}

std::shared_ptr<const TopologyRequest> TopologyOf(const JobClass& one) {
  auto request = std::make_shared<TopologyRequest>();
  switch (one.wanted) {
    case RackRequest::kAnywhere:
      return nullptr;
    case RackRequest::kRackRequired:
      request->required = kRack;
      break;
    case RackRequest::kRackPreferred:
      request->preferred = kRack;
      break;
    case RackRequest::kSlicesInRacks:
      request->slice_required = kRack;
      request->slice_size = one.slice_size;
      break;
  }
  return request;
}

MemberCluster Machines(const ReferenceLoad& load) {
  MemberCluster member;
  member.name = member.backend = "simulated";
  member.any_flavor = true;
  for (std::int32_t rack = 0; rack < load.racks; ++rack) {
    for (std::int32_t number = 0; number < load.nodes; ++number) {
      Node node;
      node.name = "n-" + std::to_string(rack) + "-" + std::to_string(number);
      node.labels = {{kBlock, "b0"}, {kRack, "r" + std::to_string(rack)}, {kHost, node.name}};
      node.allocatable = {{"cpu", kNodeCpu}, {"memory", kNodeMemory}, {"pods", kNodePods}};
      AddAmounts(&member.allocatable, {{"cpu", kNodeCpu}});
      member.nodes.push_back(std::move(node));
    }
  }
  return member;
}

}  // namespace

PodSetsPtr PodSetsOf(const JobClass& job_class) {
  PodSet pods;
  pods.name = "main";
  pods.count = job_class.pods;
  pods.requests = {{"cpu", job_class.pod_cpu}};
  pods.topology = TopologyOf(job_class);
  return std::make_shared<const PodSets>(PodSets{std::move(pods)});
}

void AddQueue(ConfigView* config, const std::string& name, const std::string& cohort,
              std::int64_t nominal, std::int64_t borrowing) {
  ClusterQueue queue;
  queue.name = name;
  queue.cohort = cohort;
  queue.namespace_selector.emplace();
  queue.preemption.reclaim_within_cohort = PreemptionPolicy::kAny;
  queue.preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  ResourceGroup group;
  group.covered_resources = {"cpu"};
  group.flavors = {{kFlavor, {{"cpu", Quota{nominal, borrowing, std::nullopt}}}}};
  queue.resource_groups.push_back(std::move(group));
  config->cluster_queues[name] = std::move(queue);
  LocalQueue local;
  local.ns = "bench";
  local.name = local.cluster_queue = name;
  config->local_queues[{local.ns, local.name}] = std::move(local);
}

std::shared_ptr<JobRecord> MakeJob(std::int64_t id, const std::string& queue, std::int32_t priority,
                                   PodSetsPtr pod_sets, WallTime submitted) {
  auto job = std::make_shared<JobRecord>();
  job->id = JobId{id};
  job->uid = Uid{1, static_cast<std::uint64_t>(id)};
  job->name = "j" + std::to_string(id);
  job->ns = "bench";
  job->local_queue = job->cluster_queue = queue;
  job->priority = priority;
  job->pod_sets = std::move(pod_sets);
  job->submit_time = submitted;
  job->accept_seq = id;
  return job;
}

std::shared_ptr<ConfigView> ConfigOf(const ReferenceLoad& load) {
  auto config = std::make_shared<ConfigView>();
  config->namespaces["bench"] = {"bench", {}};
  ResourceFlavor flavor;
  flavor.name = kFlavor;
  if (load.racks > 0) {
    flavor.topology = kTopology;
    config->topologies[kTopology] = {kTopology, {kBlock, kRack, kHost}};
    MemberCluster member = Machines(load);
    config->member_clusters[member.name] = std::move(member);
  }
  config->flavors[kFlavor] = std::move(flavor);
  for (std::int32_t cohort = 0; cohort < load.cohorts; ++cohort) {
    for (std::int32_t queue = 0; queue < load.queues; ++queue) {
      AddQueue(config.get(), QueueName(cohort, queue), "cohort-" + std::to_string(cohort),
               load.nominal, load.borrowing);
    }
  }
  return config;
}

simulate::Scenario ScenarioOf(const ReferenceLoad& load) {
  simulate::Scenario scenario;
  scenario.config = ConfigOf(load);
  std::vector<PodSetsPtr> pod_sets;
  for (const JobClass& one : load.classes) pod_sets.push_back(PodSetsOf(one));
  std::int64_t id = 0;
  for (const Arrival& arrival : ArrivalsOf(load)) {
    const JobClass& one = load.classes[arrival.job_class];
    const WallTime at{kScenarioStart.us + arrival.at_ms * 1000};
    scenario.jobs.push_back({MakeJob(++id, QueueName(arrival.cohort, arrival.queue), one.priority,
                                     pod_sets[arrival.job_class], at),
                             at, one.run_ms * 1000});
  }
  return scenario;
}

}  // namespace muster::bench
