#include "tests/bench/load_world.h"

#include <set>

#include "schedd/text/json.h"

namespace muster::bench {
namespace {

constexpr const char* kBlock = "cloud.provider.com/topology-block";
constexpr const char* kRack = "cloud.provider.com/topology-rack";
constexpr std::int32_t kQueuesAtOnce = 50;
constexpr std::int32_t kNodeCpus = 96;

std::string Milli(std::int64_t amount) { return std::to_string(amount) + "m"; }

std::string QueueName(std::int32_t cohort, std::int32_t queue) {
  return "cq-" + std::to_string(cohort) + "-" + std::to_string(queue);
}

std::string Machines(const ReferenceLoad& load) {
  std::string list;
  for (std::int32_t rack = 0; rack < load.racks; ++rack) {
    for (std::int32_t node = 0; node < load.nodes; ++node) {
      list += list.empty() ? "[" : ",";
      list += R"({"name":"n-)" + std::to_string(rack) + "-" + std::to_string(node) +
              R"(","labels":{"bench":"tas",")" + kBlock + R"(":"b0",")" + kRack + R"(":"r)" +
              std::to_string(rack) + R"("},"allocatable":{"cpu":")" + std::to_string(kNodeCpus) +
              R"(","memory":"256Gi","pods":"110"}})";
    }
  }
  return list + "]";
}

std::string Basics(const ReferenceLoad& load) {
  std::string yaml = "apiVersion: v1\nkind: Namespace\nmetadata: {name: bench}\n";
  std::string flavor = "{}";
  if (load.racks > 0) {
    flavor = "{nodeLabels: {bench: tas}, topologyName: racks}";
    yaml +=
        "---\napiVersion: kueue.x-k8s.io/v1beta1\nkind: Topology\nmetadata: {name: racks}\n"
        "spec: {levels: [{nodeLabel: " +
        std::string(kBlock) + "}, {nodeLabel: " + kRack +
        "}, {nodeLabel: kubernetes.io/hostname}]}\n";
  }
  yaml +=
      "---\napiVersion: kueue.x-k8s.io/v1beta1\nkind: ResourceFlavor\nmetadata: {name: bench}\n"
      "spec: " +
      flavor + "\n";
  std::set<std::int32_t> priorities;
  for (const JobClass& one : load.classes) priorities.insert(one.priority);
  for (const std::int32_t priority : priorities) {
    yaml +=
        "---\napiVersion: kueue.x-k8s.io/v1beta1\nkind: WorkloadPriorityClass\nmetadata: {name: p" +
        std::to_string(priority) + "}\nvalue: " + std::to_string(priority) + "\n";
  }
  return yaml;
}

std::string QueueObjects(const ReferenceLoad& load, std::int32_t cohort, std::int32_t queue) {
  const std::string name = QueueName(cohort, queue);
  return "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata: {name: " + name +
         "}\nspec:\n  namespaceSelector: {}\n  cohort: cohort-" + std::to_string(cohort) +
         "\n  preemption: {reclaimWithinCohort: Any, withinClusterQueue: LowerPriority}\n"
         "  resourceGroups:\n  - coveredResources: [cpu]\n    flavors:\n    - name: bench\n"
         "      resources: [{name: cpu, nominalQuota: " +
         Milli(load.nominal) + ", borrowingLimit: " + Milli(load.borrowing) +
         "}]\n---\napiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {name: " + name +
         ", namespace: bench}\nspec: {clusterQueue: " + name + "}\n";
}

std::string TopologyAnnotations(const JobClass& one) {
  const std::string key = R"("kueue.x-k8s.io/podset-)";
  const std::string rack = std::string(R"(":")") + kRack + '"';
  switch (one.wanted) {
    case RackRequest::kAnywhere:
      return "";
    case RackRequest::kRackRequired:
      return key + "required-topology" + rack;
    case RackRequest::kRackPreferred:
      return key + "preferred-topology" + rack;
    case RackRequest::kSlicesInRacks:
      return key + "slice-required-topology" + rack + "," + key + R"(slice-size":")" +
             std::to_string(one.slice_size) + '"';
  }
  return "";
}

}  // namespace

std::string MemberFlag(const ReferenceLoad& load) {
  const std::int32_t cpus = load.racks > 0 ? load.racks * load.nodes * kNodeCpus : 1'000'000;
  return "--simulated-cluster=sim,cpu=" + std::to_string(cpus);
}

std::string MachinesPatch(const ReferenceLoad& load) {
  if (load.racks == 0) return "";
  std::string patch = R"({"metadata":{"annotations":{"muster.io/nodes":)";
  AppendJsonString(Machines(load), &patch);
  return patch + "}}}";
}

std::vector<std::string> WorldManifests(const ReferenceLoad& load) {
  std::vector<std::string> pieces = {Basics(load)};
  std::int32_t queues = 0;
  for (std::int32_t cohort = 0; cohort < load.cohorts; ++cohort) {
    for (std::int32_t queue = 0; queue < load.queues; ++queue) {
      if (queues++ % kQueuesAtOnce == 0) {
        pieces.emplace_back();
      } else {
        pieces.back() += "---\n";
      }
      pieces.back() += QueueObjects(load, cohort, queue);
    }
  }
  return pieces;
}

std::string JobName(const ReferenceLoad& load, const Arrival& arrival) {
  return load.classes[arrival.job_class].name + "-" + std::to_string(arrival.cohort) + "-" +
         std::to_string(arrival.queue) + "-" + std::to_string(arrival.number);
}

std::string JobManifest(const ReferenceLoad& load, const Arrival& arrival) {
  const JobClass& one = load.classes[arrival.job_class];
  const std::string pods = std::to_string(one.pods);
  const std::string topology = TopologyAnnotations(one);
  return R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":")" + JobName(load, arrival) +
         R"(","namespace":"bench","labels":{"kueue.x-k8s.io/queue-name":")" +
         QueueName(arrival.cohort, arrival.queue) + R"(","kueue.x-k8s.io/priority-class":"p)" +
         std::to_string(one.priority) + R"("},"annotations":{"muster.io/run-time-ms":")" +
         std::to_string(one.run_ms) + R"("}},"spec":{"parallelism":)" + pods +
         R"(,"completions":)" + pods +
         R"(,"suspend":true,"template":{"metadata":{"annotations":{)" + topology +
         R"(}},"spec":{"restartPolicy":"Never","containers":[{"name":"main",)"
         R"("image":"debian:12","resources":{"requests":{"cpu":")" +
         Milli(one.pod_cpu) + R"("}}}]}}}})";
}

}  // namespace muster::bench
