// Reads LocalQueues and MemberClusters and presents them as partitions and nodes.
//
// A member that is healthy and not cordoned is idle, mixed or allocated by its CPUs in use; a
// cordoned one is drained, or draining while CPUs are in use; an unhealthy one is down. CPUs are
// counted in whole ones: totals are rounded down and allocated ones up, so that "idle" never
// promises a CPU that is not there.
#include "clients/slurm/fleet_view.h"

#include <algorithm>
#include <tuple>

#include "clients/lib/job_view.h"
#include "schedd/base/quantity.h"
#include "schedd/text/lenient.h"

namespace muster::slurm {
namespace {

constexpr char kQueues[] = "/apis/kueue.x-k8s.io/v1beta1/localqueues";
constexpr char kMembers[] = "/apis/cluster.kubernetes-fleet.io/v1beta1/memberclusters";

// A resource's amount in the object at a path, in base units (thousandths for cpu); 0 if absent.
std::int64_t Amount(const json::value& object, const std::string& path, std::string_view resource) {
  const json::object* list = FindObject(object, JsonPath::Dotted(path));
  if (list == nullptr) return 0;
  const Result<std::int64_t> amount = ParseQuantity(resource, client::MemberText(*list, resource));
  return amount.ok() ? *amount : 0;
}

// Extended resources such as nvidia.com/gpu as Slurm's "gpu:8"; only names with a slash count.
std::string Gres(const json::value& object) {
  std::string out;
  for (const json::key_value_pair& entry :
       ObjectOrEmpty(object, {"status", "resourceUsage", "allocatable"})) {
    const std::string resource(entry.key());
    const std::size_t slash = resource.find('/');
    if (slash == std::string::npos || !entry.value().is_string()) continue;
    if (!out.empty()) out += ',';
    out += resource.substr(slash + 1) + ":" + std::string(entry.value().get_string());
  }
  return out;
}

// The LocalQueue "default" of the user's namespace is the default partition. Any stopPolicy but
// None makes the partition inactive.
PartitionInfo ToPartition(const json::value& object, const std::string& default_ns) {
  PartitionInfo out;
  out.ns = client::PathText(object, "metadata.namespace");
  out.queue = client::PathText(object, "metadata.name");
  out.cluster_queue = client::PathText(object, "spec.clusterQueue");
  const std::string stop = client::PathText(object, "spec.stopPolicy");
  out.up = stop.empty() || stop == "None";
  out.is_default = out.queue == "default" && out.ns == default_ns;
  return out;
}

NodeInfo ToNode(const json::value& object) {
  NodeInfo out;
  out.name = client::PathText(object, "metadata.name");
  out.cordoned = client::PathText(object, "status.cordoned") == "true";
  const std::string total = "status.resourceUsage.allocatable";
  const std::string free = "status.resourceUsage.available";
  out.cpus_milli = Amount(object, total, "cpu");
  out.free_cpus_milli = Amount(object, free, "cpu");
  out.memory_bytes = Amount(object, total, "memory");
  out.free_memory_bytes = Amount(object, free, "memory");
  out.gres = Gres(object);
  for (const json::value& condition : ArrayOrEmpty(object, {"status", "conditions"})) {
    if (client::PathText(condition, "type") != "Healthy") continue;
    out.healthy = client::PathText(condition, "status") == "True";
    if (!out.healthy) out.reason = client::PathText(condition, "message");
  }
  return out;
}

client::Outcome<std::vector<json::value>> List(client::ApiClient& api, const char* path) {
  client::Outcome<json::value> answer = api.Get(path);
  if (!answer.ok()) return answer.failure();
  const json::array* items = FindArray(*answer, "items");
  if (items == nullptr) return client::BadAnswer("the server's list has no items");
  return std::vector<json::value>(items->begin(), items->end());
}

}  // namespace

std::string PartitionInfo::Name(const std::string& default_ns) const {
  return ns == default_ns ? queue : ns + "/" + queue;
}

std::int64_t NodeInfo::TotalCpus() const { return cpus_milli / 1000; }
std::int64_t NodeInfo::AllocatedCpus() const { return (cpus_milli - free_cpus_milli + 999) / 1000; }
std::int64_t NodeInfo::IdleCpus() const {
  return healthy && !cordoned ? TotalCpus() - AllocatedCpus() : 0;
}
std::int64_t NodeInfo::OtherCpus() const {
  return healthy && !cordoned ? 0 : TotalCpus() - AllocatedCpus();
}

const char* NodeInfo::StateName(bool compact) const {
  if (!healthy) return "down";
  if (cordoned)
    return AllocatedCpus() > 0 ? (compact ? "drng" : "draining") : (compact ? "drain" : "drained");
  if (AllocatedCpus() <= 0) return "idle";
  if (free_cpus_milli <= 0) return compact ? "alloc" : "allocated";
  return compact ? "mix" : "mixed";
}

client::Outcome<Fleet> FetchFleet(client::ApiClient& api) {
  Fleet out;
  client::Outcome<std::vector<json::value>> queues = List(api, kQueues);
  if (!queues.ok()) return queues.failure();
  for (const json::value& queue : *queues)
    out.partitions.push_back(ToPartition(queue, api.settings().ns));
  client::Outcome<std::vector<json::value>> members = List(api, kMembers);
  if (!members.ok()) return members.failure();
  for (const json::value& member : *members) out.nodes.push_back(ToNode(member));
  std::sort(out.partitions.begin(), out.partitions.end(),
            [](const PartitionInfo& a, const PartitionInfo& b) {
    return std::tie(b.is_default, a.ns, a.queue) < std::tie(a.is_default, b.ns, b.queue);
  });
  std::sort(out.nodes.begin(), out.nodes.end(),
            [](const NodeInfo& a, const NodeInfo& b) { return a.name < b.name; });
  return out;
}

}  // namespace muster::slurm
