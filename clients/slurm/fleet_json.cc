#include "clients/slurm/fleet_json.h"

#include "clients/slurm/hostlist.h"
#include "clients/slurm/json_document.h"
#include "clients/slurm/slurm_time.h"

namespace muster::slurm {
namespace {

std::string UpperState(const NodeInfo& node) {
  std::string out = node.StateName(false);
  for (char& c : out) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
  return out;
}

json::object NodeJson(const NodeInfo& node, const json::array& partitions) {
  return {{"name", node.name},
          {"hostname", node.name},
          {"address", node.name},
          {"cluster_name", node.name},
          {"state", json::array{UpperState(node)}},
          {"reason", node.cordoned ? "cordoned" : node.reason},
          {"cpus", node.TotalCpus()},
          {"effective_cpus", node.TotalCpus()},
          {"alloc_cpus", node.AllocatedCpus()},
          {"alloc_idle_cpus", node.IdleCpus()},
          {"sockets", 1},
          {"cores", node.TotalCpus()},
          {"threads", 1},
          {"real_memory", node.memory_bytes >> 20},
          {"alloc_memory", (node.memory_bytes - node.free_memory_bytes) >> 20},
          {"free_mem", SlurmNumber(true, node.free_memory_bytes >> 20)},
          {"features", node.features.empty() ? json::array{} : json::array{node.features}},
          {"active_features", node.features.empty() ? json::array{} : json::array{node.features}},
          {"gres", node.gres},
          {"gres_used", node.gres_used},
          {"weight", 1},
          {"partitions", partitions}};
}

json::object PartitionJson(const PartitionInfo& partition, const Fleet& fleet,
                           const std::string& default_ns) {
  std::vector<std::string> names;
  std::int64_t cpus = 0;
  for (const NodeInfo& node : fleet.nodes) {
    names.push_back(node.name);
    cpus += node.TotalCpus();
  }
  const char* state = partition.state == "up"      ? "UP"
                      : partition.state == "down"  ? "DOWN"
                      : partition.state == "drain" ? "DRAIN"
                                                   : "INACTIVE";
  return {{"name", partition.Name(default_ns)},
          {"nodes", {{"configured", FoldHostlist(names)}, {"total", names.size()}}},
          {"cpus", {{"total", cpus}}},
          {"accounts", {{"allowed", partition.cluster_queue}}},
          {"defaults",
           {{"time", SlurmNumber(partition.default_time_s != 0, partition.default_time_s / 60)},
            {"memory_per_cpu", partition.default_memory_per_cpu_mb}}},
          {"maximums",
           {{"time", SlurmNumber(partition.max_time_s != 0, partition.max_time_s / 60,
                                 partition.max_time_s == 0)},
            {"nodes",
             SlurmNumber(partition.max_nodes != 0, partition.max_nodes, partition.max_nodes == 0)},
            {"memory_per_cpu", partition.max_memory_per_cpu_mb}}},
          {"minimums", {{"nodes", partition.min_nodes}}},
          {"priority", {{"job_factor", 1}, {"tier", partition.tier}}},
          {"flags", partition.is_default ? json::array{"DEFAULT"} : json::array{}},
          {"partition", {{"state", json::array{state}}}}};
}

}  // namespace

std::string FleetJson(const Fleet& fleet, const std::string& default_ns, const char* command) {
  json::array names, nodes, partitions;
  for (const PartitionInfo& partition : fleet.partitions) {
    names.emplace_back(partition.Name(default_ns));
    partitions.push_back(PartitionJson(partition, fleet, default_ns));
  }
  for (const NodeInfo& node : fleet.nodes) nodes.push_back(NodeJson(node, names));
  const json::object document{{"meta", SlurmMeta(command)},
                              {"nodes", std::move(nodes)},
                              {"partitions", std::move(partitions)},
                              {"last_update", SlurmNumber(true, WallSeconds())},
                              {"errors", json::array{}},
                              {"warnings", json::array{}}};
  return json::serialize(document) + "\n";
}

}  // namespace muster::slurm
