// The environment variables that the manual pages of the Slurm-named commands list. Each is read,
// refused by its name, or known to change nothing here; none is ignored silently.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::slurm {

enum class VariableUse : std::uint8_t {
  kRead,           // read as the option that it stands for
  kRefused,        // it asks for something that is not supported
  kWithoutEffect,  // it asks for what happens anyway, or is about parts that only Slurm has
};

struct Variable {
  std::string name;
  VariableUse use = VariableUse::kRead;
  std::string what;  // the option that it stands for, why it is refused, or why it changes nothing
};

/// The variables of one command, by the command's name.
std::vector<Variable> VariablesOf(std::string_view command);

/// "SQUEUE_FEDERATION: ..." for the first variable that is set and refused; nullopt if none is.
/// ApplyEnvironment (sbatch_options.h) checks the SBATCH_* variables.
std::optional<std::string> RefusedVariable(std::string_view command);

/// The value of a variable of the process; null if it is not set.
const char* SetVariable(const char* name);

/// The list in the variable of a filter (SCANCEL_NAME=a,b), for filters that the command line does
/// not set. An empty value is an error: ignoring the filter would match too many jobs.
struct VariableList {
  bool set = false;
  std::vector<std::string> values;
  std::string error;  // "" if there is none
};
VariableList ListFromVariable(const char* name);

}  // namespace muster::slurm
