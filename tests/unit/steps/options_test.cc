// Options and variables of srun and salloc, and what a step asks for by them.
#include "clients/steps/option_table.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "clients/steps/srun/components.h"
#include "clients/steps/srun/step_plan.h"

namespace muster::steps {
namespace {

using Texts = std::vector<std::string>;

std::vector<Component> Read(Texts words) {
  words.insert(words.begin(), "srun");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  std::vector<Component> out;
  const auto refusal = ReadComponents(static_cast<int>(argv.size()), argv.data(), true, &out);
  EXPECT_FALSE(refusal) << refusal->message;
  return out;
}

// A job of two nodes; `more` replaces variables.
PartPlan Plan(const Texts& words, std::map<std::string, std::string> more = {}) {
  more.insert({"SLURM_JOB_NUM_NODES", "2"});
  std::vector<Component> components = Read(words);
  // What the environment of the job would have set.
  OptionValues& options = components.front().options;
  for (const auto& [variable, option] :
       {std::pair{"SLURM_NTASKS", "ntasks"}, std::pair{"SLURM_JOB_NUM_NODES", "nodes"}}) {
    if (more.contains(variable) && !options.Has(option)) options.values[option] = more[variable];
  }
  PartPlan out;
  const auto refusal = PlanPart(
      options, [&](const char* name) { return more.contains(name) ? more[name] : ""; }, 0, &out);
  EXPECT_FALSE(refusal) << refusal->message;
  return out;
}

TEST(StepOptions, TasksAndNodes) {
  PartPlan plan = Plan({"x"});
  EXPECT_EQ(plan.request.tasks, 2);
  EXPECT_EQ(plan.request.nodes, 2);
  plan = Plan({"x"}, {{"SLURM_NTASKS", "6"}});
  EXPECT_EQ(plan.request.tasks, 6);
  plan = Plan({"-n1", "x"}, {{"SLURM_NTASKS", "6"}});
  EXPECT_EQ(plan.request.nodes, 1);
  EXPECT_EQ(plan.warnings.at(0), "Warning: can't run 1 processes on 2 nodes, setting nnodes to 1");
  plan = Plan({"-N1", "x"});
  EXPECT_EQ(plan.request.tasks, 1);
  EXPECT_TRUE(plan.warnings.empty());
  plan = Plan({"-N2", "--ntasks-per-node=3", "x"}, {{"SLURM_NTASKS", "4"}});
  EXPECT_EQ(plan.request.tasks, 6);
  plan = Plan({"-w", "n[1-2]", "-N1-2", "x"});
  EXPECT_EQ(plan.request.with_hosts, (Texts{"n1", "n2"}));
}

TEST(StepOptions, Sharing) {
  EXPECT_FALSE(Plan({"x"}).request.exact);
  EXPECT_TRUE(Plan({"--exact", "x"}).request.exact);
  EXPECT_TRUE(Plan({"--exclusive", "x"}).request.exact);
  const PartPlan plan = Plan({"-c2", "x"});
  EXPECT_TRUE(plan.request.exact);
  EXPECT_EQ(plan.request.cpus_per_task, 2);
  EXPECT_TRUE(Plan({"--overlap", "x"}).request.overlap);
  EXPECT_EQ(Plan({"--gres=gpu:a100:2,gpu:1", "x"}).request.gpus_per_node, 3);
  EXPECT_EQ(Plan({"--gres=none", "x"}).request.gpus_per_node, 0);
  EXPECT_EQ(Plan({"-m", "plane=4", "x"}).request.plane, 4);
}

TEST(StepOptions, ComponentsAndCommands) {
  const std::vector<Component> components = Read({"-n1", "a", "-n9", ":", "-n2", "b"});
  ASSERT_EQ(components.size(), 2u);
  EXPECT_EQ(components[0].options.command, (Texts{"a", "-n9"}));
  EXPECT_EQ(components[1].options.Get("ntasks"), "2");
}

TEST(StepOptions, Bindings) {
  TaskWorld world;
  std::string error;
  ASSERT_TRUE(PlanBinding("verbose,map_cpu:0,2*2", &world, &error));
  EXPECT_EQ(world.bind, CpuBind::kMap);
  EXPECT_TRUE(world.bind_verbose);
  EXPECT_EQ(world.bind_list, (Texts{"0", "2", "2"}));
  TaskWorld other;
  EXPECT_FALSE(PlanBinding("nonsense", &other, &error));
}

TEST(StepOptions, ExportedVariables) {
  const char* all[] = {"A=1", "B=2", "SLURM_X=3", nullptr};
  EXPECT_EQ(ExportedVariables("", all), (Texts{"A=1", "B=2", "SLURM_X=3"}));
  EXPECT_EQ(ExportedVariables("NONE", all), (Texts{"SLURM_X=3"}));
  EXPECT_EQ(ExportedVariables("ALL,A=9", all), (Texts{"B=2", "SLURM_X=3", "A=9"}));
  EXPECT_EQ(ExportedVariables("B", all), (Texts{"B=2", "SLURM_X=3"}));
}

// Each row is one decision: what is refused says why, and variables stand for options that exist.
TEST(StepOptions, TablesAreWhole) {
  std::set<std::string> names;
  for (const OptionRow& row : OptionRows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    const bool refused = row.srun == OptionUse::kRefused || row.salloc == OptionUse::kRefused;
    EXPECT_EQ(refused, row.why[0] != 0) << row.name;
  }
  for (const Tool tool : {Tool::kSrun, Tool::kSalloc}) {
    for (const InputRow& row : InputRows(tool)) {
      EXPECT_TRUE(row.option[0] == 0 || names.contains(row.option)) << row.name;
      const bool why = row.use == InputUse::kRefused || row.use == InputUse::kWithoutEffect;
      EXPECT_EQ(why, row.why[0] != 0) << row.name;
    }
  }
}

}  // namespace
}  // namespace muster::steps
