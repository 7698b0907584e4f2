// Each line of a job begins a record; the lines of its steps behind it become its steps.
#include "clients/slurm/sacct_json.h"

#include <string.h>

#include "clients/slurm/command.h"
#include "clients/slurm/hostlist.h"
#include "clients/slurm/json_document.h"
#include "clients/slurm/sacct_fields.h"
#include "clients/slurm/slurm_time.h"
#include "clients/slurm/squeue_fields.h"
#include "schedd/text/json.h"

namespace muster::slurm {
namespace {

json::object ExitJson(const SlurmExit& exit, bool known) {
  const bool signalled = exit.signal != 0;
  const char* status = !known           ? "PENDING"
                       : signalled      ? "SIGNALED"
                       : exit.code == 0 ? "SUCCESS"
                                        : "ERROR";
  const char* name = signalled ? ::sigabbrev_np(exit.signal) : nullptr;
  return {{"status", json::array{status}},
          {"return_code", SlurmNumber(known, exit.code)},
          {"signal",
           {{"id", SlurmNumber(signalled, exit.signal)}, {"name", name == nullptr ? "" : name}}}};
}

json::object CpuJson(std::int64_t microseconds) {
  return {{"seconds", microseconds / 1'000'000}, {"microseconds", microseconds % 1'000'000}};
}

json::object TresJson(const char* type, const char* name, std::int64_t count) {
  return {{"type", type}, {"name", name}, {"id", 0}, {"count", count}};
}

json::array AllocatedJson(const SacctLine& line) {
  json::array out;
  const JobRow& row = *line.row;
  out.push_back(TresJson("cpu", "", LineCpus(line)));
  if (line.step == nullptr && row.memory_bytes != 0)
    out.push_back(TresJson("mem", "", row.memory_bytes >> 20));
  out.push_back(TresJson("node", "",
                         line.step != nullptr ? line.step->node_count
                         : line.batch_step    ? 1
                                              : NodeCount(row)));
  if (line.step == nullptr && row.gpus != 0) out.push_back(TresJson("gres", "gpu", row.gpus));
  return out;
}

json::object TimesJson(const SacctLine& line) {
  json::object out{{"elapsed", LineElapsed(line)},
                   {"start", SlurmNumber(LineStart(line) != 0, LineStart(line))},
                   {"end", SlurmNumber(LineEnd(line) != 0, LineEnd(line))},
                   {"suspended", line.row->extra->suspended_s},
                   {"system", CpuJson(line.use.system_cpu_us)},
                   {"user", CpuJson(line.use.user_cpu_us)},
                   {"total", CpuJson(line.use.system_cpu_us + line.use.user_cpu_us)}};
  if (line.of_step()) return out;
  out["eligible"] = ParseStamp(EligibleTime(*line.row));
  out["submission"] = ParseStamp(line.row->submit_time);
  out["limit"] = SlurmNumber(line.row->time_limit_s != 0, (line.row->time_limit_s + 59) / 60,
                             line.row->time_limit_s == 0);
  return out;
}

json::object StepJson(const SacctLine& line) {
  const std::string nodes = line.step != nullptr && !line.step->nodes.empty()
                                ? line.step->nodes
                                : FirstHost(HostsOf(*line.row));
  json::array range;
  const auto hosts = ExpandHostlist(nodes);
  for (const std::string& host : hosts ? *hosts : std::vector<std::string>())
    range.emplace_back(host);
  const std::string id = line.batch_step ? "batch" : std::to_string(line.step->step);
  json::array most;
  most.push_back(TresJson("cpu", "", (line.use.user_cpu_us + line.use.system_cpu_us) / 1000));
  most.push_back(TresJson("mem", "", line.use.max_rss_bytes));
  most.push_back(TresJson("fs", "disk", line.use.read_bytes));
  json::array written;
  written.push_back(TresJson("fs", "disk", line.use.written_bytes));
  return {{"time", TimesJson(line)},
          {"exit_code", ExitJson(LineExit(line), LineEnd(line) != 0)},
          {"nodes", {{"count", range.size()}, {"range", nodes}, {"list", std::move(range)}}},
          {"tasks", {{"count", line.step == nullptr ? 1 : line.step->tasks}}},
          {"state", json::array{LongName(LineState(line))}},
          {"step",
           {{"id", LineId(line)},
            {"name", line.batch_step ? "batch" : line.step->name},
            {"step_id", id}}},
          {"tres",
           {{"allocated", AllocatedJson(line)},
            {"requested", {{"max", most}, {"total", most}}},
            {"consumed", {{"max", std::move(written)}}}}}};
}

json::object RecordJson(const SacctLine& line) {
  const JobRow& row = *line.row;
  const JobExtra& extra = *row.extra;
  std::string scratch;
  const RowContext context;
  const bool task = row.array_job_id != 0 && !IsArrayRecord(row);
  json::object out;
  out["job_id"] = row.id;
  out["name"] = row.name;
  out["user"] = row.user;
  out["group"] = SqueueCell(*SqueueFieldByName("GroupName"), row, context, &scratch);
  out["account"] = row.cluster_queue;
  out["association"] = {{"account", row.cluster_queue},
                        {"cluster", row.cluster},
                        {"partition", ""},
                        {"user", row.user},
                        {"id", 0}};
  out["array"] = {{"job_id", row.array_job_id},
                  {"limits", {{"max", {{"running", {{"tasks", extra.task_throttle}}}}}}},
                  {"task_id", SlurmNumber(task, row.array_task_id)},
                  {"task", IsArrayRecord(row) ? extra.waiting_tasks : std::string_view()}};
  out["het"] = {{"job_id", row.het_offset >= 0 ? row.id : 0},
                {"job_offset", SlurmNumber(row.het_offset >= 0, row.het_offset)}};
  out["cluster"] = row.cluster;
  out["partition"] = PartitionOf(row, line.default_ns, &scratch);
  out["qos"] = QosOf(row);
  out["priority"] = SlurmNumber(true, ShownPriority(row));
  out["comment"] = {{"administrator", ""}, {"job", row.comment}, {"system", ""}};
  out["constraints"] = extra.features;
  out["reservation"] = {{"id", 0}, {"name", extra.reservation}};
  out["wckey"] = {{"wckey", extra.wckey}, {"flags", json::array{}}};
  out["licenses"] = extra.licenses;
  out["allocation_nodes"] = NodeCount(row);
  out["nodes"] = HostsOf(row).empty() ? std::string_view("None assigned") : HostsOf(row);
  out["required"] = {
      {"CPUs", CpuCount(row)},
      {"memory_per_cpu", SlurmNumber(extra.memory_per_cpu_mb != 0, extra.memory_per_cpu_mb)},
      {"memory_per_node", SlurmNumber(row.memory_per_node_mb != 0, row.memory_per_node_mb)}};
  out["state"] = {{"current", json::array{LongName(LineState(line))}},
                  {"reason", AccountedReason(row)}};
  out["exit_code"] = ExitJson(LineExit(line), LineEnd(line) != 0);
  out["derived_exit_code"] = ExitJson(line.derived, LineEnd(line) != 0);
  out["time"] = TimesJson(line);
  out["restart_cnt"] = Restarts(row);
  out["tres"] = {{"allocated", row.start_time.empty() ? json::array{} : AllocatedJson(line)},
                 {"requested", AllocatedJson(line)}};
  out["working_directory"] = row.work_dir;
  out["submit_line"] = row.submit_line;
  out["stdout"] = row.std_out;
  out["stderr"] = row.std_err.empty() ? row.std_out : row.std_err;
  out["stdin"] = row.std_in.empty() ? "/dev/null" : row.std_in;
  out["steps"] = json::array{};
  return out;
}

}  // namespace

std::string SacctJson(const std::vector<SacctLine>& lines) {
  json::array jobs;
  for (const SacctLine& line : lines) {
    if (!line.of_step())
      jobs.push_back(RecordJson(line));
    else if (!jobs.empty())
      jobs.back().as_object()["steps"].as_array().push_back(StepJson(line));
  }
  const json::object document{{"jobs", std::move(jobs)},
                              {"meta", SlurmMeta("sacct")},
                              {"errors", json::array{}},
                              {"warnings", json::array{}}};
  return json::serialize(document) + "\n";
}

}  // namespace muster::slurm
