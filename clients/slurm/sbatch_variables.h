// sbatch's input variables: SBATCH_* and the few SLURM_* that stand for options (rule B12; the
// manual pages of 22.05 and newer).
#pragma once

#include <span>
#include <vector>

#include "clients/slurm/environment.h"

namespace muster::slurm {

struct OptionVariable {
  const char* name;
  const char* option;  // the long option that it stands for
};
/// In the order in which they are applied.
std::span<const OptionVariable> SbatchOptionVariables();

/// The same with what becomes of them: read, or refused as their option is.
std::vector<Variable> SbatchVariables();

}  // namespace muster::slurm
