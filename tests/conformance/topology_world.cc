#include "tests/conformance/topology_world.h"

#include "schedd/shapes/topology_slices.h"

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
