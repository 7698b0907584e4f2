// Where pods go: topology-assignment.
#include "schedd/core/placer/topology_node_placer.h"
#include "schedd/shapes/parts/pod_constraints.h"
#include "schedd/shapes/parts/topology_request.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/topology_world.h"

namespace muster::conformance {
namespace {

constexpr const char* kFlavor = "flavor";
constexpr const char* kSibling = "sibling";

ResourceList Amounts(const json::value& map) {
  ResourceList list;
  if (const auto* amounts = map.if_object()) {
    for (const auto& one : *amounts) SetAmount(&list, one.key(), one.value().as_int64());
  }
  return list;
}

// The flavor that the case places on, and one beside it on the same machines.
World LoadFlavors(const Case& test) {
  World world = LoadWorld(test);
  Topology topology;
  topology.name = TextAt(test.Input("topology"), "name");
  for (const auto& level : ListAt(test.Input("topology"), "levels"))
    topology.levels.emplace_back(std::string_view(level.as_string()));
  ResourceFlavor flavor;
  flavor.topology = topology.name;
  shapes::Problems problems;
  flavor.node_labels = shapes::ReadLabelMap({test.Input("flavorNodeLabels"), &problems});
  flavor.tolerations = shapes::ReadTolerations({test.Input("flavorTolerations"), &problems});
  for (const char* name : {kFlavor, kSibling}) {
    flavor.name = name;
    world.config.flavors[name] = flavor;
  }
  world.config.topologies[topology.name] = std::move(topology);
  return world;
}

// {domain: {resource: amount}}, taken by pods of all flavors together.
void ChargeDomains(const json::value& domains, const char* flavor, core::TopologyUsage* usage) {
  const core::TopologyForest& forest = *usage->forest();
  const core::TopologyTree& tree = *forest.Tree(0, flavor);
  const auto* members = domains.if_object();
  for (const auto& domain : members == nullptr ? json::object() : *members) {
    const core::LeafIndex leaf = tree.FindLeaf({std::string(domain.key())});
    if (leaf < 0) continue;
    core::TopologyCharges charges;
    for (const auto& [resource, amount] : Amounts(domain.value())) {
      const std::int32_t index = forest.ResourceIndex(resource);
      if (index >= 0) charges.list.push_back({tree.UsageAt(leaf) + index, amount, 0});
    }
    usage->Charge(charges);
  }
}

// [{values, count, singlePodRequests}], taken by pods that stand there already.
void ChargeUsage(const json::value& list, const char* flavor, core::TopologyUsage* usage) {
  const auto* entries = list.if_array();
  for (const auto& entry : entries == nullptr ? json::array() : *entries) {
    auto topology = std::make_shared<TopologyAssignment>();
    TopologyDomain domain;
    for (const auto& value : ListAt(entry, "values"))
      domain.values.emplace_back(std::string_view(value.as_string()));
    domain.count = static_cast<std::int32_t>(IntAt(entry, "count"));
    topology->domains.push_back(std::move(domain));
    Admission admission;
    PodSetAssignment& held = admission.pod_sets.emplace_back();
    held.name = "main";
    held.flavors["cpu"] = flavor;
    held.topology = std::move(topology);
    PodSets pod_sets(1);
    pod_sets[0].name = "main";
    pod_sets[0].requests = Amounts(At(entry, "singlePodRequests"));
    usage->Charge(core::ChargesOn(*usage->forest(), pod_sets, admission, ""));
  }
}

PodSet LoadPodSet(const json::value& item) {
  const json::object spec{{"nodeSelector", At(item, "nodeSelector")},
                          {"tolerations", At(item, "tolerations")},
                          {"affinity", {{"nodeAffinity", At(item, "nodeAffinity")}}}};
  const json::value document = spec;
  shapes::Problems problems;
  PodSet pod_set;
  pod_set.name = TextAt(item, "name");
  pod_set.count = static_cast<std::int32_t>(IntAt(item, "count"));
  pod_set.requests = Amounts(At(item, "singlePodRequests"));
  pod_set.constraints = shapes::ReadConstraints({document, &problems});
  json::value request = At(item, "topologyRequest");
  const std::string group = TextAt(item, "podSetGroupName");
  if (!group.empty()) {
    if (!request.is_object()) request = json::object();
    request.get_object()["podSetGroupName"] = group;
  }
  pod_set.topology = shapes::ReadTopologyRequest({request, &problems}, pod_set.count);
  return pod_set;
}

// The workload whose pods are to move, if the case has one.
JobRecord LoadMover(const Case& test, const World& world) {
  const json::value& workload = test.Input("workload");
  if (!workload.is_object()) return {};
  JobRecord job = LoadJob(workload, world, JobId{1});
  job.admission = LoadAdmission(At(At(workload, "status"), "admission"));
  return job;
}

json::array ResultJson(const std::vector<core::TopologyAsk>& asks,
                       const core::TopologyPlacement& placement) {
  json::array results;
  const PodSet* failed = placement.failed ? asks[placement.failed_pod_set].spec : nullptr;
  for (const auto& ask : asks) {
    json::object result{{"podSet", ask.spec->name}};
    const bool grouped = failed != nullptr && failed->topology != nullptr &&
                         ask.spec->topology != nullptr &&
                         !failed->topology->pod_set_group.empty() &&
                         ask.spec->topology->pod_set_group == failed->topology->pod_set_group;
    if (ask.spec == failed || grouped) result["failureReason"] = placement.failure;
    for (const auto& [index, assignment] : placement.placed) {
      if (index == ask.pod_set) result["topologyAssignment"] = AssignmentJson(assignment.get());
    }
    if (result.size() > 1) results.push_back(std::move(result));
  }
  return results;
}

void TopologyAssignmentOf(const Case& test, Report* report) {
  const World world = LoadFlavors(test);
  const core::TopologyForestPtr forest = ForestOf(world);
  core::TopologyUsage usage(forest);
  ChargeUsage(test.Input("ownUsage"), kFlavor, &usage);
  ChargeUsage(test.Input("siblingFlavorUsage"), kSibling, &usage);
  ChargeUsage(test.Input("aggregatedDomainUsages"), kSibling, &usage);
  ChargeDomains(test.Input("aggregatedDomainUsages"), kSibling, &usage);
  const core::TopologyUsage before = usage;

  std::vector<PodSet> pod_sets;
  const auto& items = test.Input("podSets").as_array();
  for (const auto& item : items) pod_sets.push_back(LoadPodSet(item));
  std::vector<core::TopologyAsk> asks;
  for (std::size_t i = 0; i < pod_sets.size(); ++i) {
    core::TopologyAsk& ask = asks.emplace_back();
    ask.pod_set = i;
    ask.spec = &pod_sets[i];
    ask.count = pod_sets[i].count;
    ask.flavor = kFlavor;
    ask.implied = BoolAt(items[i], "implied");
    ask.previous = AssignmentOf(At(items[i], "previousAssignment"));
  }
  const JobRecord job = LoadMover(test, world);
  core::NodePlacer placer(&usage, world.settings);
  const auto placement = placer.Place(job, asks, false);
  if (placer.CanPlace(job, asks) == placement.failed)
    report->Fail("whether there is a place depends on whether it is written down");
  if (!(usage == before)) report->Fail("placing changed the usage");
  Check(test, "podSets", ResultJson(asks, placement), report);
}

const Registration kTopologyAssignment("topology-assignment", TopologyAssignmentOf);

}  // namespace
}  // namespace muster::conformance
