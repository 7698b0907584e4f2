// Builds the document of `squeue --json` in the form of slurmrestd's data parser v0.0.40: numbers
// that may be unset are objects with `set`, `infinite` and `number`. Rows are serialized one at a
// time, so only the text of a long list is held, never its JSON tree.
#include "clients/slurm/squeue_json.h"

#include "clients/slurm/command.h"
#include "clients/slurm/slurm_time.h"
#include "schedd/text/json.h"

namespace muster::slurm {
namespace {

// A number that may be unset or infinite.
json::object Number(bool set, std::int64_t number, bool infinite = false) {
  return {{"set", set}, {"infinite", infinite}, {"number", set ? number : 0}};
}

// Unset for a time that has not come.
json::object Time(std::string_view stamp) { return Number(!stamp.empty(), ParseStamp(stamp)); }

json::object ExitCode(const JobRow& row) {
  const SlurmExit exit = ExitOf(row);
  const bool signalled = exit.signal != 0;
  const char* status = signalled            ? "SIGNALED"
                       : !row.has_exit_code ? "PENDING"
                       : exit.code == 0     ? "SUCCESS"
                                            : "ERROR";
  return {{"status", json::array{status}},
          {"return_code", Number(row.has_exit_code, exit.code)},
          {"signal", {{"id", Number(signalled, exit.signal)}, {"name", ""}}}};
}

json::object JobJson(const JobRow& row, const RowContext& context, std::string* scratch) {
  json::object out;
  out["job_id"] = row.id;
  out["array_job_id"] = Number(row.array_job_id != 0, row.array_job_id);
  out["array_task_id"] = Number(row.array_job_id != 0, row.array_task_id);
  out["array_task_string"] = row.array_job_id != 0 ? std::to_string(row.array_task_id) : "";
  out["name"] = row.name;
  out["user_name"] = row.user;
  out["account"] = row.cluster_queue;
  out["partition"] = PartitionOf(row, context.default_ns, scratch);
  out["qos"] = row.priority_class;
  out["job_state"] = json::array{LongName(row.state)};
  out["state_reason"] = SlurmReason(row);
  out["state_description"] = row.message;
  out["submit_time"] = Time(row.submit_time);
  out["eligible_time"] = Time(EligibleTime(row));
  out["start_time"] = Time(StartTime(row));
  out["end_time"] = Time(row.end_time);
  out["time_limit"] =
      Number(row.time_limit_s != 0, (row.time_limit_s + 59) / 60, row.time_limit_s == 0);
  out["nodes"] = row.state == State::kPending ? std::string_view() : row.cluster;
  out["cluster"] = row.cluster;
  out["node_count"] = Number(true, NodeCount(row));
  out["cpus"] = Number(true, CpuCount(row));
  out["tasks"] = Number(true, row.is_batch ? row.tasks : row.pods);
  out["priority"] = Number(true, row.held ? 0 : row.priority);
  out["hold"] = row.held;
  out["exit_code"] = ExitCode(row);
  out["restart_cnt"] = row.attempt > 1 ? row.attempt - 1 : 0;
  out["dependency"] = "";
  out["comment"] = row.comment;
  out["current_working_directory"] = row.work_dir;
  out["command"] = row.command;
  out["standard_output"] = row.std_out;
  out["standard_error"] = row.std_err;
  const auto tres = SqueueFieldByName("tres");
  out["tres_req_str"] = SqueueCell(*tres, row, context, scratch);
  out["tres_alloc_str"] =
      row.state == State::kPending ? std::string_view() : SqueueCell(*tres, row, context, scratch);
  out["job_resources"] = nullptr;
  return out;
}

}  // namespace

std::string SqueueJson(const std::vector<const JobRow*>& rows, const RowContext& context) {
  const json::object meta = {{"plugin", {{"type", "openapi/slurmctld"}, {"name", "muster"}}},
                             {"slurm",
                              {{"version", {{"major", "25"}, {"minor", "05"}, {"micro", "0"}}},
                               {"release", "25.05.0"},
                               {"cluster", "muster"}}}};
  std::string out = "{\"meta\":" + json::serialize(meta) + ",\"jobs\":[";
  std::string scratch;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i != 0) out.push_back(',');
    out += json::serialize(JobJson(*rows[i], context, &scratch));
  }
  out += "],\"last_backfill\":" + json::serialize(Number(false, 0));
  out += ",\"last_update\":" + json::serialize(Number(true, context.now)) +
         ",\"warnings\":[],\"errors\":[]}\n";
  return out;
}

}  // namespace muster::slurm
