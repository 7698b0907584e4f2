// Variables of a step, by srun's manual page.
#include "clients/steps/srun/step_environment.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "clients/steps/words.h"

namespace muster::steps {
namespace {

void Set(std::vector<std::string>* environment, std::string_view name, const std::string& value) {
  std::string text(name);
  text += '=';
  const std::size_t size = text.size();
  text += value;
  for (std::string& one : *environment) {
    if (one.compare(0, size, text, 0, size) != 0) continue;
    one = std::move(text);
    return;
  }
  environment->push_back(std::move(text));
}

const char* BindType(const std::string& value) {
  if (value.find("map_cpu") != std::string::npos) return "map_cpu:";
  if (value.find("mask_cpu") != std::string::npos) return "mask_cpu:";
  return value.find("none") != std::string::npos ? "none" : "cores";
}

void SetBinding(const std::string& value, std::vector<std::string>* out) {
  const bool verbose =
      value.find("verbose") != std::string::npos || value == "v" || value.starts_with("v,");
  const auto colon = value.find(':');
  const std::string list = colon == std::string::npos ? "" : value.substr(colon + 1);
  const std::string type = BindType(value);
  Set(out, "SLURM_CPU_BIND_VERBOSE", verbose ? "verbose" : "quiet");
  Set(out, "SLURM_CPU_BIND_TYPE", type);
  Set(out, "SLURM_CPU_BIND_LIST", list);
  Set(out, "SLURM_CPU_BIND", (verbose ? "verbose," : "quiet,") + type + list);
}

void SetStep(const StepCreated& step, const JobPlace& place, bool preserve,
             std::vector<std::string>* out) {
  std::vector<std::string> hosts;
  std::vector<std::int32_t> counts;
  std::int64_t tasks = 0;
  for (const NodeShare& share : step.shares) {
    hosts.push_back(share.host);
    counts.push_back(static_cast<std::int32_t>(share.tasks.size()));
    tasks += counts.back();
  }
  const std::string nodes = std::to_string(hosts.size());
  Set(out, "SLURM_STEP_ID", std::to_string(step.step));
  Set(out, "SLURM_STEPID", std::to_string(step.step));
  Set(out, "SLURM_STEP_NODELIST", FoldHosts(hosts));
  Set(out, "SLURM_STEP_NUM_NODES", nodes);
  Set(out, "SLURM_STEP_NUM_TASKS", std::to_string(tasks));
  Set(out, "SLURM_STEP_TASKS_PER_NODE", FoldCounts(counts));
  Set(out, "SLURM_STEP_LAUNCHER_PORT", "0");
  Set(out, "SLURM_SRUN_COMM_HOST", "127.0.0.1");
  Set(out, "SLURM_SRUN_COMM_PORT", "0");
  Set(out, "SLURM_LAUNCH_NODE_IPADDR", "127.0.0.1");
  Set(out, "SLURM_JOB_ID", place.job);
  Set(out, "SLURM_JOBID", place.job);
  Set(out, "MUSTER_STEPS_DIR", place.directory);
  if (preserve) return;
  Set(out, "SLURM_NNODES", nodes);
  Set(out, "SLURM_NTASKS", std::to_string(tasks));
  Set(out, "SLURM_NPROCS", std::to_string(tasks));
  Set(out, "SLURM_TASKS_PER_NODE", FoldCounts(counts));
}

}  // namespace

void AddPrograms(const std::vector<Component>& components, const StepCreated& step,
                 const JobPlace& place, const char* const* environment, Launch* out) {
  std::vector<std::int32_t> first_program;  // of each component
  std::vector<std::int32_t> first_task;
  std::int32_t tasks = 0;
  for (const Component& component : components) {
    const OptionValues& options = component.options;
    first_program.push_back(static_cast<std::int32_t>(out->programs.size()));
    first_task.push_back(tasks);
    tasks += component.plan.request.tasks;
    std::vector<std::string> variables = ExportedVariables(options.Get("export"), environment);
    SetStep(step, place, options.Has("preserve-env"), &variables);
    SetBinding(options.Get("cpu-bind"), &variables);
    const std::string distribution = options.Get("distribution");
    Set(&variables, "SLURM_DISTRIBUTION", distribution.empty() ? "block" : distribution);
    if (options.Has("cpus-per-task"))
      Set(&variables, "SLURM_CPUS_PER_TASK", options.Get("cpus-per-task"));
    if (options.Has("overcommit")) Set(&variables, "SLURM_OVERCOMMIT", "1");
    for (const auto& arguments : component.programs)
      out->programs.push_back({arguments, variables});
  }
  for (const NodeShare& share : step.shares) {
    const auto part = static_cast<std::size_t>(share.part);
    const bool own = components[part].programs.size() > 1;
    for (const std::int32_t task : share.tasks)
      out->tasks.push_back({task, first_program[part] + (own ? task - first_task[part] : 0)});
  }
}

}  // namespace muster::steps
