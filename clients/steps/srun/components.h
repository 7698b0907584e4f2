// srun's command line as its components: "srun -n1 a : -n2 b" has two.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "clients/steps/option_table.h"
#include "clients/steps/srun/step_plan.h"

namespace muster::steps {

/// One component with its options, its plan and the programs of its tasks.
struct Component {
  OptionValues options;
  PartPlan plan;
  std::vector<std::vector<std::string>> programs;  // one, or one for each task
};

/// Splits at words that are a colon alone.
std::vector<std::vector<std::string>> SplitComponents(int argc, char** argv);

/// Reads the options of every component. With --het-group of several groups the command runs in
/// each of them. `inside`: in a job.
std::optional<OptionRefusal> ReadComponents(int argc, char** argv, bool inside,
                                            std::vector<Component>* out);

/// Plans every component, and finds out what its tasks run.
std::optional<OptionRefusal> PlanComponents(const VariableLookup& variable,
                                            std::vector<Component>* components);

}  // namespace muster::steps
