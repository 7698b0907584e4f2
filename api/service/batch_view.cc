// What is fixed at acceptance comes first, then what changes while the job lives.
#include "api/service/batch_view.h"

#include "schedd/lifecycle/dependency_text.h"
#include "schedd/shapes/batch/batch_environment.h"

namespace muster::api {
namespace {

std::string TimeText(WallTime time) { return time.set() ? FormatRfc3339Micros(time) : ""; }

// Components of a heterogeneous job beyond the first.
json::array ComponentsJson(const BatchDetails& batch) {
  json::array out;
  for (const HetComponent& one : batch.components)
    out.push_back(json::object{{"name", one.name},
                               {"nodes", one.nodes},
                               {"tasks", one.tasks},
                               {"cpusPerTask", one.cpus_per_task}});
  return out;
}

void PutDetails(const JobRecord& job, const BatchDetails& batch, json::object* view) {
  json::object& out = *view;
  // The record of an array's waiting tasks may have been given its array's id by nobody.
  const bool own = IsArrayRecord(job) && batch.array_job_id.value == 0;
  out["arrayJobId"] = own ? job.id.value : batch.array_job_id.value;
  out["arrayTaskId"] = batch.array_task_id;
  out["arraySpec"] = batch.array_spec;
  out["workDir"] = batch.work_dir;
  out["command"] = batch.command;
  out["input"] = shapes::ExpandPattern(batch.std_in, job);
  out["output"] = shapes::ExpandPattern(batch.std_out, job);
  out["error"] = shapes::ExpandPattern(batch.std_err, job);
  out["comment"] = batch.comment;
  out["nodes"] = batch.nodes;
  out["maxNodes"] = batch.max_nodes;
  out["tasks"] = batch.tasks;
  out["tasksPerNode"] = batch.tasks_per_node;
  out["cpusPerTask"] = batch.cpus_per_task;
  out["memoryPerNodeMb"] = batch.mem_per_node_mb;
  out["memoryPerCpuMb"] = batch.mem_per_cpu_mb;
  out["gres"] = batch.gres;
  out["requeue"] = batch.requeue;
  out["features"] = batch.features;
  out["requiredNodes"] = batch.required_nodes;
  out["excludedNodes"] = batch.excluded_nodes;
  out["licenses"] = batch.licenses;
  out["reservation"] = batch.reservation;
  out["wckey"] = batch.wckey;
  out["mailUser"] = batch.mail_user;
  out["mailEvents"] = batch.mail_events;
  out["submitLine"] = batch.submit_line;
  const bool waits = job.state == JobState::kPending || job.state == JobState::kHeld;
  out["partitions"] = waits ? batch.partitions : "";
  out["signal"] = batch.warning.signal;
  out["signalBefore"] = batch.warning.seconds_before;
  out["signalBatch"] = batch.warning.batch_only;
  out["timeMinS"] = batch.time_min_s;
  out["exclusive"] = batch.exclusive;
  out["allocationOnly"] = batch.allocation_only;
  out["components"] = ComponentsJson(batch);
  json::object how;
  for (const auto& [option, value] : batch.how) how[option] = value;
  out["how"] = std::move(how);
}

void PutState(const BatchState& state, json::object* view) {
  json::object& out = *view;
  out["dependency"] = DependencyText(state);
  out["begin"] = TimeText(state.begin_at.value_or(WallTime{}));
  out["deadline"] = TimeText(state.deadline.value_or(WallTime{}));
  out["nice"] = state.nice;
  out["ownPriority"] = state.own_priority ? json::value(*state.own_priority) : json::value(nullptr);
  out["heldByAdmin"] = state.held_by_admin;
  out["specialExit"] = state.special_exit;
  out["suspendedSince"] = TimeText(state.suspended_since);
  out["suspendedS"] = state.suspended_s;
  out["waitingTasks"] = TaskRangesText(state.waiting_tasks);
  out["taskThrottle"] = state.task_throttle;
  out["partitionProblem"] = state.partition_problem;
}

}  // namespace

json::value BatchJson(const JobRecord& job) {
  if (job.batch == nullptr) return nullptr;
  json::object out;
  PutDetails(job, *job.batch, &out);
  PutState(BatchStateOf(job), &out);
  return out;
}

}  // namespace muster::api
