// From options of salloc and srun to the fields of the job's manifest.
#include <getopt.h>
#include <unistd.h>

#include "clients/slurm/allocation/allocation.h"
#include "clients/slurm/command.h"
#include "clients/steps/words.h"

namespace muster::slurm {
namespace {

enum class AllocationField : std::uint8_t { kText, kNumber, kFlag };

struct AllocationRow {
  const char* option;
  const char* field;
  AllocationField kind = AllocationField::kText;
};

// What a component may have of its own.
constexpr AllocationRow kAmounts[] = {
    {"nodes", "nodes"},
    {"ntasks", "tasks", AllocationField::kNumber},
    {"ntasks-per-node", "tasksPerNode", AllocationField::kNumber},
    {"ntasks-per-core", "tasksPerCore", AllocationField::kNumber},
    {"ntasks-per-socket", "tasksPerSocket", AllocationField::kNumber},
    {"ntasks-per-gpu", "tasksPerGpu", AllocationField::kNumber},
    {"cpus-per-task", "cpusPerTask", AllocationField::kNumber},
    {"cpus-per-gpu", "cpusPerGpu", AllocationField::kNumber},
    {"mem", "memoryPerNode"},
    {"mem-per-cpu", "memoryPerCpu"},
    {"mem-per-gpu", "memoryPerGpu"},
    {"gres", "gres"},
    {"gpus", "gpus"},
    {"gpus-per-node", "gpusPerNode"},
    {"gpus-per-task", "gpusPerTask"},
    {"gpus-per-socket", "gpusPerSocket"},
    {"tres-per-task", "tresPerTask"},
};

// What the whole job has once.
constexpr AllocationRow kWhole[] = {
    {"account", "account"},
    {"qos", "priorityClass"},
    {"clusters", "cluster"},
    {"time", "timeLimit"},
    {"time-min", "timeMin"},
    {"constraint", "features"},
    {"nodelist", "requiredNodes"},
    {"exclude", "excludedNodes"},
    {"licenses", "licenses"},
    {"reservation", "reservation"},
    {"signal", "signal"},
    {"nice", "nice", AllocationField::kNumber},
    {"priority", "priority", AllocationField::kNumber},
    {"wckey", "wckey"},
    {"mail-type", "mailType"},
    {"mail-user", "mailUser"},
    {"comment", "comment"},
    {"dependency", "dependency"},
    {"begin", "begin"},
    {"deadline", "deadline"},
    {"hold", "hold", AllocationField::kFlag},
};

// A number that is none goes as text, which the server refuses by the field's name.
json::value ValueOfField(const AllocationRow& row, const std::string& text) {
  if (row.kind == AllocationField::kFlag) return true;
  if (row.kind == AllocationField::kText) return json::value(text);
  const bool negative = text.starts_with('-');
  const auto number = ParseCount(std::string_view(text).substr(negative ? 1 : 0));
  // --nice without a number is 100.
  if (text.empty()) return 100;
  return number ? json::value(negative ? -*number : *number) : json::value(text);
}

template <std::size_t N>
void AddFields(const AllocationRow (&rows)[N], const steps::OptionValues& options,
               json::object* out) {
  for (const AllocationRow& row : rows) {
    if (options.Has(row.option)) (*out)[row.field] = ValueOfField(row, options.Get(row.option));
  }
}

// Options of a step that shape the allocation of an srun outside a job, too.
bool OfBoth(std::string_view option) { return option == "overcommit" || option == "distribution"; }

// Options that say how, kept for scontrol to show.
json::object HowOf(const steps::OptionValues& options, bool srun) {
  json::object out;
  for (const steps::OptionRow& row : steps::OptionRows()) {
    const steps::OptionUse use = srun ? row.srun : row.salloc;
    if ((use == steps::OptionUse::kHow || OfBoth(row.name)) && options.Has(row.name) &&
        std::string_view(row.name) != "verbose")
      out[row.name] = options.Get(row.name);
  }
  return out;
}

}  // namespace

json::object AllocationFields(const std::vector<steps::OptionValues>& components,
                              const std::string& current_dir, const std::string& name) {
  json::object out;
  const steps::OptionValues& first = components.front();
  AddFields(kAmounts, first, &out);
  AddFields(kWhole, first, &out);
  // --exclusive of srun means the step once the job exists; of a new allocation it means its nodes.
  if (first.Has("exclusive")) {
    const std::string value = first.Get("exclusive");
    out["exclusive"] = value.empty() ? "exclusive" : value;
  }
  json::object how = HowOf(first, name == "srun");
  if (!how.empty()) out["how"] = std::move(how);
  for (std::size_t i = 1; i < components.size(); ++i) {
    json::object amounts;
    AddFields(kAmounts, components[i], &amounts);
    if (i == 1) out["components"] = json::array();
    out["components"].get_array().push_back(std::move(amounts));
  }
  out["allocationOnly"] = true;
  out["script"] = nullptr;  // by this member the server knows the form
  const std::string& given = first.Get("job-name");
  const std::vector<std::string>& command = components.back().command;
  std::string program = command.empty() ? "interactive" : command.front();
  program = program.substr(program.rfind('/') + 1);
  out["name"] = given.empty() ? program : given;
  const std::string chdir = first.Get("chdir");
  out["workDir"] = chdir.empty()     ? current_dir
                   : chdir[0] == '/' ? chdir
                                     : current_dir + "/" + chdir;
  // The agent writes nothing; without this the job would leave an empty file behind.
  out["output"] = "/dev/null";
  char host[256] = {};
  if (::gethostname(host, sizeof(host) - 1) == 0) out["submitHost"] = host;
  return out;
}

std::optional<int> ReadAllocationOptions(steps::Tool tool, int argc, char** argv,
                                         std::vector<steps::OptionValues>* out) {
  const char* command = tool == steps::Tool::kSrun ? "srun" : "salloc";
  std::vector<std::vector<char*>> words(1, {argv[0]});
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == ":") {
      words.push_back({argv[0]});
    } else {
      words.back().push_back(argv[i]);
    }
  }
  for (std::vector<char*>& some : words) {
    const int count = static_cast<int>(some.size());
    some.push_back(nullptr);
    steps::OptionValues options;
    const auto refusal = steps::ReadOptions(tool, count, some.data(), false, &options);
    if (refusal && refusal->message.empty()) return UsageExit(command, refusal->exit);
    if (refusal) {
      PrintError(command, refusal->message);
      return ErrorExit(refusal->exit);
    }
    out->push_back(std::move(options));
  }
  return std::nullopt;
}

}  // namespace muster::slurm
