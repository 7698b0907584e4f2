// Shares and what a waiting preemptor keeps: dominant-resource-share, is-borrowing,
// weighted-share-text, resources-to-reserve.
#include <string>
#include <vector>

#include "schedd/core/plan/preemption_reserve.h"
#include "schedd/core/quota/fair_share.h"
#include "tests/conformance/compare.h"

namespace muster::conformance {
namespace {

using core::Charges;
using core::NodeIndex;
using core::QuotaTree;

Charges ChargesOf(const QuotaTree& tree, const json::value& list) {
  Charges charges;
  for (const auto& entry : FlavorAmounts(list))
    charges.push_back({tree.PairIndex(entry.flavor, entry.resource), entry.amount});
  return charges;
}

// The usage that inputs.clusterQueueUsage says.
core::Usage UsageOf(const Case& test, const World& world) {
  core::Usage usage(QuotaTree::Build(world.config));
  if (const auto* queues = test.Input("clusterQueueUsage").if_object()) {
    for (const auto& [name, list] : *queues) {
      const NodeIndex queue = usage.tree().ClusterQueueIndex(name);
      for (const auto& charge : ChargesOf(usage.tree(), list))
        usage.Add(queue, charge.pair, charge.amount);
    }
  }
  return usage;
}

void DominantResourceShare(const Case& test, Report* report) {
  const World world = LoadWorld(test);
  const core::Usage usage = UsageOf(test, world);
  const QuotaTree& tree = usage.tree();
  const Charges more = ChargesOf(tree, test.Input("additionalRequests"));
  json::array shares;
  for (NodeIndex at = 0; at < static_cast<NodeIndex>(tree.node_count()); ++at) {
    const auto& node = tree.node(at);
    // The workload that is looked at wants to run in the queues.
    const core::Share share =
        node.is_cluster_queue ? core::ShareWith(usage, at, more) : core::ShareOf(usage, at);
    shares.push_back(
        json::object{{"borrowing", share.borrowing},
                     {"dominantResource", share.dominant < 0 ? "" : tree.resource(share.dominant)},
                     {"name", node.name},
                     {"type", node.is_cluster_queue ? "ClusterQueue" : "Cohort"},
                     {"weightedShare", share.Rounded()}});
  }
  CompareRules rules;
  rules.ignore_order = true;  // of nodes of equal kind
  Check(test, "shares", shares, rules, report);
}
const Registration kDominantResourceShare("dominant-resource-share", DominantResourceShare);

void IsBorrowing(const Case& test, Report* report) {
  const World world = LoadWorld(test);
  const core::Usage usage = UsageOf(test, world);
  const NodeIndex queue =
      usage.tree().ClusterQueueIndex(std::string_view(test.Input("clusterQueue").as_string()));
  const Charges wanted = ChargesOf(usage.tree(), test.Input("requestedFlavorResources"));
  Check(test, "borrowing", core::ShareOf(usage, queue).borrowing, report);
  Check(test, "borrowingOnRequested", core::BorrowsOn(usage, queue, wanted), report);
}
const Registration kIsBorrowing("is-borrowing", IsBorrowing);

void WeightedShareText(const Case& test, Report* report) {
  const json::value& input = test.Input("share");
  core::Share share;
  share.weight = At(input, "fairWeight").to_number<double>();
  share.unweighted = At(input, "unweightedRatio").to_number<double>();
  share.borrowing = BoolAt(input, "borrowing");
  Check(test, "text", json::value(core::WeightedShareText(share).c_str()), report);
}
const Registration kWeightedShareText("weighted-share-text", WeightedShareText);

void ResourcesToReserve(const Case& test, Report* report) {
  const World world = LoadWorld(test);
  const core::Usage usage = UsageOf(test, world);
  core::Assignment assignment;
  assignment.usage = ChargesOf(usage.tree(), test.Input("assignmentUsage"));
  assignment.borrowing_level =
      static_cast<std::int32_t>(test.Input("borrowingLevel").to_number<std::int64_t>());
  core::PodSetFlavors pods;
  if (test.Input("assignmentMode") != "Fit") pods.reasons = {"lacks room"};
  for (const auto& entry : FlavorAmounts(test.Input("assignmentUsage"))) {
    pods.flavors[entry.resource] = {entry.flavor,
                                    test.Input("assignmentMode") == "Preempt"
                                        ? core::FlavorMode::kPreempt
                                        : core::FlavorMode::kFit,
                                    0, assignment.borrowing_level};
  }
  assignment.pod_sets.push_back(std::move(pods));
  std::vector<FlavorAmount> reserved;
  for (const auto& charge :
       core::ResourcesToReserve(usage, usage.tree().ClusterQueueIndex("cq"), assignment)) {
    const auto& [flavor, resource] = usage.tree().pair(charge.pair);
    reserved.push_back({flavor, resource, charge.amount});
  }
  Check(test, "reserved", ToJson(reserved), report);
}
const Registration kResourcesToReserve("resources-to-reserve", ResourcesToReserve);

}  // namespace
}  // namespace muster::conformance
