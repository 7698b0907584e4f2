// What each Slurm-named command makes of the environment variables that its manual page names: each
// is read, refused by its name, or known to change nothing here. None is ignored in silence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::slurm {

enum class VariableUse : std::uint8_t {
  kRead,           // as the option that it stands for
  kRefused,        // what it asks for is not supported
  kWithoutEffect,  // it asks for what is done anyway, or is about parts that only Slurm has
};

struct Variable {
  std::string name;
  VariableUse use = VariableUse::kRead;
  std::string what;  // the option that it stands for, why it is refused, or why it changes nothing
};

/// Of one command, by its name.
std::vector<Variable> VariablesOf(std::string_view command);

/// "SQUEUE_FEDERATION: ..." for the first variable that is set and refused; nullopt: none is.
/// SBATCH_* are judged by ApplyEnvironment.
std::optional<std::string> RefusedVariable(std::string_view command);

/// The value of a variable of the process; null if it is not set.
const char* SetVariable(const char* name);

/// The list that a filter's variable gives (SCANCEL_NAME=a,b), for options that the command line
/// leaves open. An empty value is an error: a filter that is lost would match too much.
struct VariableList {
  bool set = false;
  std::vector<std::string> values;
  std::string error;  // "" if there is none
};
VariableList ListFromVariable(const char* name);

}  // namespace muster::slurm
