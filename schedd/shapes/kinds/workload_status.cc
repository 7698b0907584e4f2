// One reader per part of a Workload's status. Values of a wrong type or out of bounds are problems;
// unknown members are left alone, because controllers may be of a newer version.
#include "schedd/shapes/kinds/workload_status.h"

#include "schedd/base/limits.h"
#include "schedd/shapes/parts/pod_constraints.h"
#include "schedd/shapes/parts/topology_slices.h"

namespace muster::shapes {
namespace {

// A timestamp; unset if it is absent, empty or wrong.
WallTime ReadTime(const Field& field) {
  WallTime time;
  const auto text = field.String();
  if (text && !text->empty() && !ParseRfc3339(std::string(*text), &time))
    field.Fail("must be a time such as 2026-01-31T12:00:00Z");
  return time;
}

void AtMost(const Field& list, std::size_t size, std::size_t most) {
  if (size > most) list.Fail("must have at most " + std::to_string(most) + " entries");
}

Condition ReadCondition(const Field& item) {
  Condition condition;
  condition.type = item["type"].StringOr("");
  condition.reason = item["reason"].StringOr("");
  condition.message = item["message"].StringOr("");
  condition.status = item["status"].OneOf({"True", "False", "Unknown"}) == "True";
  condition.last_transition = ReadTime(item["lastTransitionTime"]);
  return condition;
}

// Annotations: any text is a value, unlike that of a label.
LabelMap ReadTextMap(const Field& map) {
  LabelMap read;
  for (const auto& [key, field] : map.Members())
    read.emplace(std::string(key), std::string(field.StringOr("")));
  return read;
}

// One entry of podSetUpdates of an admission check.
PodSetUpdate ReadUpdate(const Field& item) {
  item.OnlyMembers({"name", "labels", "annotations", "nodeSelector", "tolerations"});
  PodSetUpdate update;
  if (item["name"].Require()) update.pod_set = item["name"].StringOr("");
  update.labels = ReadLabelMap(item["labels"]);
  update.annotations = ReadTextMap(item["annotations"]);
  update.node_selector = ReadLabelMap(item["nodeSelector"]);
  update.tolerations = ReadTolerations(item["tolerations"]);
  return update;
}

// The state of an admission check; Pending if it is absent.
CheckState ReadState(const Field& field) {
  const auto text = field.OneOf({"Pending", "Ready", "Retry", "Rejected"});
  for (const auto state : {CheckState::kReady, CheckState::kRetry, CheckState::kRejected}) {
    if (text == CheckStateName(state)) return state;
  }
  return CheckState::kPending;
}

AdmissionCheckStatus ReadCheckState(const Field& item) {
  item.OnlyMembers({"name", "state", "lastTransitionTime", "message", "requeueAfterSeconds",
                    "retryCount", "podSetUpdates"});
  AdmissionCheckStatus check;
  if (item["name"].Require()) check.name = item["name"].StringOr("");
  if (item["state"].Require()) check.state = ReadState(item["state"]);
  check.message = item["message"].StringOr("");
  check.last_transition = ReadTime(item["lastTransitionTime"]);
  check.requeue_after_s = item["requeueAfterSeconds"].Count(0);
  check.retry_count = item["retryCount"].CountOr(0, 0);
  for (const auto& update : item["podSetUpdates"].Elements())
    check.updates.push_back(ReadUpdate(update));
  return check;
}

std::vector<EvictionCount> ReadEvictions(const Field& list) {
  std::vector<EvictionCount> counts;
  for (const auto& item : list.Elements()) {
    counts.push_back({std::string(item["reason"].StringOr("")),
                      std::string(item["underlyingCause"].StringOr("")),
                      item["count"].CountOr(0, 0)});
  }
  return counts;
}

}  // namespace

std::vector<AdmissionCheckStatus> ReadCheckStates(const Field& checks) {
  std::vector<AdmissionCheckStatus> list;
  for (const auto& item : checks.Elements()) list.push_back(ReadCheckState(item));
  AtMost(checks, list.size(), limits::kAdmissionChecks);
  return list;
}

std::vector<ReclaimablePods> ReadReclaimablePods(const Field& list) {
  std::vector<ReclaimablePods> pods;
  for (const auto& item : list.Elements()) {
    item.OnlyMembers({"name", "count"});
    pods.push_back({std::string(item["name"].StringOr("")), item["count"].CountOr(0, 0)});
  }
  AtMost(list, pods.size(), limits::kPodSets);
  return pods;
}

PodSetAssignment ReadPodSetAssignment(const Field& item) {
  item.OnlyMembers({"name", "flavors", "resourceUsage", "count", "topologyAssignment",
                    "delayedTopologyRequest"});
  PodSetAssignment assignment;
  assignment.name = item["name"].StringOr("");
  assignment.count = item["count"].CountOr(0, 0);
  for (const auto& [resource, flavor] : item["flavors"].Members())
    assignment.flavors.emplace(resource, flavor.StringOr(""));
  for (const auto& [resource, amount] : item["resourceUsage"].Members())
    SetAmount(&assignment.usage, resource, amount.Quantity(resource).value_or(0));
  assignment.topology = ReadTopologyAssignment(item["topologyAssignment"]);
  assignment.topology_delayed =
      item["delayedTopologyRequest"].OneOf({"Pending", "Ready"}) == "Pending";
  return assignment;
}

AdmissionPtr ReadAdmission(const Field& field) {
  if (field.Object() == nullptr) return nullptr;
  field.OnlyMembers({"clusterQueue", "podSetAssignments"});
  auto admission = std::make_shared<Admission>();
  admission->cluster_queue = field["clusterQueue"].StringOr("");
  for (const auto& item : field["podSetAssignments"].Elements())
    admission->pod_sets.push_back(ReadPodSetAssignment(item));
  return admission;
}

WorkloadStatus ReadWorkloadStatus(const Field& status) {
  WorkloadStatus read;
  for (const auto& item : status["conditions"].Elements())
    read.conditions.push_back(ReadCondition(item));
  AtMost(status["conditions"], read.conditions.size(), limits::kConditions);
  read.admission = ReadAdmission(status["admission"]);
  read.state.checks = ReadCheckStates(status["admissionChecks"]);
  read.state.requeue_count = status["requeueState"]["count"].CountOr(0, 0);
  if (const Field at = status["requeueState"]["requeueAt"]; at.present())
    read.state.requeue_at = ReadTime(at);
  read.state.reclaimable = ReadReclaimablePods(status["reclaimablePods"]);
  for (const auto& node : status["unhealthyNodes"].Elements())
    read.state.unhealthy_nodes.emplace_back(node["name"].StringOr(""));
  AtMost(status["unhealthyNodes"], read.state.unhealthy_nodes.size(), limits::kUnhealthyNodes);
  for (const auto& gate : status["preemptionGates"].Elements()) {
    read.state.preemption_gates.push_back({std::string(gate["name"].StringOr("")),
                                           gate["position"].OneOf({"Open", "Closed"}) == "Open"});
  }
  read.state.past_execution_s = status["accumulatedPastExecutionTimeSeconds"].Int(0).value_or(0);
  read.state.evictions = ReadEvictions(status["schedulingStats"]["evictions"]);
  return read;
}

}  // namespace muster::shapes
