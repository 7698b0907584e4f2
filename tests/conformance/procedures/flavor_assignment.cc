// Flavor choice for one workload: flavor-assignment.
#include <algorithm>
#include <map>

#include "schedd/base/quantity.h"
#include "schedd/core/flavor/flavor_assigner.h"
#include "schedd/core/placer/topology_node_placer.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/topology_world.h"

namespace muster::conformance {
namespace {

using core::FlavorMode;
using Possibility = core::PreemptionOutlook::Possibility;

std::string ModeText(FlavorMode mode) {
  if (mode == FlavorMode::kFit) return "Fit";
  return mode == FlavorMode::kPreempt ? "Preempt" : "NoFit";
}

std::string PossibilityText(Possibility possibility) {
  if (possibility == Possibility::kPreempt) return "Preempt";
  return possibility == Possibility::kReclaim ? "Reclaim" : "NoCandidates";
}

// The answers that a case gives instead of a victim search.
class GivenAnswers final : public core::PreemptionOracle {
 public:
  GivenAnswers(const json::value& setting, const core::QuotaTree& tree)
      : tree_(tree), otherwise_(Answer(At(setting, "default"))) {
    for (const auto& item : ListAt(setting, "byFlavorResource")) {
      answers_[{TextAt(item, "flavor"), TextAt(item, "resource")}] = Answer(item);
    }
  }

  core::PreemptionOutlook Simulate(const core::Preemptor&, core::FlavorResourceIndex pair,
                                   std::int64_t) override {
    const auto found = answers_.find(tree_.pair(pair));
    return found == answers_.end() ? otherwise_ : found->second;
  }

 private:
  static core::PreemptionOutlook Answer(const json::value& item) {
    core::PreemptionOutlook outlook;
    const std::string text = TextAt(item, "preemptionPossibility");
    if (text == "Preempt") outlook.possibility = Possibility::kPreempt;
    if (text == "Reclaim") outlook.possibility = Possibility::kReclaim;
    outlook.borrowing_level = static_cast<std::int32_t>(IntAt(item, "borrowingAfterSimulation"));
    return outlook;
  }

