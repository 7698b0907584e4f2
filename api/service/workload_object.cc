// Writes the record of a job as a Workload: spec from the submitted fields, status from the
// admission, the admission state (checks, requeues, evictions) and the conditions. Lists and
// members that would be empty are left out, as Kueue's controllers expect.
#include "api/service/workload_object.h"

#include "api/service/views.h"
#include "schedd/lifecycle/job_changes.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/member_queues.h"
#include "schedd/model/requests.h"
#include "schedd/shapes/parts/metadata.h"
#include "schedd/shapes/parts/topology_slices.h"

namespace muster::api {
namespace {

// The older of the served versions.
constexpr std::string_view kOld = "v1beta1";

json::object TextMap(const LabelMap& map) {
  json::object out;
  for (const auto& [key, value] : map) out[key] = value;
  return out;
}

// Kubernetes' tolerations; empty members are left out.
json::array TolerationsJson(const std::vector<Toleration>& tolerations) {
  json::array out;
  for (const Toleration& one : tolerations) {
    json::object item;
    if (!one.key.empty()) item["key"] = one.key;
    if (!one.op.empty()) item["operator"] = one.op;
    if (!one.value.empty()) item["value"] = one.value;
    if (!one.effect.empty()) item["effect"] = one.effect;
    if (one.seconds) item["tolerationSeconds"] = *one.seconds;
    out.push_back(std::move(item));
  }
  return out;
}

// What the pods ask of a topology: one required or preferred level, groups, and slices.
json::object TopologyRequestJson(const TopologyRequest& request) {
  json::object out;
  if (request.required) out["required"] = *request.required;
  if (request.preferred) out["preferred"] = *request.preferred;
  if (request.unconstrained) out["unconstrained"] = true;
  if (!request.pod_set_group.empty()) out["podSetGroupName"] = request.pod_set_group;
  if (request.slice_required) out["podSetSliceRequiredTopology"] = *request.slice_required;
  if (request.slice_size) out["podSetSliceSize"] = *request.slice_size;
  json::array layers;
  for (const TopologyLayer& layer : request.slice_layers)
    layers.push_back(json::object{{"topology", layer.level}, {"size", layer.size}});
  if (!layers.empty()) out["podsetSliceRequiredTopologyConstraints"] = std::move(layers);
  return out;
}

// A pod set whose template has one container with the pod set's requests; the real containers are
// in the job's manifest.
json::object PodSetJson(const PodSet& pod_set) {
  json::object container{{"name", "main"},
                         {"resources", {{"requests", ResourcesJson(pod_set.requests)}}}};
  json::object pod_spec{{"containers", json::array{std::move(container)}}};
  if (pod_set.constraints != nullptr) {
    if (!pod_set.constraints->node_selector.empty())
      pod_spec["nodeSelector"] = TextMap(pod_set.constraints->node_selector);
    if (!pod_set.constraints->tolerations.empty())
      pod_spec["tolerations"] = TolerationsJson(pod_set.constraints->tolerations);
  }
  json::object out{{"name", pod_set.name}, {"count", pod_set.count}};
  if (pod_set.min_count) out["minCount"] = *pod_set.min_count;
  if (pod_set.topology != nullptr) out["topologyRequest"] = TopologyRequestJson(*pod_set.topology);
  out["template"] = json::object{{"spec", std::move(pod_spec)}};
  return out;
}

// The topology assignment of v1beta1: a list of domains. v1beta2 has a compressed form.
json::object PlainTopology(const TopologyAssignment& assignment) {
  json::array domains;
  for (const TopologyDomain& domain : assignment.domains) {
    domains.push_back(
        json::object{{"values", json::array(domain.values.begin(), domain.values.end())},
                     {"count", domain.count}});
  }
  return {{"levels", json::array(assignment.levels.begin(), assignment.levels.end())},
          {"domains", std::move(domains)}};
}

// The flavors, usage and topology that admission gave one pod set.
json::object AssignmentJson(const PodSetAssignment& pod_set, std::string_view version) {
  json::object flavors;
  for (const auto& [resource, flavor] : pod_set.flavors) flavors[resource] = flavor;
  json::object out{{"name", pod_set.name},
                   {"flavors", std::move(flavors)},
                   {"resourceUsage", ResourcesJson(pod_set.usage)},
                   {"count", pod_set.count}};
  if (pod_set.topology != nullptr) {
    out["topologyAssignment"] = version == kOld
                                    ? PlainTopology(*pod_set.topology)
                                    : shapes::RenderTopologyAssignment(*pod_set.topology);
  }
  if (pod_set.topology_delayed)
    out["delayedTopologyRequest"] = pod_set.topology == nullptr ? "Pending" : "Ready";
  return out;
}

// An admission check's answer, with the updates it wants for the job's pods.
json::object CheckJson(const AdmissionCheckStatus& check) {
  json::object out{{"name", check.name},
                   {"state", CheckStateName(check.state)},
                   {"lastTransitionTime", FormatRfc3339(check.last_transition)},
                   {"message", check.message}};
  if (check.requeue_after_s) out["requeueAfterSeconds"] = *check.requeue_after_s;
  if (check.retry_count > 0) out["retryCount"] = check.retry_count;
  json::array updates;
  for (const PodSetUpdate& update : check.updates) {
    json::object item{{"name", update.pod_set}};
    if (!update.labels.empty()) item["labels"] = TextMap(update.labels);
    if (!update.annotations.empty()) item["annotations"] = TextMap(update.annotations);
    if (!update.node_selector.empty()) item["nodeSelector"] = TextMap(update.node_selector);
    if (!update.tolerations.empty()) item["tolerations"] = TolerationsJson(update.tolerations);
    updates.push_back(std::move(item));
  }
  if (!updates.empty()) out["podSetUpdates"] = std::move(updates);
  return out;
}

// The record's conditions. A job that has never been tried has none, so one is made on a copy.
json::array ConditionsJson(const JobRecord& job, const AdmissionSettings& settings) {
  JobRecord shown = job;
  const bool waits = job.state == JobState::kPending || job.state == JobState::kHeld;
  if (waits && FindCondition(job, "QuotaReserved") == nullptr)
    MarkWaiting(&shown, job.reason, job.message, settings, job.submit_time);
  json::array out;
  if (shown.conditions == nullptr) return out;
  for (const Condition& condition : *shown.conditions) {
    json::object item = ConditionJson(condition);
    item["observedGeneration"] = 1;
    out.push_back(std::move(item));
  }
  return out;
}

// Writes what the job's admission state holds beside the admission. Empty members are left out.
void AddState(const AdmissionState& state, std::string_view version, json::object* status) {
  if (state.requeue_count > 0 || state.requeue_at) {
    json::object requeue;
    if (state.requeue_count > 0) requeue["count"] = state.requeue_count;
    if (state.requeue_at) requeue["requeueAt"] = FormatRfc3339(*state.requeue_at);
    (*status)["requeueState"] = std::move(requeue);
  }
  json::array checks, reclaimable, nodes, gates, evictions;
  for (const auto& check : state.checks) checks.push_back(CheckJson(check));
  for (const auto& pods : state.reclaimable)
    reclaimable.push_back(json::object{{"name", pods.pod_set}, {"count", pods.count}});
  for (const auto& node : state.unhealthy_nodes) nodes.push_back(json::object{{"name", node}});
  for (const auto& gate : state.preemption_gates)
    gates.push_back(json::object{{"name", gate.name}, {"position", gate.open ? "Open" : "Closed"}});
  for (const auto& one : state.evictions) {
    evictions.push_back(
        json::object{{"reason", one.reason}, {"underlyingCause", one.cause}, {"count", one.count}});
  }
  const auto put = [status](const char* key, json::array list) {
    if (!list.empty()) (*status)[key] = std::move(list);
  };
  put("admissionChecks", std::move(checks));
  put("reclaimablePods", std::move(reclaimable));
  put("unhealthyNodes", std::move(nodes));
  put("preemptionGates", std::move(gates));
  if (!evictions.empty())
    (*status)["schedulingStats"] = json::object{{"evictions", std::move(evictions)}};
  if (state.past_execution_s > 0) {
    (*status)[version == kOld ? "accumulatedPastExexcutionTimeSeconds"  // as v1beta1 spells it
                              : "accumulatedPastExecutionTimeSeconds"] = state.past_execution_s;
  }
}

}  // namespace

bool IsActive(const JobRecord& job) {
  // A script that is held while it runs is as active as others.
  const bool held = job.suspended_by_user && !IsTrue(job, changes::kHeldCondition);
  return StateOf(job).active && job.state != JobState::kHeld && !held;
}

json::object WorkloadSpec(const JobRecord& job, std::string_view version) {
  json::object spec;
  spec["queueName"] = job.local_queue;
  spec["priority"] = job.priority;
  if (!job.priority_class.empty() && version == kOld) {
    spec["priorityClassName"] = job.priority_class;
    spec["priorityClassSource"] = "kueue.x-k8s.io/workloadpriorityclass";
  } else if (!job.priority_class.empty()) {
    // v1beta2 names the class by a reference.
    spec["priorityClassRef"] = json::object{{"group", "kueue.x-k8s.io"},
                                            {"kind", "WorkloadPriorityClass"},
                                            {"name", job.priority_class}};
  }
  spec["active"] = IsActive(job);
  if (job.max_execution_s > 0) spec["maximumExecutionTimeSeconds"] = job.max_execution_s;
  json::array pod_sets;
  if (job.pod_sets != nullptr) {
    for (const PodSet& pod_set : *job.pod_sets) pod_sets.push_back(PodSetJson(pod_set));
  }
  spec["podSets"] = std::move(pod_sets);
  return spec;
}

json::object WorkloadStatus(const JobRecord& job, const AdmissionSettings& settings,
                            std::string_view version) {
  json::object status;
  status["conditions"] = ConditionsJson(job, settings);
  if (job.admission != nullptr) {
    json::array assignments;
    for (const PodSetAssignment& pod_set : job.admission->pod_sets)
      assignments.push_back(AssignmentJson(pod_set, version));
    status["admission"] = json::object{{"clusterQueue", job.admission->cluster_queue},
                                       {"podSetAssignments", std::move(assignments)}};
  } else if (!IsTerminal(job.state) && job.pod_sets != nullptr) {
    // Without an admission: the total requests that the job will be charged for.
    json::array requests;
    for (const PodSetTotal& total : TotalRequests(job, settings)) {
      requests.push_back(
          json::object{{"name", total.name}, {"resources", ResourcesJson(total.requests)}});
    }
    status["resourceRequests"] = std::move(requests);
  }
  // As in MultiKueue: either the nominated clusters or, once one is chosen, that cluster.
  if (AsksMembers(job)) {
    const auto& nominated = StateOf(job).nominated;
    if (!nominated.empty())
      status["nominatedClusterNames"] = json::array(nominated.begin(), nominated.end());
  } else if (!job.cluster.empty()) {
    status["clusterName"] = job.cluster;
  }
  AddState(StateOf(job), version, &status);
  return status;
}

void SetWorkloadLabels(const JobRecord& job, json::object* metadata) {
  json::object labels{{shapes::kQueueKey, job.local_queue},
                      {"kueue.x-k8s.io/job-uid", job.uid.ToString()}};
  if (!job.priority_class.empty()) labels[shapes::kPriorityKey] = job.priority_class;
  (*metadata)["labels"] = std::move(labels);
  if (job.priority_boost == 0) return;
  (*metadata)["annotations"] =
      json::object{{shapes::kPriorityBoostKey, std::to_string(job.priority_boost)}};
}

}  // namespace muster::api
