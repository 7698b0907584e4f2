#include "tests/conformance/topology_world.h"

#include "schedd/shapes/parts/topology_slices.h"

namespace muster::conformance {

core::TopologyForestPtr ForestOf(const World& world) {
  MemberCluster member;
  member.nodes = world.nodes;
  const MemberCluster* members[] = {&member};
  return core::TopologyForest::Build(world.config, members, world.settings);
}

core::TopologyUsage TopologyUsageOf(const World& world, const core::TopologyForestPtr& forest) {
  core::TopologyUsage usage(forest);
  for (const auto& job : world.jobs) {
    if (job.admission != nullptr)
      usage.Charge(core::ChargesOn(*forest, *job.pod_sets, *job.admission, job.cluster));
  }
  return usage;
}

namespace {

// A workload of one pod set whose pods stand where `entry` says.
void ChargePods(const std::string& flavor, const json::value& entry, core::TopologyUsage* usage) {
  const auto count = static_cast<std::int32_t>(IntAt(entry, "count"));
  TopologyDomain domain{{}, count};
  for (const auto& value : ListAt(entry, "values"))
    domain.values.emplace_back(std::string_view(value.as_string()));
  PodSet pod_set;
  PodSetAssignment assignment;
  pod_set.name = assignment.name = "main";
  pod_set.count = assignment.count = count;
  for (const auto& [resource, amount] : At(entry, "singlePodRequests").as_object()) {
    SetAmount(&pod_set.requests, resource, amount.to_number<std::int64_t>());
    assignment.flavors.emplace(resource, flavor);
  }
  assignment.topology = std::make_shared<const TopologyAssignment>(
      TopologyAssignment{{"kubernetes.io/hostname"}, {std::move(domain)}});
  usage->Charge(core::ChargesOn(*usage->forest(), {pod_set}, {"", {assignment}}, ""));
}

}  // namespace

void ChargeTopologyUsage(const json::value& by_flavor, core::TopologyUsage* usage) {
  const auto* flavors = by_flavor.if_object();
  if (flavors == nullptr) return;
  for (const auto& [flavor, entries] : *flavors) {
    for (const auto& entry : entries.as_array()) ChargePods(flavor, entry, usage);
  }
}

json::value AssignmentJson(const TopologyAssignment* assignment) {
  if (assignment == nullptr) return nullptr;
  json::array domains;
  for (const auto& domain : assignment->domains) {
    domains.emplace_back(
        json::object{{"values", json::value_from(domain.values)}, {"count", domain.count}});
  }
  return json::object{{"levels", json::value_from(assignment->levels)},
                      {"domains", std::move(domains)}};
}

TopologyAssignmentPtr AssignmentOf(const json::value& object) {
  shapes::Problems problems;
  return shapes::ReadTopologyAssignment(shapes::Field(object, &problems));
}

}  // namespace muster::conformance
