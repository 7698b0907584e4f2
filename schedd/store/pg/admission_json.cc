// The column is written in one of two cases: the job has an AdmissionState (checks, gates,
// requeues, evictions and so on), or it has a field of its spec that table jobs has no column for
// (priority boost, maximum execution time, elastic). As soon as it is written it also holds
// ClusterQueue, priority class and priority, because these may have changed since acceptance, and
// table jobs is immutable.
//
// Fields with their default value are left out. PutState and StateOfJson must name the same keys.
#include "schedd/store/pg/admission_json.h"

#include <memory>
#include <utility>

#include "schedd/base/fault_points.h"
#include "schedd/model/scale_lifecycle.h"
#include "schedd/store/pg/json_fields.h"
#include "schedd/store/pg/scale_json.h"

namespace muster::pg {
namespace {

// Changes to a pod set's template that an admission check asks for (Kueue: PodSetUpdate).
json::object UpdateJson(const PodSetUpdate& update) {
  json::object object{{"podSet", update.pod_set}};
  if (!update.labels.empty()) object["labels"] = Strings(update.labels);
  if (!update.annotations.empty()) object["annotations"] = Strings(update.annotations);
  if (!update.node_selector.empty()) object["nodeSelector"] = Strings(update.node_selector);
  if (!update.tolerations.empty()) object["tolerations"] = TolerationsJson(update.tolerations);
  return object;
}

PodSetUpdate UpdateOf(const json::object& object) {
  return {TextOf(object, "podSet"), StringsOf(object, "labels"), StringsOf(object, "annotations"),
          StringsOf(object, "nodeSelector"), TolerationsOf(object)};
}

json::object CheckJson(const AdmissionCheckStatus& check) {
  json::object object{{"name", check.name},
                      {"state", static_cast<std::int64_t>(check.state)},
                      {"at", check.last_transition.us}};
  PutText(&object, "message", check.message);
  if (check.requeue_after_s) object["requeueAfter"] = *check.requeue_after_s;
  if (check.retry_count != 0) object["retries"] = check.retry_count;
  json::array updates;
  for (const PodSetUpdate& update : check.updates) updates.emplace_back(UpdateJson(update));
  if (!updates.empty()) object["updates"] = std::move(updates);
  return object;
}

AdmissionCheckStatus CheckOf(const json::object& object) {
  AdmissionCheckStatus check;
  check.name = TextOf(object, "name");
  check.state = static_cast<CheckState>(IntOf<int>(object, "state", 1));
  check.message = TextOf(object, "message");
  check.last_transition.us = IntOf<std::int64_t>(object, "at");
  if (object.contains("requeueAfter"))
    check.requeue_after_s = IntOf<std::int32_t>(object, "requeueAfter");
  check.retry_count = IntOf<std::int32_t>(object, "retries");
  for (const json::value& value : ArrayOf(object, "updates"))
    check.updates.push_back(UpdateOf(value.as_object()));
  return check;
}

// Writes nothing for an empty list.
template <class Items, class ToJson>
void PutList(json::object* object, std::string_view key, const Items& items, ToJson to_json) {
  if (items.empty()) return;
  json::array list;
  for (const auto& item : items) list.emplace_back(to_json(item));
  (*object)[key] = std::move(list);
}

void PutState(json::object* object, const AdmissionState& state) {
  if (!state.active) (*object)["active"] = false;
  PutText(object, "deactivationCause", state.deactivation_cause);
  if (state.requeue_count != 0) (*object)["requeueCount"] = state.requeue_count;
  if (state.requeue_at) (*object)["requeueAt"] = state.requeue_at->us;
  PutList(object, "checks", state.checks, CheckJson);
  PutList(object, "reclaimable", state.reclaimable, [](const ReclaimablePods& pods) {
    return json::object{{"podSet", pods.pod_set}, {"count", pods.count}};
  });
  if (!state.unhealthy_nodes.empty()) (*object)["failedNodes"] = TextsJson(state.unhealthy_nodes);
  if (state.owned_by_pod) (*object)["ownedByPod"] = true;
  PutList(object, "gates", state.preemption_gates, [](const PreemptionGate& gate) {
    return json::object{{"name", gate.name}, {"open", gate.open}};
  });
  PutText(object, "gatedBy", state.admission_gated_by);
  if (state.past_execution_s != 0) (*object)["pastExecution"] = state.past_execution_s;
  PutList(object, "evictions", state.evictions, [](const EvictionCount& one) {
    return json::object{{"reason", one.reason}, {"cause", one.cause}, {"count", one.count}};
  });
  PutText(object, "replacesSlice", state.replaces_slice);
  PutText(object, "parent", state.concurrent_parent);
  if (state.allowed_flavors) (*object)["allowedFlavors"] = TextsJson(*state.allowed_flavors);
  PutText(object, "resourceProblem", state.resource_problem);
  if (state.scale) (*object)["scale"] = ScaleJson(*state.scale);
  PutList(object, "avoided", state.avoided, [](const AvoidedCluster& one) {
    return json::object{{"cluster", one.cluster}, {"until", one.until.us}};
  });
  if (!state.nominated.empty()) (*object)["nominated"] = TextsJson(state.nominated);
}

AdmissionState StateOfJson(const json::object& object) {
  AdmissionState state;
  if (const json::value* active = object.if_contains("active")) state.active = active->as_bool();
  state.deactivation_cause = TextOf(object, "deactivationCause");
  state.requeue_count = IntOf<std::int32_t>(object, "requeueCount");
  if (object.contains("requeueAt"))
    state.requeue_at = WallTime{IntOf<std::int64_t>(object, "requeueAt")};
  for (const json::value& value : ArrayOf(object, "checks"))
    state.checks.push_back(CheckOf(value.as_object()));
  for (const json::value& value : ArrayOf(object, "reclaimable")) {
    const json::object& pods = value.as_object();
    state.reclaimable.push_back({TextOf(pods, "podSet"), IntOf<std::int32_t>(pods, "count")});
  }
  state.unhealthy_nodes = TextsOf(object, "failedNodes");
  state.owned_by_pod = object.contains("ownedByPod");
  for (const json::value& value : ArrayOf(object, "gates")) {
    const json::object& gate = value.as_object();
    state.preemption_gates.push_back({TextOf(gate, "name"), gate.at("open").as_bool()});
  }
  state.admission_gated_by = TextOf(object, "gatedBy");
  state.past_execution_s = IntOf<std::int64_t>(object, "pastExecution");
  for (const json::value& value : ArrayOf(object, "evictions")) {
    const json::object& one = value.as_object();
    state.evictions.push_back(
        {TextOf(one, "reason"), TextOf(one, "cause"), IntOf<std::int32_t>(one, "count")});
  }
  state.replaces_slice = TextOf(object, "replacesSlice");
  state.concurrent_parent = TextOf(object, "parent");
  if (object.contains("allowedFlavors")) state.allowed_flavors = TextsOf(object, "allowedFlavors");
  state.resource_problem = TextOf(object, "resourceProblem");
  if (const json::value* scale = object.if_contains("scale"))
    state.scale = ScaleOfJson(scale->as_object());
  for (const json::value& value : ArrayOf(object, "avoided")) {
    const json::object& one = value.as_object();
    state.avoided.push_back({TextOf(one, "cluster"), WallTime{IntOf<std::int64_t>(one, "until")}});
  }
  state.nominated = TextsOf(object, "nominated");
  return state;
}

void PutBatchState(json::object* out, const BatchState& state) {
  const auto put = [out](std::string_view name, std::int64_t value) {
    if (value != 0) (*out)[name] = value;
  };
  if (!state.dependencies.empty()) {
    json::array list;
    for (const Dependency& one : state.dependencies)
      list.push_back(json::object{{"type", static_cast<int>(one.type)},
                                  {"job", one.job.value},
                                  {"task", one.task},
                                  {"minutes", one.minutes},
                                  {"failed", one.failed}});
    (*out)["dependencies"] = std::move(list);
  }
  put("anyDependency", state.any_dependency);
  put("killOnInvalidDependency", state.kill_on_invalid_dependency);
  put("heldByAdmin", state.held_by_admin);
  put("specialExit", state.special_exit);
  put("nice", state.nice);
  put("suspendedSince", state.suspended_since.us);
  put("suspendedS", state.suspended_s);
  put("taskThrottle", state.task_throttle);
  put("clientUntil", state.client_until.us);
  if (state.begin_at) (*out)["beginAt"] = state.begin_at->us;
  if (state.deadline) (*out)["deadline"] = state.deadline->us;
  if (state.own_priority) (*out)["ownPriority"] = *state.own_priority;
  if (!state.waiting_tasks.empty()) {
    json::array list;
    for (const TaskRange& one : state.waiting_tasks)
      list.push_back(json::array{one.first, one.last, one.step});
    (*out)["waitingTasks"] = std::move(list);
  }
  if (!state.changed_spec.empty()) (*out)["changedSpec"] = state.changed_spec;
  if (!state.partition_problem.empty()) (*out)["partitionProblem"] = state.partition_problem;
}

BatchState BatchStateOfJson(const json::object& object) {
  BatchState state;
  const json::value* const list = object.if_contains("dependencies");
  if (list != nullptr && !MUSTER_PLANTED(stored_dependencies_dropped)) {
    for (const json::value& value : list->as_array()) {
      const json::object& one = value.as_object();
      state.dependencies.push_back({static_cast<DependencyType>(IntOf<int>(one, "type")),
                                    JobId{IntOf<std::int64_t>(one, "job")},
                                    IntOf<std::int32_t>(one, "task", -1),
                                    IntOf<std::int32_t>(one, "minutes"),
                                    one.at("failed").as_bool()});
    }
  }
  state.any_dependency = object.contains("anyDependency");
  state.kill_on_invalid_dependency = object.contains("killOnInvalidDependency");
  state.held_by_admin = object.contains("heldByAdmin");
  state.special_exit = object.contains("specialExit");
  state.nice = IntOf<std::int64_t>(object, "nice");
  state.suspended_since.us = IntOf<std::int64_t>(object, "suspendedSince");
  state.suspended_s = IntOf<std::int64_t>(object, "suspendedS");
  state.task_throttle = IntOf<std::int32_t>(object, "taskThrottle");
  state.client_until.us = IntOf<std::int64_t>(object, "clientUntil");
  if (object.contains("beginAt")) state.begin_at = WallTime{IntOf<std::int64_t>(object, "beginAt")};
  if (object.contains("deadline"))
    state.deadline = WallTime{IntOf<std::int64_t>(object, "deadline")};
  if (object.contains("ownPriority"))
    state.own_priority = IntOf<std::int64_t>(object, "ownPriority");
  if (const json::value* tasks = object.if_contains("waitingTasks")) {
    for (const json::value& value : tasks->as_array()) {
      const json::array& one = value.as_array();
      state.waiting_tasks.push_back({static_cast<std::int32_t>(one.at(0).as_int64()),
                                     static_cast<std::int32_t>(one.at(1).as_int64()),
                                     static_cast<std::int32_t>(one.at(2).as_int64())});
    }
  }
  state.changed_spec = TextOf(object, "changedSpec");
  state.partition_problem = TextOf(object, "partitionProblem");
  return state;
}

}  // namespace

std::string AdmissionStateText(const JobRecord& job) {
  const bool plain = job.admission_state == nullptr && job.priority_boost == 0 &&
                     job.batch_state == nullptr && job.max_execution_s == 0 && !job.elastic;
  if (plain) return "";
  // Priority and ClusterQueue may differ from those at acceptance.
  json::object object{{"clusterQueue", job.cluster_queue},
                      {"priorityClass", job.priority_class},
                      {"priority", job.priority}};
  if (job.priority_boost != 0) object["boost"] = job.priority_boost;
  if (job.max_execution_s != 0) object["maxExecution"] = job.max_execution_s;
  if (job.elastic) object["elastic"] = true;
  if (job.admission_state != nullptr) {
    json::object state;
    PutState(&state, *job.admission_state);
    object["state"] = std::move(state);
  }
  if (job.batch_state != nullptr) {
    json::object state;
    PutBatchState(&state, *job.batch_state);
    object["batch"] = std::move(state);
  }
  return json::serialize(object);
}

// TakeScaledPods applies the size of an elastic job to its pod sets, which hold the size at
// acceptance.
Status TakeAdmissionState(std::string_view text, JobRecord* job) {
  const auto taken = ParseColumn<bool>(text, "admission state", [job](const json::value& root) {
    const json::object& object = root.as_object();
    job->cluster_queue = TextOf(object, "clusterQueue");
    job->priority_class = TextOf(object, "priorityClass");
    job->priority = IntOf<std::int32_t>(object, "priority");
    job->priority_boost = IntOf<std::int64_t>(object, "boost");
    job->max_execution_s = IntOf<std::int64_t>(object, "maxExecution");
    job->elastic = object.contains("elastic");
    if (const json::value* state = object.if_contains("state")) {
      job->admission_state =
          std::make_shared<const AdmissionState>(StateOfJson(state->as_object()));
      TakeScaledPods(job);
    }
    if (const json::value* state = object.if_contains("batch"))
      job->batch_state = std::make_shared<const BatchState>(BatchStateOfJson(state->as_object()));
    return true;
  });
  if (!taken.ok()) return taken.error();
  return Done{};
}

}  // namespace muster::pg
