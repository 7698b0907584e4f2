// Builds the document of jobs in the form of slurmrestd. Rows are serialized one at a time, so only
// the text of a long list is held, never its JSON tree.
#include "clients/slurm/squeue_json.h"

#include <string.h>

#include "clients/slurm/command.h"
#include "clients/slurm/hostlist.h"
#include "clients/slurm/json_document.h"
#include "clients/slurm/slurm_time.h"
#include "schedd/text/json.h"

namespace muster::slurm {
namespace {

// "KILL" of 9, as scancel writes it; "" for none.
const char* SignalName(int number) {
  const char* name = number > 0 ? ::sigabbrev_np(number) : nullptr;
  return name == nullptr ? "" : name;
}

json::object ExitCode(const JobRow& row) {
  const SlurmExit exit = ExitOf(row);
  const bool signalled = exit.signal != 0;
  const char* status = signalled            ? "SIGNALED"
                       : !row.has_exit_code ? "PENDING"
                       : exit.code == 0     ? "SUCCESS"
                                            : "ERROR";
  return {
      {"status", json::array{status}},
      {"return_code", SlurmNumber(row.has_exit_code, exit.code)},
      {"signal", {{"id", SlurmNumber(signalled, exit.signal)}, {"name", SignalName(exit.signal)}}}};
}

std::string Cell(const char* field, const JobRow& row, const RowContext& context) {
  std::string scratch;
  return std::string(SqueueCell(*SqueueFieldByName(field), row, context, &scratch));
}

// The ids, names and states.
void AddIdentity(const JobRow& row, const RowContext& context, json::object* out) {
  const JobExtra& extra = *row.extra;
  const bool task = row.array_job_id != 0 && !IsArrayRecord(row);
  std::string scratch;
  (*out)["job_id"] = row.id;
  (*out)["array_job_id"] = SlurmNumber(row.array_job_id != 0, row.array_job_id);
  (*out)["array_task_id"] = SlurmNumber(task, row.array_task_id);
  (*out)["array_max_tasks"] = SlurmNumber(extra.task_throttle != 0, extra.task_throttle);
  (*out)["array_task_string"] = IsArrayRecord(row) ? Cell("ArrayTaskID", row, context) : "";
  (*out)["het_job_id"] = SlurmNumber(row.het_offset >= 0, row.id);
  (*out)["het_job_offset"] = SlurmNumber(row.het_offset >= 0, row.het_offset);
  (*out)["name"] = row.name;
  (*out)["user_name"] = row.user;
  (*out)["user_id"] = ParseCount(Cell("UserID", row, context)).value_or(65534);
  (*out)["group_id"] = ParseCount(Cell("GroupID", row, context)).value_or(65534);
  (*out)["group_name"] = Cell("GroupName", row, context);
  (*out)["account"] = row.cluster_queue;
  (*out)["partition"] = PartitionOf(row, context.default_ns, &scratch);
  (*out)["qos"] = QosOf(row);
  (*out)["cluster"] = row.cluster;
  (*out)["job_state"] = json::array{LongName(row.state)};
  (*out)["state_reason"] = SlurmReason(row);
  (*out)["state_description"] = row.message;
  (*out)["priority"] = SlurmNumber(true, ShownPriority(row));
  (*out)["hold"] = row.held;
  (*out)["nice"] = extra.nice;
  (*out)["dependency"] = extra.dependency;
  (*out)["restart_cnt"] = Restarts(row);
  (*out)["requeue"] = row.requeue;
  (*out)["batch_flag"] = row.is_batch && !extra.allocation_only;
}

void AddTimes(const JobRow& row, json::object* out) {
  (*out)["submit_time"] = SlurmTime(row.submit_time);
  (*out)["eligible_time"] = SlurmTime(EligibleTime(row));
  (*out)["accrue_time"] = SlurmTime(EligibleTime(row));
  (*out)["start_time"] = SlurmTime(StartTime(row));
  (*out)["end_time"] = SlurmTime(row.end_time);
  (*out)["deadline"] = SlurmTime(row.extra->deadline);
  (*out)["suspend_time"] = SlurmTime(row.extra->suspended_since);
  (*out)["pre_sus_time"] = SlurmNumber(true, row.extra->suspended_s);
  (*out)["time_limit"] =
      SlurmNumber(row.time_limit_s != 0, (row.time_limit_s + 59) / 60, row.time_limit_s == 0);
  (*out)["time_minimum"] =
      SlurmNumber(row.extra->time_min_s != 0, (row.extra->time_min_s + 59) / 60);
}

// What it asked for and what it has.
void AddResources(const JobRow& row, const RowContext& context, json::object* out) {
  const JobExtra& extra = *row.extra;
  const bool pending = IsPending(row.state);
  (*out)["nodes"] = pending ? std::string_view() : HostsOf(row);
  (*out)["batch_host"] = pending ? "" : FirstHost(HostsOf(row));
  (*out)["node_count"] = SlurmNumber(true, NodeCount(row));
  (*out)["cpus"] = SlurmNumber(true, CpuCount(row));
  (*out)["tasks"] = SlurmNumber(true, row.is_batch ? row.tasks : row.pods);
  (*out)["cpus_per_task"] = SlurmNumber(row.cpus_per_task > 0, row.cpus_per_task);
  (*out)["tasks_per_node"] = SlurmNumber(extra.tasks_per_node != 0, extra.tasks_per_node);
  (*out)["max_nodes"] = SlurmNumber(row.max_nodes > 0, row.max_nodes);
  (*out)["memory_per_node"] = SlurmNumber(row.memory_per_node_mb != 0, row.memory_per_node_mb);
  (*out)["memory_per_cpu"] = SlurmNumber(extra.memory_per_cpu_mb != 0, extra.memory_per_cpu_mb);
  (*out)["features"] = extra.features;
  (*out)["required_nodes"] = extra.required_nodes;
  (*out)["excluded_nodes"] = extra.excluded_nodes;
  (*out)["licenses"] = extra.licenses;
  (*out)["resv_name"] = extra.reservation;
  (*out)["wckey"] = extra.wckey;
  (*out)["tres_per_node"] = row.gres.empty() ? "" : Cell("tres-per-node", row, context);
  (*out)["tres_req_str"] = Cell("tres", row, context);
  (*out)["tres_alloc_str"] = pending ? "" : Cell("tres", row, context);
  (*out)["job_resources"] = nullptr;
  if (pending) return;
  json::array nodes;
  const auto hosts = ExpandHostlist(HostsOf(row));
  for (const std::string& host : hosts ? *hosts : std::vector<std::string>())
    nodes.push_back(json::object{{"name", host}});
  (*out)["job_resources"] = {
      {"nodes",
       {{"count", NodeCount(row)}, {"list", HostsOf(row)}, {"allocation", std::move(nodes)}}},
      {"cpus", CpuCount(row)}};
}

json::object JobJson(const JobRow& row, const RowContext& context) {
  json::object out;
  AddIdentity(row, context, &out);
  AddTimes(row, &out);
  AddResources(row, context, &out);
  out["exit_code"] = ExitCode(row);
  out["derived_exit_code"] = ExitCode(row);
  out["comment"] = row.comment;
  out["current_working_directory"] = row.work_dir;
  out["command"] = row.command;
  out["submit_line"] = row.submit_line;
  out["standard_input"] = row.std_in.empty() ? "/dev/null" : row.std_in;
  out["standard_output"] = row.std_out;
  out["standard_error"] = row.std_err.empty() ? row.std_out : row.std_err;
  return out;
}

}  // namespace

std::string SqueueJson(const std::vector<const JobRow*>& rows, const RowContext& context,
                       const char* command) {
  std::string out = "{\"meta\":" + json::serialize(SlurmMeta(command)) + ",\"jobs\":[";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i != 0) out.push_back(',');
    out += json::serialize(JobJson(*rows[i], context));
  }
  out += "],\"last_backfill\":" + json::serialize(SlurmNumber(false, 0));
  out += ",\"last_update\":" + json::serialize(SlurmNumber(true, context.now)) +
         ",\"warnings\":[],\"errors\":[]}\n";
  return out;
}

}  // namespace muster::slurm
