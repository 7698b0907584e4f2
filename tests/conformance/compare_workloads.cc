// Workloads: what the API would show of them after a cycle.
#include <algorithm>

#include "schedd/base/quantity.h"
#include "tests/conformance/compare.h"

namespace muster::conformance {
namespace {

json::object TopologyJson(const TopologyAssignment& topology) {
  json::array levels(topology.levels.begin(), topology.levels.end());
  json::array domains;
  for (const auto& domain : topology.domains) {
    domains.push_back(
        json::object{{"values", json::array(domain.values.begin(), domain.values.end())},
                     {"count", domain.count}});
  }
  return {{"levels", std::move(levels)}, {"domains", std::move(domains)}};
}

json::value AdmissionJson(const AdmissionPtr& admission) {
  if (admission == nullptr) return nullptr;
  json::array pod_sets;
  for (const auto& pod_set : admission->pod_sets) {
    json::object flavors, usage;
    for (const auto& [resource, flavor] : pod_set.flavors) flavors[resource] = flavor;
    for (const auto& [resource, amount] : pod_set.usage) usage[resource] = AmountJson(amount);
    json::object item = {{"name", pod_set.name},
                         {"count", pod_set.count},
                         {"flavors", std::move(flavors)},
                         {"resourceUsage", std::move(usage)}};
    if (pod_set.topology != nullptr) item["topology"] = TopologyJson(*pod_set.topology);
    if (pod_set.topology_delayed) item["topologyDelayed"] = true;
    pod_sets.push_back(std::move(item));
  }
  return json::object{{"clusterQueue", admission->cluster_queue}, {"podSets", pod_sets}};
}

json::object ConditionsJson(const JobRecord& job) {
  json::object conditions;
  if (job.conditions == nullptr) return conditions;
  for (const auto& condition : *job.conditions) {
    conditions[condition.type] =
        json::object{{"status", condition.status},
                     {"reason", condition.reason},
                     {"message", condition.message},
                     {"lastTransitionTime", FormatRfc3339(condition.last_transition)}};
  }
  return conditions;
}

json::object ChecksJson(const AdmissionState& state) {
  json::object checks;
  for (const auto& check : state.checks) {
    json::object shown = {{"state", CheckStateName(check.state)},
                          {"message", check.message},
                          {"retryCount", check.retry_count}};
    if (check.requeue_after_s) shown["requeueAfterSeconds"] = *check.requeue_after_s;
    checks[check.name] = std::move(shown);
  }
  return checks;
}

json::object StateJson(const AdmissionState& state) {
  json::object status;
  status["admissionChecks"] = ChecksJson(state);
  json::object requeue;
  if (state.requeue_count != 0) requeue["count"] = state.requeue_count;
  if (state.requeue_at) requeue["requeueAt"] = FormatRfc3339(*state.requeue_at);
  status["requeueState"] = std::move(requeue);
  json::object reclaimable, gates;
  for (const auto& pods : state.reclaimable) reclaimable[pods.pod_set] = pods.count;
  for (const auto& gate : state.preemption_gates) gates[gate.name] = gate.open;
  status["reclaimablePods"] = std::move(reclaimable);
  status["preemptionGates"] = std::move(gates);
  status["unhealthyNodes"] =
      json::array(state.unhealthy_nodes.begin(), state.unhealthy_nodes.end());
  status["accumulatedPastExecutionTimeSeconds"] = state.past_execution_s;
  json::array evictions;
  for (const auto& eviction : state.evictions) {
    evictions.push_back(json::object{{"reason", eviction.reason},
                                     {"underlyingCause", eviction.cause},
                                     {"count", eviction.count}});
  }
  status["evictions"] = std::move(evictions);
  return status;
}

// What is compared of a workload, with conditions by type instead of in a list.
json::object WorkloadJson(const JobRecord& job) {
  const AdmissionState state =
      job.admission_state == nullptr ? AdmissionState{} : *job.admission_state;
  json::object status = StateJson(state);
  status["conditions"] = ConditionsJson(job);
  status["admission"] = AdmissionJson(job.admission);
  return {{"spec", json::object{{"active", state.active}, {"priority", job.priority}}},
          {"status", std::move(status)}};
}

}  // namespace

void CheckWorkloads(const Case& test, std::string_view key, const std::vector<JobRecord>& got,
                    Report* report) {
  if (!test.Wants(key)) return;
  World world = LoadWorld(test);
  json::object wanted, shown;
  for (const auto& workload : test.Want(key).as_array()) {
    const JobRecord job = LoadJob(workload, world, JobId{1});
    wanted[KeyOf(job)] = WorkloadJson(job);
  }
  for (const auto& job : got) shown[KeyOf(job)] = WorkloadJson(job);
  CompareRules rules = RulesOf(test, key);
  // Ignored paths are those of one workload, and these stand in a map here.
  for (auto& path : rules.ignore) path = "[]." + path;
  for (const auto& difference : Differences(wanted, shown, rules))
    report->Fail(std::string(key) + difference);
}

void CheckAdmissions(const Case& test, std::string_view key,
                     const std::map<std::string, AdmissionPtr>& got, Report* report) {
  if (!test.Wants(key)) return;
  json::object wanted, shown;
  for (const auto& [name, admission] : test.Want(key).as_object())
    wanted[name] = AdmissionJson(LoadAdmission(admission));
  for (const auto& [name, admission] : got) shown[name] = AdmissionJson(admission);
  for (const auto& difference : Differences(wanted, shown, {}))
    report->Fail(std::string(key) + difference);
}

}  // namespace muster::conformance
