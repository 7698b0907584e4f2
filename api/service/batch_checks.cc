// The checks read the details of the parsed script; what they fill in is written into the spec of
// the manifest, which is then parsed again, so that a job is rendered as it was admitted.
#include "api/service/batch_checks.h"

#include <algorithm>

#include "schedd/base/quantity.h"
#include "schedd/model/license.h"
#include "schedd/model/node_choice.h"
#include "schedd/shapes/batch/batch_amounts.h"
#include "schedd/shapes/kinds/shape.h"
#include "schedd/text/lenient.h"

namespace muster::api {
namespace {

constexpr std::string_view kGpuResource = "nvidia.com/gpu";
constexpr std::int64_t kBytesOfMb = 1 << 20;

using Members = std::span<const core::ClusterView>;

// Calls `test` with the labels of each member and each of its machines, until it returns true.
template <typename Test>
bool AnyLabels(Members members, const Test& test) {
  return std::any_of(members.begin(), members.end(), [&](const core::ClusterView& view) {
    return test(view.member.labels) ||
           std::any_of(view.member.nodes.begin(), view.member.nodes.end(),
                       [&](const Node& node) { return test(node.labels); });
  });
}

// True if it names a member, or a machine that a member tells.
bool IsKnownNode(Members members, const std::string& name) {
  return std::any_of(members.begin(), members.end(), [&](const core::ClusterView& view) {
    return view.member.name == name ||
           std::any_of(view.member.nodes.begin(), view.member.nodes.end(),
                       [&](const Node& node) { return node.name == name; });
  });
}

Status CheckNodeNames(Members members, const std::string& list, const char* field) {
  for (const std::string& name : NodeNames(list)) {
    if (!IsKnownNode(members, name))
      return InvalidField(field, "Invalid node name specified: there is no node " + name);
  }
  return Done{};
}

Status CheckFeatures(Members members, const std::string& features) {
  if (features.empty()) return Done{};
  const auto names = FeatureNames(features);
  if (!names) {
    return InvalidField("features",
                        "Invalid feature specification: numbers of nodes for a feature (\"a*2\") "
                        "are not supported");
  }
  for (const std::string& name : *names) {
    const bool known =
        AnyLabels(members, [&](const LabelMap& labels) { return HasFeature(labels, name); });
    if (!known) {
      return InvalidField("features",
                          "Invalid feature specification: no node has the feature " + name);
    }
  }
  return Done{};
}

bool Covers(const ConfigView& config, const std::string& cluster_queue,
            const std::string& resource) {
  const auto queue = config.cluster_queues.find(cluster_queue);
  if (queue == config.cluster_queues.end()) return false;
  return std::any_of(queue->second.resource_groups.begin(), queue->second.resource_groups.end(),
                     [&](const ResourceGroup& group) {
    const auto& covered = group.covered_resources;
    return std::find(covered.begin(), covered.end(), resource) != covered.end();
  });
}

// The quota of all ClusterQueues together.
std::int64_t QuotaOf(const ConfigView& config, const std::string& resource) {
  std::int64_t total = 0;
  for (const auto& [name, queue] : config.cluster_queues) {
    for (const ResourceGroup& group : queue.resource_groups) {
      for (const FlavorQuotas& flavor : group.flavors) {
        for (const auto& [covered, quota] : flavor.resources) {
          if (covered == resource) total = SaturatingAdd(total, quota.nominal);
        }
      }
    }
  }
  return total;
}

// A member whose sizes are not known may have anything.
bool SomeMemberHas(Members members, const std::string& resource) {
  return members.empty() ||
         std::any_of(members.begin(), members.end(), [&](const core::ClusterView& view) {
           const MemberCluster& member = view.member;
           return member.allocatable.empty() || AmountOf(member.allocatable, resource) > 0 ||
                  AmountOf(member.capacity, resource) > 0;
         });
}

// What --nodelist, --exclude and --constraint leave must be some member.
Status CheckChoice(Members members, const shapes::ParsedJob& job) {
  JobRecord asks;
  asks.batch = job.batch;
  const auto choice = NodeChoiceOf(asks);
  if (choice == nullptr || members.empty()) return Done{};
  const std::vector<std::string> excluded = NodeNames(job.batch->excluded_nodes);
  for (const std::string& name : NodeNames(job.batch->required_nodes)) {
    if (std::find(excluded.begin(), excluded.end(), name) != excluded.end())
      return InvalidField("requiredNodes",
                          "Invalid node name specified: " + name + " is excluded too");
  }
  std::string why;
  for (const core::ClusterView& view : members) {
    why = NodeChoiceRefusal(*choice, view.member);
    if (why.empty()) return Done{};
  }
  return InvalidField("resources", "Requested node configuration is not available: " + why);
}

// Devices and licences that nobody has are refused, in Slurm's words for each.
Status CheckResources(const ConfigView& config, Members members, const std::string& cluster_queue,
                      const shapes::ParsedJob& job) {
  for (const PodSet& pods : job.pod_sets) {
    for (const ResourceAmount& one : pods.requests) {
      if (IsLicense(one.resource)) {
        const std::int64_t wanted = SaturatingMul(one.amount, pods.count);
        if (Covers(config, cluster_queue, one.resource) && wanted <= QuotaOf(config, one.resource))
          continue;
        return InvalidField("licenses", "Invalid license specification: ClusterQueue \"" +
                                            cluster_queue + "\" cannot have " +
                                            std::to_string(wanted) + " of " + one.resource);
      }
      if (one.resource == "cpu" || one.resource == "memory" || one.amount <= 0) continue;
      if (SomeMemberHas(members, one.resource)) continue;
      return InvalidField(
          "gres",
          "Invalid generic resource (gres) specification: no member cluster has " + one.resource);
    }
    if (pods.constraints == nullptr) continue;
    const auto type = pods.constraints->node_selector.find(std::string(shapes::kGpuTypeLabel));
    if (type == pods.constraints->node_selector.end()) continue;
    const bool known = AnyLabels(members, [&](const LabelMap& labels) {
      const auto found = labels.find(type->first);
      return found != labels.end() && found->second == type->second;
    });
    if (!known) {
      return InvalidField("gres",
                          "Invalid generic resource (gres) specification: no node has the label " +
                              type->first + "=" + type->second);
    }
  }
  return Done{};
}

// Cuts the memory of a CPU to the partition's most and asks for more CPUs instead, as Slurm does.
bool RaiseCpus(const PartitionProperties& partition, json::object* spec) {
  const std::int64_t most = partition.max_mem_per_cpu_mb;
  const json::value* field = spec->if_contains("memoryPerCpu");
  if (most <= 0 || field == nullptr) return false;
  std::optional<std::int64_t> bytes;
  if (field->is_string()) bytes = shapes::ParseSlurmMemory(field->get_string());
  if (field->is_int64()) bytes = SaturatingMul(field->get_int64(), kBytesOfMb);
  if (!bytes || *bytes <= SaturatingMul(most, kBytesOfMb)) return false;
  const std::int64_t asked_mb = (*bytes + kBytesOfMb - 1) / kBytesOfMb;
  const std::int64_t factor = (asked_mb + most - 1) / most;
  const json::value* cpus = spec->if_contains("cpusPerTask");
  const std::int64_t each = cpus != nullptr && cpus->is_int64() ? cpus->get_int64() : 1;
  if (factor > 1'000'000 / std::max<std::int64_t>(1, each)) return false;
  (*spec)["cpusPerTask"] = each * factor;
  (*spec)["memoryPerCpu"] = std::to_string((asked_mb + factor - 1) / factor) + "M";
  return true;
}

// The largest machine on which the job may run: of the members that its choice of nodes leaves,
// each machine that they tell, or the member where it tells none.
std::optional<ResourceList> LargestMachine(Members members, const shapes::ParsedJob& job) {
  JobRecord asks;
  asks.batch = job.batch;
  const auto choice = NodeChoiceOf(asks);
  const std::string pinned = job.placement == nullptr ? "" : job.placement->cluster;
  std::optional<ResourceList> largest;
  const auto offer = [&](const ResourceList& machine) {
    if (AmountOf(machine, "cpu") <= 0) return;
    if (!largest || AmountOf(machine, "cpu") > AmountOf(*largest, "cpu")) largest = machine;
  };
  for (const core::ClusterView& view : members) {
    if (!pinned.empty() && view.member.name != pinned) continue;
    if (choice != nullptr && !NodeChoiceRefusal(*choice, view.member).empty()) continue;
    if (view.member.nodes.empty()) offer(view.member.allocatable);
    for (const Node& node : view.member.nodes) offer(node.allocatable);
  }
  return largest;
}

// How many tasks of a script each machine of a member can run if nothing else runs there, the most
// first. Where a member does not declare its machines but tells their number, they count as equal.
std::vector<std::int64_t> TasksByMachine(const MemberCluster& member, const BatchDetails& batch) {
  const std::int64_t cpu = SaturatingMul(std::int64_t{1000}, std::max(1, batch.cpus_per_task));
  const std::int64_t memory = SaturatingMul(SaturatingMul(batch.mem_per_cpu_mb, kBytesOfMb),
                                            std::max(1, batch.cpus_per_task));
  const auto tasks_of = [&](const ResourceList& machine, std::int64_t share) {
    std::int64_t tasks = AmountOf(machine, "cpu") / share / cpu;
    if (memory > 0 && AmountOf(machine, "memory") > 0)
      tasks = std::min(tasks, AmountOf(machine, "memory") / share / memory);
    return tasks;
  };
  std::vector<std::int64_t> tasks;
  for (const Node& node : member.nodes) tasks.push_back(tasks_of(node.allocatable, 1));
  if (tasks.empty()) {
    const std::int64_t machines = std::max(1, member.node_count);
    const ResourceList& all = member.capacity.empty() ? member.allocatable : member.capacity;
    if (AmountOf(all, "cpu") <= 0) return {std::int64_t{batch.tasks}};  // not known
    tasks.assign(static_cast<std::size_t>(machines), tasks_of(all, machines));
  }
  std::sort(tasks.rbegin(), tasks.rend());
  return tasks;
}

// The least number of equal nodes on which the member can run so many tasks; nullopt: none.
std::optional<std::int64_t> NodesFor(const MemberCluster& member, const BatchDetails& batch) {
  const std::vector<std::int64_t> by_machine = TasksByMachine(member, batch);
  for (std::size_t nodes = 1; nodes <= by_machine.size(); ++nodes) {
    const auto count = static_cast<std::int64_t>(nodes);
    if (by_machine[nodes - 1] >= (batch.tasks + count - 1) / count) return count;
  }
  return std::nullopt;
}

// -n alone: tasks that no machine can run together are spread over as few machines of a member as
// can, as in Slurm. What says how many nodes there are, or asks for amounts of a node, is left
// alone.
bool SpreadTasks(Members members, const shapes::ParsedJob& job, json::object* spec) {
  for (const char* field : {"nodes", "tasksPerNode", "gpus", "gpusPerNode", "gpusPerTask",
                            "gpusPerSocket", "gres", "tasksPerGpu", "tresPerTask", "memoryPerNode",
                            "memoryPerGpu", "exclusive", "components", "licenses", "how"}) {
    const json::value* given = spec->if_contains(field);
    if (given != nullptr && !given->is_null()) return false;
  }
  if (!spec->contains("tasks") || job.batch->tasks < 2) return false;
  JobRecord asks;
  asks.batch = job.batch;
  const auto choice = NodeChoiceOf(asks);
  const std::string pinned = job.placement == nullptr ? "" : job.placement->cluster;
  std::optional<std::int64_t> least;
  for (const core::ClusterView& view : members) {
    if (!pinned.empty() && view.member.name != pinned) continue;
    if (choice != nullptr && !NodeChoiceRefusal(*choice, view.member).empty()) continue;
    const std::optional<std::int64_t> nodes = NodesFor(view.member, *job.batch);
    if (nodes && (!least || *nodes < *least)) least = nodes;
  }
  if (!least || *least < 2) return false;
  (*spec)["nodes"] = *least;
  return true;
}

bool AsksForWholeNode(const json::object& spec) {
  const json::value* exclusive = spec.if_contains("exclusive");
  if (exclusive != nullptr && exclusive->is_string() && !exclusive->get_string().empty() &&
      exclusive->get_string() != "oversubscribe")
    return true;
  for (const char* field : {"memoryPerNode", "memoryPerCpu", "memoryPerGpu"}) {
    const json::value* memory = spec.if_contains(field);
    if (memory == nullptr) continue;
    if (memory->is_int64() && memory->get_int64() == 0) return true;
    if (memory->is_string() && shapes::ParseSlurmMemory(memory->get_string()) == 0) return true;
  }
  return false;
}

Status FillWholeNodes(Members members, const shapes::ParsedJob& job, json::object* spec,
                      bool* changed) {
  std::vector<json::object*> parts = {spec};
  if (json::value* components = spec->if_contains("components");
      components != nullptr && components->is_array()) {
    for (json::value& one : components->get_array()) {
      if (one.is_object()) parts.push_back(&one.get_object());
    }
  }
  for (json::object* part : parts) {
    if (!AsksForWholeNode(*part)) continue;
    const std::optional<ResourceList> machine = LargestMachine(members, job);
    if (!machine) {
      return InvalidField("exclusive",
                          "whole nodes cannot be asked for: no member cluster tells the size of "
                          "its machines; ask for CPUs and memory");
    }
    (*part)["wholeNode"] = json::object{{"cpus", AmountOf(*machine, "cpu") / 1000},
                                        {"gpus", AmountOf(*machine, kGpuResource)},
                                        {"memoryBytes", AmountOf(*machine, "memory")}};
    *changed = true;
  }
  return Done{};
}

}  // namespace

Status CheckBatchScript(const ConfigView& config, Members members, const std::string& ns,
                        const shapes::QueueChoice& queue, shapes::ParsedJob* job) {
  if (job->shape != ShapeKind::kBatchScript || job->batch == nullptr) return Done{};
  const BatchDetails& batch = *job->batch;
  if (job->placement != nullptr && !job->placement->cluster.empty() &&
      !config.member_clusters.contains(job->placement->cluster)) {
    return InvalidField("cluster", "there is no member cluster " + job->placement->cluster);
  }
  if (!batch.reservation.empty()) {
    return InvalidField(
        "reservation",
        "Requested reservation is invalid: there is no reservation " + batch.reservation);
  }
  for (const Status& status : {CheckNodeNames(members, batch.required_nodes, "requiredNodes"),
                               CheckNodeNames(members, batch.excluded_nodes, "excludedNodes"),
                               CheckFeatures(members, batch.features), CheckChoice(members, *job),
                               CheckResources(config, members, queue.cluster_queue, *job)}) {
    if (!status.ok()) return status;
  }
  json::value manifest = job->manifest;
  json::object& spec = MakeObjectAt(manifest.get_object(), "spec");
  const auto local = config.local_queues.find({ns, queue.local_queue});
  bool changed = local != config.local_queues.end() && RaiseCpus(local->second.partition, &spec);
  changed = SpreadTasks(members, *job, &spec) || changed;
  const Status whole = FillWholeNodes(members, *job, &spec, &changed);
  if (!whole.ok()) return whole;
  if (!changed) return Done{};
  Result<shapes::ParsedJob> again = shapes::ParseJob(std::move(manifest));
  if (!again.ok()) return again.error();
  *job = std::move(*again);
  return Done{};
}

}  // namespace muster::api
