// The environment of a task: that of its program, changed by what the step, the node and the task
// add. And the CPUs that a task is bound to. Pure, but for the environment of the agent.
#pragma once

#include <sched.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "clients/steps/messages.h"

namespace muster::steps {

/// Sets NAME=value, replacing what is there.
void SetVariable(std::vector<std::string>* environment, std::string_view name,
                 std::string_view value);
void RemoveVariable(std::vector<std::string>* environment, std::string_view name);
/// The value, or "" without one.
std::string_view VariableOf(const std::vector<std::string>& environment, std::string_view name);

/// What all tasks of a share have. `own` is the agent's environment: what names things of this
/// node alone (its GPUs, its directories) is taken from there.
std::vector<std::string> ShareEnvironment(const NodeLaunch& launch,
                                          const std::vector<std::string>& program,
                                          const char* const* own);
/// Adds what the task alone has; `local` is its number on this node.
void AddTaskVariables(const NodeLaunch& launch, std::size_t local,
                      std::vector<std::string>* environment);

/// The CPUs of a task; false if it may run on all that the agent has.
bool TaskCpus(const NodeLaunch& launch, std::size_t local, cpu_set_t* out);
/// "mask 0x3", for the line of --cpu-bind=verbose.
std::string MaskText(const cpu_set_t& cpus);

}  // namespace muster::steps
