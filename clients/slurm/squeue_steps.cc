// The table of the fields of steps, and the lines of `squeue -s`. The batch step of a script is no
// record of the server: it is the script itself.
#include "clients/slurm/squeue_steps.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "clients/slurm/command.h"
#include "clients/slurm/same_word.h"
#include "clients/slurm/slurm_time.h"

namespace muster::slurm {
namespace {

// A step and its job. `step` is null for the batch step.
struct StepLine {
  const JobRow* row = nullptr;
  const StepInfo* step = nullptr;
  const RowContext* context = nullptr;
};

struct StepField {
  char letter;
  const char* name;
  const char* header;
  std::string (*cell)(const StepLine& line);
};

std::string OfJob(const char* field, const StepLine& line) {
  std::string scratch;
  return std::string(SqueueCell(*SqueueFieldByName(field), *line.row, *line.context, &scratch));
}

std::string StepId(const StepLine& line) {
  const std::string job = OfJob("JobArrayID", line);
  return job + "." + (line.step == nullptr ? "batch" : std::to_string(line.step->step));
}
std::string StepNameText(const StepLine& line) {
  return line.step == nullptr ? "batch" : line.step->name;
}
std::string_view StepStart(const StepLine& line) {
  return line.step == nullptr ? line.row->start_time : std::string_view(line.step->start_time);
}
std::string StepTime(const StepLine& line) {
  std::string out;
  const std::int64_t start = ParseStamp(StepStart(line));
  AppendShortDuration(start == 0 ? 0 : line.context->now - start, &out);
  return out;
}

constexpr StepField kStepFields[] =
    {
        {'i', "StepID", "STEPID", StepId},
        {'j', "StepName", "NAME", StepNameText},
        {0, "Name", "NAME", StepNameText},
        {'P', "Partition", "PARTITION", [](const StepLine& l) { return OfJob("Partition", l); }},
        {'u', "UserName", "USER", [](const StepLine& l) { return OfJob("UserName", l); }},
        {'U', "UserID", "UID", [](const StepLine& l) { return OfJob("UserID", l); }},
        {'M', "TimeUsed", "TIME", StepTime},
        {'l', "TimeLimit", "TIME_LIMIT", [](const StepLine& l) { return OfJob("TimeLimit", l); }},
        {'S', "StartTime", "START_TIME",
         [](const StepLine& l) {
  const std::int64_t start = ParseStamp(StepStart(l));
  return start == 0 ? std::string("N/A") : FormatTime(start, l.context->time_format);
         }},
        {'N', "Nodes", "NODELIST",
         [](const StepLine& l) {
  if (l.step != nullptr && !l.step->nodes.empty()) return l.step->nodes;
  return l.step == nullptr ? OfJob("BatchHost", l) : OfJob("NodeList", l);
         }},
                    {'A', "NumTasks", "TASKS",
                     [](const StepLine& l) {
  return std::to_string(l.step == nullptr ? 1 : l.step->tasks);
                     }},
    {'C', "NumCPUs", "NUM_CPUS",
     [](const StepLine& l) {
  return l.step == nullptr ? OfJob("NumCPUs", l) : std::to_string(l.step->cpus);
     }},
    {0, "StepState", "STATE",
     [](const StepLine& l) {
  return std::string(LongName(l.step == nullptr ? State::kRunning : l.step->state));
     }},
    {0, "JobID", "JOBID", [](const StepLine& l) { return OfJob("JobID", l); }},
    {0, "JobArrayID", "JOBID", [](const StepLine& l) { return OfJob("JobArrayID", l); }},
    {0, "ArrayJobID", "ARRAY_JOB_ID", [](const StepLine& l) { return OfJob("ArrayJobID", l); }},
    {0, "ArrayTaskID", "ARRAY_TASK_ID", [](const StepLine& l) { return OfJob("ArrayTaskID", l); }},
    {0, "Cluster", "CLUSTER", [](const StepLine& l) { return OfJob("Cluster", l); }},
    {0, "Network", "NETWORK", [](const StepLine&) { return std::string(); }},
    {0, "ResvPort", "RESERVED_PORTS", [](const StepLine&) { return std::string("N/A"); }},
    {0, "CPUFreq", "CPU_FREQ", [](const StepLine&) { return std::string("N/A"); }},
    {0, "Container", "CONTAINER", [](const StepLine&) { return std::string(); }},
    {'b', "tres-per-node", "TRES_PER_NODE", [](const StepLine& l) { return OfJob("gres", l); }},
    {0, "tres-per-job", "TRES_PER_JOB", [](const StepLine&) { return std::string("N/A"); }},
    {0, "tres-per-step", "TRES_PER_STEP", [](const StepLine&) { return std::string("N/A"); }},
    {0, "tres-per-task", "TRES_PER_TASK", [](const StepLine&) { return std::string("N/A"); }},
    {0, "tres-per-socket", "TRES_PER_SOCKET", [](const StepLine&) { return std::string("N/A"); }},
    {0, "tres-bind", "TRES_BIND", [](const StepLine&) { return std::string("N/A"); }},
    {0, "tres-freq", "TRES_FREQ", [](const StepLine&) { return std::string("N/A"); }},
    {0, "cpus-per-tres", "CPUS_PER_TRES", [](const StepLine&) { return std::string("N/A"); }},
    {0, "mem-per-tres", "MEM_PER_TRES", [](const StepLine&) { return std::string("N/A"); }},
    };

// True if no id asks for a step, or one asks for this one.
bool StepAskedFor(const std::vector<JobSpec>& specs, const StepLine& line) {
  if (specs.empty()) return true;
  const std::string name = line.step == nullptr ? "batch" : std::to_string(line.step->step);
  return std::any_of(specs.begin(), specs.end(), [&](const JobSpec& spec) {
    return Matches(spec, *line.row) && (spec.step.empty() || spec.step == name);
  });
}

}  // namespace

std::optional<std::size_t> StepFieldByLetter(char letter) {
  for (std::size_t i = 0; i < std::size(kStepFields); ++i) {
    if (kStepFields[i].letter == letter) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> StepFieldByName(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kStepFields); ++i) {
    if (SameWord(name, kStepFields[i].name)) return i;
  }
  return std::nullopt;
}

client::Outcome<Done> PrintSteps(client::ApiClient& api, const SqueueOptions& options,
                                 const std::vector<const JobRow*>& rows,
                                 const RowContext& context) {
  std::vector<std::int64_t> ids;
  for (const JobRow* row : rows) ids.push_back(row->id);
  const client::Outcome<StepsByJob> steps = FetchSteps(api, ids);
  if (!steps.ok()) return steps.failure();
  std::string out;
  if (!options.no_header) {
    for (const Column& column : options.format.columns)
      AppendCell(column, kStepFields[column.field].header, &out);
    out += options.format.after + "\n";
  }
  std::vector<StepLine> lines;
  for (const JobRow* row : rows) {
    const auto found = steps->find(row->id);
    if (found != steps->end()) {
      for (const StepInfo& step : found->second) {
        if (step.state == State::kRunning && step.end_time.empty())
          lines.push_back({row, &step, &context});
      }
    }
    if (row->is_batch && !row->extra->allocation_only && !row->start_time.empty())
      lines.push_back({row, nullptr, &context});
  }
  std::stable_sort(lines.begin(), lines.end(), [&](const StepLine& a, const StepLine& b) {
    for (const SortKey& key : options.sort) {
      const bool by_id = kStepFields[key.field].letter == 'i';
      const int order =
          by_id ? (a.row->id > b.row->id) - (a.row->id < b.row->id)
                : kStepFields[key.field].cell(a).compare(kStepFields[key.field].cell(b));
      if (order != 0) return key.descending ? order > 0 : order < 0;
    }
    return false;
  });
  for (const StepLine& line : lines) {
    if (!StepAskedFor(options.jobs, line)) continue;
    for (const Column& column : options.format.columns)
      AppendCell(column, kStepFields[column.field].cell(line), &out);
    out += options.format.after + "\n";
  }
  WriteOut(out);
  return Done{};
}

}  // namespace muster::slurm
