// Variables of a task, by srun's manual page ("OUTPUT ENVIRONMENT VARIABLES").
#include "clients/steps/agent/task_environment.h"

#include <algorithm>
#include <cstring>

#include "clients/steps/words.h"

namespace muster::steps {
namespace {

bool Names(std::string_view variable, std::string_view name) {
  return variable.size() > name.size() && variable[name.size()] == '=' &&
         variable.starts_with(name);
}

// Variables by which a node names what is its own.
bool IsOfTheNode(std::string_view variable) {
  if (variable.starts_with("MUSTER_")) return true;
  for (const char* name : {"JOB_COMPLETION_INDEX", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                           "NVIDIA_VISIBLE_DEVICES", "TMPDIR", "HOSTNAME"}) {
    if (Names(variable, name)) return true;
  }
  return false;
}

std::string Joined(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& one : list) out += (out.empty() ? "" : ",") + one;
  return out;
}

// A hexadecimal mask, least CPU last.
bool ReadMask(std::string_view text, cpu_set_t* out) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  if (text.empty() || text.size() * 4 > CPU_SETSIZE) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[text.size() - 1 - i];
    const char lower = static_cast<char>(c | 0x20);
    const int value = c >= '0' && c <= '9' ? c - '0' : lower >= 'a' ? lower - 'a' + 10 : 16;
    if (value > 15) return false;
    for (int bit = 0; bit < 4; ++bit) {
      if ((value >> bit & 1) != 0) CPU_SET(i * 4 + static_cast<std::size_t>(bit), out);
    }
  }
  return true;
}

}  // namespace

std::string_view VariableOf(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& one : environment) {
    if (Names(one, name)) return std::string_view(one).substr(name.size() + 1);
  }
  return {};
}

void RemoveVariable(std::vector<std::string>* environment, std::string_view name) {
  std::erase_if(*environment, [&](const std::string& one) { return Names(one, name); });
}

void SetVariable(std::vector<std::string>* environment, std::string_view name,
                 std::string_view value) {
  std::string text;
  text.reserve(name.size() + 1 + value.size());
  text.append(name).append("=").append(value);
  for (std::string& one : *environment) {
    if (!Names(one, name)) continue;
    one = std::move(text);
    return;
  }
  environment->push_back(std::move(text));
}

std::vector<std::string> ShareEnvironment(const NodeLaunch& launch,
                                          const std::vector<std::string>& program,
                                          const char* const* own) {
  std::vector<std::string> out = program;
  std::erase_if(
      out, [](const std::string& one) { return IsOfTheNode(one) || Names(one, "SLURM_TASK_PID"); });
  for (const char* const* at = own; at != nullptr && *at != nullptr; ++at) {
    if (IsOfTheNode(*at)) out.push_back(*at);
  }
  if (VariableOf(out, "TMPDIR").empty()) {
    const std::string_view temporary = VariableOf(program, "TMPDIR");
    if (!temporary.empty()) SetVariable(&out, "TMPDIR", temporary);
  }
  const NodeShare& share = launch.share;
  SetVariable(&out, "SLURMD_NODENAME", share.host);
  SetVariable(&out, "SLURM_TOPOLOGY_ADDR", share.host);
  SetVariable(&out, "SLURM_TOPOLOGY_ADDR_PATTERN", "node");
  SetVariable(&out, "SLURM_NODEID", std::to_string(share.node_id));
  SetVariable(&out, "SLURM_CPUS_ON_NODE", std::to_string(launch.cpu_count));
  std::string ids;
  for (const std::int32_t task : share.tasks) {
    ids += (ids.empty() ? "" : ",") + std::to_string(task);
  }
  SetVariable(&out, "SLURM_GTIDS", ids);
  if (launch.own_gpus) {
    SetVariable(&out, "CUDA_VISIBLE_DEVICES", Joined(launch.gpus));
    SetVariable(&out, "SLURM_STEP_GPUS", Joined(launch.gpus));
    SetVariable(&out, "SLURM_GPUS_ON_NODE", std::to_string(launch.gpus.size()));
  } else if (const auto all = VariableOf(out, "CUDA_VISIBLE_DEVICES"); !all.empty()) {
    SetVariable(&out, "SLURM_STEP_GPUS", std::string(all));
  }
  return out;
}

void AddTaskVariables(const NodeLaunch& launch, std::size_t local,
                      std::vector<std::string>* environment) {
  const std::string rank = std::to_string(launch.share.tasks[local]);
  SetVariable(environment, "SLURM_PROCID", rank);
  SetVariable(environment, "SLURM_LOCALID", std::to_string(local));
  // GPUs of each task, where the step says how many.
  const auto each = static_cast<std::size_t>(std::max(launch.gpus_per_task, 0));
  if (each > 0 && launch.gpus.size() >= each * (local + 1)) {
    const auto first = launch.gpus.begin() + static_cast<std::ptrdiff_t>(each * local);
    SetVariable(environment, "CUDA_VISIBLE_DEVICES",
                Joined({first, first + static_cast<std::ptrdiff_t>(each)}));
  }
}

bool TaskCpus(const NodeLaunch& launch, std::size_t local, cpu_set_t* out) {
  CPU_ZERO(out);
  const std::vector<std::int32_t>& cpus = launch.cpus;
  const TaskWorld& world = launch.launch.world;
  if (world.bind == CpuBind::kNone) return false;
  if (world.bind == CpuBind::kMask && !world.bind_list.empty()) {
    return ReadMask(world.bind_list[local % world.bind_list.size()], out);
  }
  if (world.bind == CpuBind::kMap && !world.bind_list.empty()) {
    const auto cpu = WholeNumber(world.bind_list[local % world.bind_list.size()]);
    if (!cpu || *cpu >= CPU_SETSIZE) return false;
    CPU_SET(static_cast<std::size_t>(*cpu), out);
    return true;
  }
  if (cpus.empty()) return false;
  // Each task has its own CPUs if there are enough; else all share all of the step.
  const auto each = static_cast<std::size_t>(std::max(launch.cpus_per_task, 1));
  const bool own = world.bind == CpuBind::kTasks && cpus.size() >= each * launch.share.tasks.size();
  const std::size_t first = own ? each * local : 0;
  const std::size_t end = own ? first + each : cpus.size();
  for (std::size_t i = first; i < end; ++i) CPU_SET(static_cast<std::size_t>(cpus[i]), out);
  return true;
}

std::string MaskText(const cpu_set_t& cpus) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string digits;
  for (std::size_t i = 0; i < CPU_SETSIZE; i += 4) {
    int value = 0;
    for (std::size_t bit = 0; bit < 4; ++bit) value |= CPU_ISSET(i + bit, &cpus) ? 1 << bit : 0;
    digits += kHex[value];
  }
  const std::size_t last = digits.find_last_not_of('0');
  digits.resize(last == std::string::npos ? 1 : last + 1);
  return "0x" + std::string(digits.rbegin(), digits.rend());
}

}  // namespace muster::steps
