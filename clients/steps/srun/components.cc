// Components of a step. Each uses the nodes of one component of a heterogeneous job; an ordinary
// job has one.
#include "clients/steps/srun/components.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "clients/steps/srun/multi_prog.h"
#include "clients/steps/words.h"

namespace muster::steps {
namespace {

constexpr std::int32_t kMostGroups = 128;

// "0,2-3" of --het-group.
std::optional<OptionRefusal> GroupsOf(const OptionValues& options, std::int32_t otherwise,
                                      std::vector<std::int32_t>* out) {
  *out = {otherwise};
  if (!options.Has("het-group")) return std::nullopt;
  const auto groups = ExpandNumbers(options.Get("het-group"), kMostGroups - 1);
  if (!groups) return OptionRefusal{"Invalid --het-group specification", 255};
  *out = *groups;
  return std::nullopt;
}

// In a heterogeneous job the numbers of the component count, not those of the first one.
void UseNumbersOf(std::int32_t group, const VariableLookup& variable, OptionValues* options) {
  const std::string suffix = "_HET_GROUP_" + std::to_string(group);
  const auto adapt = [&](const char* option, const char* name) {
    if (options->given.contains(option) && options->given.at(option)) return;
    const std::string value = variable((name + suffix).c_str());
    options->values.erase(option);
    if (!value.empty()) options->values[option] = value;
  };
  adapt("ntasks", "SLURM_NTASKS");
  adapt("nodes", "SLURM_JOB_NUM_NODES");
  adapt("ntasks-per-node", "SLURM_NTASKS_PER_NODE");
  adapt("cpus-per-task", "SLURM_CPUS_PER_TASK");
}

bool ReadText(const std::string& path, std::string* out) {
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return false;
  char buffer[4096];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof(buffer), file)) > 0;) {
    out->append(buffer, got);
    if (out->size() > (4u << 20)) break;
  }
  std::fclose(file);
  return true;
}

std::optional<OptionRefusal> FindPrograms(Component* component) {
  const std::vector<std::string>& command = component->options.command;
  if (!component->options.Has("multi-prog")) {
    component->programs = {command};
    return std::nullopt;
  }
  std::string text;
  if (!ReadText(command[0], &text)) {
    return OptionRefusal{"Unable to open multi_prog file " + command[0] + ": " +
                         std::strerror(errno)};
  }
  const std::string error =
      ReadMultiProg(text, component->plan.request.tasks, {command.begin() + 1, command.end()},
                    &component->programs);
  if (error.empty()) return std::nullopt;
  return OptionRefusal{"configuration file " + command[0] + ": " + error};
}

}  // namespace

std::vector<std::vector<std::string>> SplitComponents(int argc, char** argv) {
  std::vector<std::vector<std::string>> out(1);
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == ":") {
      out.emplace_back();
    } else {
      out.back().push_back(word);
    }
  }
  return out;
}

std::optional<OptionRefusal> ReadComponents(int argc, char** argv, bool inside,
                                            std::vector<Component>* out) {
  for (std::vector<std::string>& words : SplitComponents(argc, argv)) {
    std::string name = "srun";
    std::vector<char*> pointers{name.data()};
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    Component component;
    if (auto refusal = ReadOptions(Tool::kSrun, static_cast<int>(pointers.size()) - 1,
                                   pointers.data(), inside, &component.options))
      return refusal;
    out->push_back(std::move(component));
  }
  return std::nullopt;
}

std::optional<OptionRefusal> PlanComponents(const VariableLookup& variable,
                                            std::vector<Component>* components) {
  const std::int64_t size = WholeNumber(variable("SLURM_HET_SIZE")).value_or(0);
  std::vector<Component> planned;
  for (std::size_t i = 0; i < components->size(); ++i) {
    std::vector<std::int32_t> groups;
    if (auto refusal = GroupsOf((*components)[i].options, static_cast<std::int32_t>(i), &groups))
      return refusal;
    for (const std::int32_t group : groups) {
      if (group > 0 && group >= size) {
        return OptionRefusal{"Job " + variable("SLURM_JOB_ID") + " has no component " +
                             std::to_string(group) +
                             ": it is not a heterogeneous job of that size"};
      }
      Component component = (*components)[i];
      if (component.options.command.empty()) return OptionRefusal{"No command given to execute."};
      if (size > 0) UseNumbersOf(group, variable, &component.options);
      if (auto refusal = PlanPart(component.options, variable, group, &component.plan))
        return refusal;
      if (component.options.Has("pty") && component.plan.request.tasks > 1) {
        const auto given = component.options.given.find("ntasks");
        if (given != component.options.given.end() && given->second)
          return OptionRefusal{"--pty runs one task: leave -n out or say -n1"};
        component.plan.request.tasks = component.plan.request.nodes = 1;
        component.plan.warnings.clear();
      }
      if (auto refusal = FindPrograms(&component)) return refusal;
      planned.push_back(std::move(component));
    }
  }
  *components = std::move(planned);
  return std::nullopt;
}

}  // namespace muster::steps
