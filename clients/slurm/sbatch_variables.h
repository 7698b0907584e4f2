// sbatch's input variables: SBATCH_* and the SLURM_* that stand for options (rule B12; the manual
// pages of 22.05 and newer).
#pragma once

#include <span>
#include <vector>

#include "clients/slurm/environment.h"

namespace muster::slurm {

/// A variable and its option.
struct OptionVariable {
  const char* name;
  const char* option;  // the long option that it stands for
};
/// All of them, in the order in which they are applied.
std::span<const OptionVariable> SbatchOptionVariables();

/// The same list as entries of environment.h: read, or refused because the option is refused.
std::vector<Variable> SbatchVariables();

}  // namespace muster::slurm
