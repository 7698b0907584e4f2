// Parts of the flavor choice: flavor-mode-preference, podset-reducer-search,
// assignment-total-requests.
#include <numeric>

#include "schedd/core/flavor/flavor_assigner.h"
#include "schedd/core/flavor/flavor_score.h"
#include "schedd/core/flavor/partial_admission.h"
#include "schedd/shapes/config/object_readers.h"
#include "tests/conformance/compare.h"

namespace muster::conformance {
namespace {

core::FlavorScore Score(const json::value& mode) {
  core::FlavorScore score;
  const std::string text = TextAt(mode, "preemptionMode");
  score.grade = text == "fit"                      ? core::Grade::kFit
                : text == "reclaim"                ? core::Grade::kReclaim
                : text == "preempt"                ? core::Grade::kPreempt
                : text == "noPreemptionCandidates" ? core::Grade::kNoCandidates
                                                   : core::Grade::kNoFit;
  score.level = static_cast<std::int32_t>(IntAt(mode, "borrowingLevel"));
  return score;
}

void FlavorModePreference(const Case& test, Report* report) {
  const bool preempt_first =
      TextAt(test.Input("flavorFungibility"), "preference") == "PreemptionOverBorrowing";
  const auto preference = preempt_first ? FungibilityPreference::kPreemptionOverBorrowing
                                        : FungibilityPreference::kBorrowingOverPreemption;
  Check(test, "aPreferredOverB",
        core::Better(Score(test.Input("a")), Score(test.Input("b")), preference), report);
}

void PodSetReducerSearch(const Case& test, Report* report) {
  PodSets pod_sets;
  for (const auto& item : test.Input("podSets").as_array()) {
    PodSet& pod_set = pod_sets.emplace_back();
    pod_set.count = static_cast<std::int32_t>(IntAt(item, "count"));
    if (At(item, "minCount").is_int64())
      pod_set.min_count = static_cast<std::int32_t>(IntAt(item, "minCount"));
  }
  const std::int64_t limit = IntAt(test.inputs, "countLimit");
  const auto total = [](std::span<const std::int32_t> counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  };
  const auto found = core::LargestFittingCounts(
      pod_sets, [&](std::span<const std::int32_t> counts) { return total(counts) <= limit; });
  Check(test, "found", found.has_value(), report);
  Check(test, "count", found ? total(*found) : 0, report);
}

// totalRequests[] of a workload: pod sets with requests of all pods.
core::Demand DemandOf(const json::value& workload, PodSets* pod_sets) {
  const json::array& items = ListAt(workload, "totalRequests");
  pod_sets->resize(items.size());
  core::Demand demand;
  for (std::size_t i = 0; i < items.size(); ++i) {
    (*pod_sets)[i].name = TextAt(items[i], "name");
    core::PodSetDemand& entry = demand.emplace_back();
    entry.pod_set = &(*pod_sets)[i];
    entry.count = static_cast<std::int32_t>(IntAt(items[i], "count"));
    const auto* requests = At(items[i], "requests").if_object();
    for (const auto& request : requests == nullptr ? json::object() : *requests)
      SetAmount(&entry.per_pod, request.key(), request.value().as_int64() / entry.count);
  }
  return demand;
}

core::Assignment LoadAssignment(const json::value& object) {
  core::Assignment assignment;
  for (const auto& item : ListAt(object, "podSets")) {
    core::PodSetFlavors& pod_set = assignment.pod_sets.emplace_back();
    pod_set.name = TextAt(item, "name");
    pod_set.count = static_cast<std::int32_t>(IntAt(item, "count"));
    const auto* flavors = At(item, "flavors").if_object();
    for (const auto& flavor : flavors == nullptr ? json::object() : *flavors)
      pod_set.flavors[flavor.key()].flavor = TextAt(flavor.value(), "flavor");
  }
  return assignment;
}

// A tree with quota for every pair that the assignment names.
core::QuotaTreePtr TreeOf(const core::Assignment& assignment) {
  ConfigView config;
  ClusterQueue& queue = config.cluster_queues["queue"];
  queue.name = "queue";
  for (const auto& pod_set : assignment.pod_sets) {
    for (const auto& [resource, flavor] : pod_set.flavors)
      queue.resource_groups.push_back({{resource}, {{flavor.flavor, {{resource, Quota{}}}}}});
  }
  return core::QuotaTree::Build(config);
}

void AssignmentTotalRequests(const Case& test, Report* report) {
  const json::value& given = test.Input("assignment");
  const core::Assignment assignment = LoadAssignment(given);
  PodSets pod_sets;
  const core::Demand demand = DemandOf(test.Input("workload"), &pod_sets);
  Admission replaced;
  for (const auto& item : ListAt(At(given, "replaceWorkloadSlice"), "totalRequests")) {
    PodSetAssignment& pod_set = replaced.pod_sets.emplace_back();
    pod_set.name = TextAt(item, "name");
    pod_set.count = static_cast<std::int32_t>(IntAt(item, "count"));
  }
  const core::QuotaTreePtr tree = TreeOf(assignment);
  std::vector<FlavorAmount> amounts;
  for (const auto& charge : core::TotalRequests(*tree, demand, assignment,
                                                replaced.pod_sets.empty() ? nullptr : &replaced)) {
    amounts.push_back(
        {tree->pair(charge.pair).first, tree->pair(charge.pair).second, charge.amount});
  }
  Check(test, "totalRequests", ToJson(amounts), report);
}

const Registration kFlavorModePreference("flavor-mode-preference", FlavorModePreference);
const Registration kPodSetReducerSearch("podset-reducer-search", PodSetReducerSearch);
const Registration kAssignmentTotalRequests("assignment-total-requests", AssignmentTotalRequests);

}  // namespace
}  // namespace muster::conformance
