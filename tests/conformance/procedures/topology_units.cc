// Small parts of topology aware scheduling: merge-topology-assignments, truncate-assignment,
// count-pods-in-assignment, usage-per-domain, add-usage-per-domain, topology-request-has-level.
#include <algorithm>

#include "schedd/core/topology/topology_assignment.h"
#include "schedd/core/topology/topology_request.h"
#include "schedd/shapes/parts/topology_request.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/topology_world.h"

namespace muster::conformance {
namespace {

constexpr const char* kFlavor = "flavor";

std::vector<std::string> Texts(const json::value& list) {
  return list.is_array() ? json::value_to<std::vector<std::string>>(list)
                         : std::vector<std::string>();
}

// One flavor whose topology has these levels. Nodes are ready: cases leave their status out.
World WorldWith(const Case& test, const std::vector<std::string>& levels) {
  World world = LoadWorld(test);
  for (auto& node : world.nodes) node.ready = true;
  world.config.topologies["topology"] = {"topology", levels};
  ResourceFlavor& flavor = world.config.flavors[kFlavor];
  flavor.name = kFlavor;
  flavor.topology = "topology";
  return world;
}

void MergeTopologyAssignments(const Case& test, Report* report) {
  const auto forest = ForestOf(WorldWith(test, Texts(test.Input("levels"))));
  const auto a = AssignmentOf(test.Input("a")), b = AssignmentOf(test.Input("b"));
  const auto merged = core::MergeAssignments(*forest->Tree(0, kFlavor), *a, *b);
  Check(test, "merged", AssignmentJson(&merged), report);
}

void Truncate(const Case& test, Report* report) {
  const auto assignment = AssignmentOf(test.Input("assignment"));
  const auto count = static_cast<std::int32_t>(IntAt(test.inputs, "newCount"));
  const auto truncated = core::TruncateAssignment(*assignment, count);
  Check(test, "assignment", AssignmentJson(&truncated), report);
}

void Count(const Case& test, Report* report) {
  Check(test, "count", core::CountPods(*AssignmentOf(test.Input("assignment"))), report);
}

ResourceList Amounts(const json::value& map) {
  ResourceList list;
  if (const auto* amounts = map.if_object()) {
    for (const auto& one : *amounts) SetAmount(&list, one.key(), one.value().as_int64());
  }
  return list;
}

// What the pods of an assignment take, on top of `assumedUsage`, by domain. The domains of cases
// have one value.
void UsagePerDomain(const Case& test, Report* report) {
  const auto assignment = AssignmentOf(test.Input("assignment"));
  const ResourceList requests = Amounts(test.Input("singlePodRequests"));
  World world = WorldWith(test, assignment->levels);
  const auto add_node = [&](const std::string& name, const ResourceList& resources) {
    Node node;
    node.name = name;
    node.labels[assignment->levels[0]] = name;
    node.allocatable = resources;
    world.nodes.push_back(std::move(node));
  };
  for (const auto& domain : assignment->domains) add_node(domain.values[0], requests);
  const json::value& assumed = test.Input("assumedUsage");
  if (const auto* domains = assumed.if_object()) {
    for (const auto& domain : *domains) add_node(domain.key(), Amounts(domain.value()));
  }
  const auto forest = ForestOf(world);
  const core::TopologyTree& tree = *forest->Tree(0, kFlavor);
  PodSets pod_sets(1);
  pod_sets[0].name = "main";
  pod_sets[0].requests = requests;
  Admission admission;
  PodSetAssignment& held = admission.pod_sets.emplace_back();
  held.name = "main";
  held.flavors["cpu"] = kFlavor;
  held.topology = assignment;
  core::TopologyUsage usage(forest);
  usage.Charge(core::ChargesOn(*forest, pod_sets, admission, ""));

  json::object by_domain;
  for (core::LeafIndex leaf = 0; leaf < tree.leaf_count(); ++leaf) {
    const std::string domain = tree.AssignmentValues(leaf)[0];
    ResourceList amounts = Amounts(At(assumed, domain));
    for (std::size_t i = 0; i < forest->resources().size(); ++i) {
      const std::int64_t amount = usage.At(tree.Slot(leaf))[i];
      if (amount != 0) AddAmounts(&amounts, {{forest->resources()[i], amount}});
    }
    json::object& out = by_domain[domain].emplace_object();
    for (const auto& [resource, amount] : amounts) out[resource] = amount;
  }
  Check(test, "usage", by_domain, report);
}

void HasLevel(const Case& test, Report* report) {
  const auto forest = ForestOf(WorldWith(test, Texts(test.Input("levels"))));
  shapes::Problems problems;
  const auto request = shapes::ReadTopologyRequest({test.Input("topologyRequest"), &problems}, 1);
  Check(test, "hasLevel",
        request != nullptr &&
            core::HasLevels(*forest->Tree(0, kFlavor), *request, LoadSettings(test)),
        report);
}

const Registration kMerge("merge-topology-assignments", MergeTopologyAssignments);
const Registration kTruncate("truncate-assignment", Truncate);
const Registration kCount("count-pods-in-assignment", Count);
const Registration kUsage("usage-per-domain", UsagePerDomain);
const Registration kAddUsage("add-usage-per-domain", UsagePerDomain);
const Registration kHasLevel("topology-request-has-level", HasLevel);

}  // namespace
}  // namespace muster::conformance
