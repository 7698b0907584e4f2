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
#include "clients/slurm/command.h"
#include "clients/slurm/slurm_time.h"
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
// A GPU has the type that the member's label muster.io/gpu-type names: "gpu:a100:8".
std::string Gres(const json::value& object, const char* list) {
  const std::string type =
      client::MemberText(ObjectOrEmpty(object, {"metadata", "labels"}), "muster.io/gpu-type");
  std::string out;
  for (const json::key_value_pair& entry :
       ObjectOrEmpty(object, {"status", "resourceUsage", list})) {
    const std::string resource(entry.key());
    const std::size_t slash = resource.find('/');
    if (slash == std::string::npos || !entry.value().is_string()) continue;
    if (!out.empty()) out += ',';
    const std::string name = resource.substr(slash + 1);
    out += name + (name == "gpu" && !type.empty() ? ":" + type : "") + ":" +
           std::string(entry.value().get_string());
  }
  return out;
}

constexpr std::string_view kProperty = "muster.io/partition-";

// "gpu:2" in use of "gpu:8" if "gpu:6" are left.
std::string UsedGres(const std::string& all, const std::string& left) {
  std::string out;
  const std::vector<std::string> free = SplitList(left);
  for (const std::string& one : SplitList(all)) {
    const std::size_t colon = one.rfind(':');
    std::int64_t used = ParseCount(one.substr(colon + 1)).value_or(0);
    for (const std::string& other : free) {
      if (other.starts_with(one.substr(0, colon + 1)))
        used -= ParseCount(other.substr(colon + 1)).value_or(0);
    }
    out += (out.empty() ? "" : ",") + one.substr(0, colon + 1) + std::to_string(used);
  }
  return out;
}

// The labels that a constraint can name by themselves ("x86=true"), in order.
std::string FeaturesOf(const json::value& object) {
  std::vector<std::string> names;
  for (const json::key_value_pair& label : ObjectOrEmpty(object, {"metadata", "labels"})) {
    const std::string key(label.key());
    if (label.value().is_string() && label.value().get_string() == "true")
      names.push_back(key.substr(key.rfind('/') + 1));
  }
  std::sort(names.begin(), names.end());
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ",") + name;
  return out;
}

// A property of a partition: an annotation of its LocalQueue.
std::string Property(const json::value& object, std::string_view name) {
  const json::object& all = ObjectOrEmpty(object, {"metadata", "annotations"});
  return client::MemberText(all, std::string(kProperty) + std::string(name));
}
std::int32_t CountProperty(const json::value& object, std::string_view name) {
  return static_cast<std::int32_t>(ParseCount(Property(object, name)).value_or(0));
}
std::int64_t TimeProperty(const json::value& object, std::string_view name) {
  return ParseTimeLimit(Property(object, name)).value_or(0);
}

// The default partition of the user's namespace says so itself; without one that does it is the
// LocalQueue "default", else the only one (MarkDefault). Any stopPolicy but None makes the
// partition inactive.
PartitionInfo ToPartition(const json::value& object, const std::string& default_ns) {
  PartitionInfo out;
  out.ns = client::PathText(object, "metadata.namespace");
  out.queue = client::PathText(object, "metadata.name");
  out.cluster_queue = client::PathText(object, "spec.clusterQueue");
  const std::string stop = client::PathText(object, "spec.stopPolicy");
  out.up = stop.empty() || stop == "None";
  out.is_default = out.ns == default_ns && Property(object, "default") == "true";
  out.default_time_s = TimeProperty(object, "default-time");
  out.max_time_s = TimeProperty(object, "max-time");
  out.min_nodes = CountProperty(object, "min-nodes");
  out.max_nodes = CountProperty(object, "max-nodes");
  out.default_memory_per_cpu_mb =
      ParseMemoryMb(Property(object, "default-memory-per-cpu")).value_or(0);
  out.max_memory_per_cpu_mb = ParseMemoryMb(Property(object, "max-memory-per-cpu")).value_or(0);
  const std::int32_t tier = CountProperty(object, "tier");
  out.tier = tier == 0 ? 1 : tier;
  const std::string state = Property(object, "state");
  out.state = !out.up || state == "inactive" ? "inact" : state.empty() ? "up" : state;
  out.up = out.state == "up";
  return out;
}

// Exactly one default for the user's namespace, if there is any candidate.
void MarkDefault(const std::string& ns, std::vector<PartitionInfo>* partitions) {
  PartitionInfo* named = nullptr;
  PartitionInfo* only = nullptr;
  std::size_t here = 0;
  for (PartitionInfo& one : *partitions) {
    if (one.ns != ns) continue;
    if (one.is_default) return;
    ++here;
    only = &one;
    if (one.queue == "default") named = &one;
  }
  if (named != nullptr)
    named->is_default = true;
  else if (here == 1)
    only->is_default = true;
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
  out.features = FeaturesOf(object);
  out.gres = Gres(object, "allocatable");
  const std::string left = Gres(object, "available");
  out.gres_used = UsedGres(out.gres, left);
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

client::Outcome<std::vector<NodeInfo>> FetchMembers(client::ApiClient& api) {
  client::Outcome<std::vector<json::value>> members = List(api, kMembers);
  if (!members.ok()) return members.failure();
  std::vector<NodeInfo> out;
  for (const json::value& member : *members) out.push_back(ToNode(member));
  std::sort(out.begin(), out.end(),
            [](const NodeInfo& a, const NodeInfo& b) { return a.name < b.name; });
  return out;
}

client::Outcome<Fleet> FetchFleet(client::ApiClient& api) {
  Fleet out;
  client::Outcome<std::vector<json::value>> queues = List(api, kQueues);
  if (!queues.ok()) return queues.failure();
  for (const json::value& queue : *queues)
    out.partitions.push_back(ToPartition(queue, api.settings().ns));
  MarkDefault(api.settings().ns, &out.partitions);
  client::Outcome<std::vector<NodeInfo>> members = FetchMembers(api);
  if (!members.ok()) return members.failure();
  out.nodes = std::move(*members);
  std::sort(out.partitions.begin(), out.partitions.end(),
            [](const PartitionInfo& a, const PartitionInfo& b) {
    return std::tie(b.is_default, a.ns, a.queue) < std::tie(a.is_default, b.ns, b.queue);
  });
  return out;
}

}  // namespace muster::slurm