  const core::QuotaTree& tree_;
  const core::PreemptionOutlook otherwise_;
  std::map<std::pair<std::string, std::string>, core::PreemptionOutlook> answers_;
};

json::object AttemptJson(const core::FlavorAttempt& attempt) {
  json::object out{{"flavor", attempt.flavor},
                   {"mode", ModeText(attempt.mode)},
                   {"borrow", attempt.borrowing_level},
                   {"noFitReason", ReasonName(attempt.no_fit_reason)},
                   {"reasons", json::value_from(attempt.reasons)}};
  if (attempt.preemption) out["preemptionPossibility"] = PossibilityText(*attempt.preemption);
  return out;
}

json::object FlavorsJson(const core::PodSetFlavors& pod_set) {
  json::object flavors;
  for (const auto& [resource, flavor] : pod_set.flavors) {
    flavors[resource] = {{"flavor", flavor.flavor},
                         {"mode", ModeText(flavor.mode)},
                         {"triedFlavorIdx", flavor.tried_flavor_idx}};
  }
  return flavors;
}

json::object PodSetJson(const core::PodSetFlavors& pod_set) {
  json::object requests;
  for (const auto& [resource, amount] : pod_set.requests)
    requests[resource] = FormatQuantity(resource, amount);
  json::array attempts;
  for (const auto& attempt : pod_set.attempts) attempts.push_back(AttemptJson(attempt));
  json::object status;
  if (!pod_set.reasons.empty()) status["reasons"] = json::value_from(pod_set.reasons);
  if (!pod_set.error.empty()) status["error"] = pod_set.error;
  return {{"name", pod_set.name},
          {"count", pod_set.count},
          {"requests", std::move(requests)},
          {"flavors", FlavorsJson(pod_set)},
          {"status", std::move(status)},
          {"flavorAttempts", std::move(attempts)}};
}

json::array UsageJson(const core::Assignment& assignment, const core::QuotaTree& tree) {
  std::vector<FlavorAmount> amounts;
  for (const auto& charge : assignment.usage) {
    const auto& [flavor, resource] = tree.pair(charge.pair);
    amounts.push_back({flavor, resource, charge.amount});
  }
  return ToJson(amounts);
}

json::object AssignmentJson(const core::Assignment& assignment, const core::QuotaTree& tree) {
  json::array pod_sets;
  for (const auto& pod_set : assignment.pod_sets) pod_sets.push_back(PodSetJson(pod_set));
  json::object out{{"borrowingLevel", assignment.borrowing_level},
                   {"podSets", std::move(pod_sets)}};
  if (!assignment.usage.empty())
    out["usage"] = json::object{{"assigned", UsageJson(assignment, tree)}};
  if (assignment.no_fit_reason != Reason::kNone)
    out["noFitReason"] = ReasonName(assignment.no_fit_reason);
  return out;
}

// Reasons of a pod set are a set.
void SortReasons(json::value* assignment) {
  for (auto& pod_set : assignment->at("podSets").as_array()) {
    auto* status = pod_set.as_object().if_contains("status");
    auto* reasons = status == nullptr ? nullptr : status->as_object().if_contains("reasons");
    if (reasons == nullptr) continue;
    auto& list = reasons->as_array();
    std::sort(list.begin(), list.end(), [](const json::value& a, const json::value& b) {
      return a.as_string() < b.as_string();
    });
  }
}

// Which attempts are made, and whether a flavor that fits in one resource group is marked for not
// being in another, depends on the order in which groups are visited, which Kueue fixes
// only by a gate. So, if something fits and the case says "flexible", only attempts made on both
// sides count, and not those marks.
void SettleAttempts(json::array* want, json::array* made) {
  const auto flavor_of = [](const json::value& attempt) { return TextAt(attempt, "flavor"); };
  const auto erase_unless = [&](json::array* list, const auto& keep) {
    json::array kept;
    for (const auto& attempt : *list) {
      if (keep(attempt)) kept.push_back(attempt);
    }
    *list = std::move(kept);
  };
  const auto marked = [](const json::value& attempt) {
    const auto& reasons = ListAt(attempt, "reasons");
    return reasons.size() == 1 &&
           std::string_view(reasons[0].as_string()).find(" does not provide resource ") !=
               std::string_view::npos;
  };
  const auto listed = [&](const json::array& list, const json::value& attempt) {
    return std::any_of(list.begin(), list.end(), [&](const json::value& other) {
      return flavor_of(other) == flavor_of(attempt);
    });
  };
  erase_unless(want,
               [&](const auto& attempt) { return !marked(attempt) && listed(*made, attempt); });
  erase_unless(made,
               [&](const auto& attempt) { return !marked(attempt) && listed(*want, attempt); });
}

void SettleAttempts(const Case& test, json::value* want, json::value* got) {
  const bool flexible = TextAt(At(test.compare, "assignment"), "flavorAttempts") == "flexible";
  auto& made_by_set = got->at("podSets").as_array();
  auto& wanted_by_set = want->at("podSets").as_array();
  for (std::size_t i = 0; i < std::min(made_by_set.size(), wanted_by_set.size()); ++i) {
    auto& made = made_by_set[i].at("flavorAttempts").as_array();
    auto* wanted = wanted_by_set[i].as_object().if_contains("flavorAttempts");
    if (wanted == nullptr) {
      made.clear();
    } else if (flexible && std::any_of(made.begin(), made.end(), [](const json::value& attempt) {
                 return TextAt(attempt, "mode") == "Fit";
               })) {
      SettleAttempts(&wanted->as_array(), &made);
    }
  }
}

void SortByFlavor(json::value* assignment) {
  for (auto& pod_set : assignment->at("podSets").as_array()) {
    auto* attempts = pod_set.as_object().if_contains("flavorAttempts");
    if (attempts == nullptr) continue;
    auto& list = attempts->as_array();
    std::sort(list.begin(), list.end(), [](const json::value& a, const json::value& b) {
      return TextAt(a, "flavor") < TextAt(b, "flavor");
    });
  }
}

void CheckAssignment(const Case& test, const core::Assignment& assignment,
                     const core::QuotaTree& tree, Report* report) {
  if (!test.Wants("assignment")) return;
  json::value want = test.Want("assignment");
  json::value got = AssignmentJson(assignment, tree);
  SettleAttempts(test, &want, &got);
  for (json::value* side : {&want, &got}) {
    SortReasons(side);
    SortByFlavor(side);
  }
  for (const auto& difference : Differences(want, got, RulesOf(test, "assignment")))
    report->Fail("assignment" + difference);
}

// want.noFitReason may be "". Of the attempts those are asserted that the case names, if they are
// made at all: that depends on the order of resources.
void CheckNoFit(const Case& test, const core::Assignment& assignment, Report* report) {
  Check(test, "noFitReason", json::value(ReasonName(assignment.no_fit_reason)), report);
  for (const auto& pod_set : assignment.pod_sets) {
    for (const auto& attempt : pod_set.attempts) {
      const json::value& wanted = At(test.Want("flavorAttemptNoFitReasons"), attempt.flavor);
      const std::string reason(ReasonName(attempt.no_fit_reason));
      if (!wanted.is_null() && wanted != json::value(reason))
        report->Fail("flavorAttemptNoFitReasons." + attempt.flavor + ": want " + WriteJson(wanted) +
                     ", got " + reason);
    }
  }
}

void CheckParts(const Case& test, const core::Assignment& assignment, Report* report) {
  json::object names, flavors, errors;
  json::array tried;
  bool placed = false;
  for (const auto& pod_set : assignment.pod_sets) {
    json::object& by_resource = names[pod_set.name].emplace_object();
    for (const auto& [resource, flavor] : pod_set.flavors) by_resource[resource] = flavor.flavor;
    flavors[pod_set.name] = FlavorsJson(pod_set);
    if (!pod_set.error.empty()) errors[pod_set.name] = pod_set.error;
    placed = placed || pod_set.topology != nullptr;
  }
  for (const auto& position : assignment.last_tried) {
    json::object& by_resource = tried.emplace_back(json::object()).as_object();
    for (const auto& [resource, index] : position) by_resource[resource] = index;
  }
  Check(test, "flavors", names, report);
  Check(test, "podSetFlavors", flavors, report);
  Check(test, "podSetErrors", errors, report);
  Check(test, "lastTriedFlavorIdx", tried, report);
  Check(test, "hasTopologyAssignment", placed, report);
  Check(test, "representativeMode", json::value(ModeText(assignment.Mode())), report);
}

// inputs.replacedWorkloadSlice.totalRequests[] as the reservation that it stands for.
Admission ReplacedSlice(const json::value& slice) {
  Admission admission;
  for (const auto& item : ListAt(slice, "totalRequests")) {
    PodSetAssignment& pod_set = admission.pod_sets.emplace_back();
    pod_set.name = TextAt(item, "name");
    pod_set.count = static_cast<std::int32_t>(IntAt(item, "count"));
    if (const auto* flavors = At(item, "flavors").if_object()) {
      for (const auto& flavor : *flavors)
        pod_set.flavors[flavor.key()] = std::string(std::string_view(flavor.value().as_string()));
    }
    if (const auto* requests = At(item, "requests").if_object()) {
      for (const auto& request : *requests)
        SetAmount(&pod_set.usage, request.key(), request.value().as_int64());
    }
  }
  return admission;
}

core::Usage UsageOf(const Case& test, const core::QuotaTreePtr& tree) {
  core::Usage usage(tree);
  const auto* by_queue = test.Input("clusterQueueUsage").if_object();
  if (by_queue == nullptr) return usage;
  for (const auto& queue : *by_queue) {
    for (const auto& [flavor, resource, amount] : FlavorAmounts(queue.value())) {
      usage.Add(tree->ClusterQueueIndex(std::string_view(queue.key())),
                tree->PairIndex(flavor, resource), amount);
    }
  }
  return usage;
}

void FlavorAssignment(const Case& test, Report* report) {
  World world = LoadWorld(test);
  const core::QuotaTreePtr tree = core::QuotaTree::Build(world.config);
  const core::Usage usage = UsageOf(test, tree);
  for (const auto& flavor : test.Input("deletedResourceFlavors").is_array()
                                ? test.Input("deletedResourceFlavors").get_array()
                                : json::array())
    world.config.flavors.erase(std::string(std::string_view(flavor.as_string())));
  const std::string queue = TextAt(test.inputs, "targetClusterQueue");
  JobRecord job = LoadJob(test.Input("workload"), world, JobId{1});
  job.cluster_queue = queue;
  GivenAnswers answers(At(test.settings, "preemptionSimulation"), *tree);
  core::TopologyUsage machines = TopologyUsageOf(world, ForestOf(world));
  ChargeTopologyUsage(test.Input("tasUsage"), &machines);
  core::NodePlacer placer(&machines, world.settings);
  core::AssignRequest request;
  request.oracle = &answers;
  const Admission replaced = ReplacedSlice(test.Input("replacedWorkloadSlice"));
  if (!replaced.pod_sets.empty()) request.replaced = &replaced;
  const core::Assignment assignment =
      core::AssignFlavors(world.config, world.settings, usage,
                          world.config.cluster_queues.at(queue), job, &placer, request);
  CheckAssignment(test, assignment, *tree, report);
  CheckNoFit(test, assignment, report);
  CheckParts(test, assignment, report);
}

const Registration kFlavorAssignment("flavor-assignment", FlavorAssignment);

}  // namespace
}  // namespace muster::conformance
