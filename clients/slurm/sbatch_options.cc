// Each source is read into SbatchOptions of its own, so that it can be told which options
// contradict each other within one source and which replace those of a lower one.
#include "clients/slurm/sbatch_options.h"

#include <strings.h>

#include "clients/slurm/command.h"
#include "clients/slurm/sbatch_variables.h"
#include "schedd/base/check.h"
#include "schedd/shapes/batch/batch_directives.h"
#include "schedd/shapes/batch/sbatch_options.h"

namespace muster::slurm {
namespace {

// The variable of a flag sets it if it is empty, `yes`, or a number other than zero (rule B12).
bool FlagIsOn(const char* text) {
  if (*text == '\0' || ::strcasecmp(text, "yes") == 0) return true;
  const auto number = ParseCount(text);
  return number && *number != 0;
}

}  // namespace

OptionError FromProblem(const shapes::SbatchProblem& problem) {
  return {problem.message, problem.exit, problem.of_getopt};
}

std::optional<OptionError> ApplyWords(const std::vector<std::string>& words, SbatchOptions* options,
                                      std::size_t* operand) {
  std::size_t at = 0;
  if (const auto problem = shapes::ReadSbatchWords(words, &at, options))
    return FromProblem(*problem);
  while (at < words.size() && words[at] == ":") {
    ++at;
    SbatchOptions component;
    if (const auto problem = shapes::ReadSbatchWords(words, &at, &component))
      return FromProblem(*problem);
    if (const auto problem =
            shapes::AddSbatchComponent(std::move(component.fields), &options->fields))
      return FromProblem(*problem);
    for (auto& [name, value] : component.client) options->client.emplace(name, value);
  }
  *operand = at;
  return std::nullopt;
}

std::optional<OptionError> ApplyDirectives(const std::string& script, const std::string& path,
                                          SbatchOptions* options) {
  const Result<std::vector<std::string>> words = shapes::DirectiveWords(script);
  if (!words.ok()) {
    const std::string& why = words.error().fields.empty() ? words.error().detail
                                                          : words.error().fields[0].message;
    const bool of_line = why.starts_with("line ") && !path.empty();
    return OptionError{"fatal: " + (of_line ? path + ": " : "") + why, kExitRefused};
  }
  if (const auto problem = shapes::ReadDirectiveWords(*words, options))
    return FromProblem(*problem);
  return CheckMemoryOptions(*options, false);
}

std::optional<OptionError> ApplyEnvironment(const client::EnvLookup& env, SbatchOptions* options) {
  if (const auto refused = RefusedVariable("sbatch")) return OptionError{*refused, kExitRefused};
  using shapes::SbatchArgument;
  using shapes::SbatchMeaning;
  for (const OptionVariable& variable : SbatchOptionVariables()) {
    if (SetVariable(variable.name) == nullptr) continue;
    const shapes::SbatchOption* option = shapes::FindSbatchOption(variable.option);
    MUSTER_CHECK(option != nullptr);
    std::string value = env(variable.name);
    // The variable of a flag may say no, and an empty value is no value for an option that requires
    // one.
    const bool flag = option->argument == SbatchArgument::kNone ||
                      option->meaning == SbatchMeaning::kRequeue;
    const bool on = flag                                               ? FlagIsOn(value.c_str())
                    : option->argument == SbatchArgument::kRequired ? !value.empty()
                                                                    : true;
    if (!on) continue;
    if (flag) value.clear();
    if (option->meaning == SbatchMeaning::kRefused) {
      return OptionError{std::string(variable.name) + ": " + std::string(option->field),
                         kExitRefused};
    }
    if (std::string_view(variable.name) == "SBATCH_WAIT4SWITCH") {
      // The waiting time alone: it belongs to the count of SBATCH_REQ_SWITCH.
      const std::string count = env("SBATCH_REQ_SWITCH");
      if (count.empty()) continue;
      value = count + "@" + value;
    }
    if (const auto problem = shapes::ApplySbatchOption(*option, value, options))
      return FromProblem(*problem);
  }
  return CheckMemoryOptions(*options, true);
}

std::optional<OptionError> CheckMemoryOptions(const SbatchOptions& options, bool of_environment) {
  int given = 0;
  for (const char* field : {"memoryPerNode", "memoryPerCpu", "memoryPerGpu"})
    given += options.fields.contains(field) ? 1 : 0;
  if (given < 2) return std::nullopt;
  return OptionError{of_environment
                         ? "fatal: SBATCH_MEM_PER_CPU, SBATCH_MEM_PER_GPU, and SBATCH_MEM_PER_NODE "
                           "are mutually exclusive."
                         : "fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.",
                     kExitRefused};
}

void OverlayOptions(SbatchOptions lower, SbatchOptions* higher) {
  // Slurm replaces kinds of memory by kinds of memory; the kinds of GPU requests stand beside each
  // other there, and those of one source replace those of a lower one here.
  shapes::OverlaySbatchFields(std::move(lower.fields), &higher->fields);
  for (auto& [name, value] : lower.client) higher->client.emplace(name, value);
}

std::string_view SbatchHelp() {
  return R"(Usage: sbatch [OPTIONS...] [: OPTIONS...] [SCRIPT [ARGUMENTS...]]

What to run:
  SCRIPT                      a file that begins with #!; standard input without it
      --wrap=COMMAND          a shell command instead of a script
  -D, --chdir=DIR             working directory (default: the current one)
  -i, --input=FILE  -o, --output=PATTERN  -e, --error=PATTERN  --open-mode=append|truncate
      --export=ALL|NONE|NIL|VAR,VAR=VALUE,...  --export-file=FILE  --get-user-env[=SECONDS]
      --propagate[=LIMIT,...]
Where:
  -p, --partition=QUEUE,...   a LocalQueue, or NAMESPACE/QUEUE (default: the namespace's default)
  -A, --account=CLUSTERQUEUE  -q, --qos=PRIORITYCLASS  --reservation=NAME
  -M, --clusters=CLUSTER      the one member cluster that it may run on
  -w, --nodelist=NODES  -x, --exclude=NODES  -F, --nodefile=FILE  -C, --constraint=FEATURES
How much:
  -t, --time=LIMIT  --time-min=LIMIT  -N, --nodes=MIN[-MAX]  -n, --ntasks=N  --ntasks-per-node=N
      --ntasks-per-core=N  --ntasks-per-socket=N  --ntasks-per-gpu=N  --tres-per-task=LIST
  -c, --cpus-per-task=N  --cpus-per-gpu=N  --mincpus=N  --exclusive[=user|mcs]  -O, --overcommit
      --mem=SIZE  --mem-per-cpu=SIZE  --mem-per-gpu=SIZE  (0: all memory of the node)
      --gres=NAME[:TYPE][:COUNT],...  -G, --gpus=[TYPE:]N  --gpus-per-node=[TYPE:]N
      --gpus-per-task=[TYPE:]N  --gpus-per-socket=[TYPE:]N  -L, --licenses=NAME[:COUNT],...
When:
  -b, --begin=TIME  --deadline=TIME  -d, --dependency=LIST  --kill-on-invalid-dep=yes|no
  -H, --hold  --nice[=N]  --priority=N  --requeue  --no-requeue  --signal=[B:]SIGNAL[@SECONDS]
How:
  -J, --job-name=NAME  --comment=TEXT  --wckey=KEY  -a, --array=INDEXES
      --mail-type=EVENTS  --mail-user=USER
  -W, --wait                  until it has ended; the exit status is the job's
      --parsable              print the id alone
      --test-only             check the request and tell when it would start; submit nothing
  -Q, --quiet  -v, --verbose  -h, --help  --usage  -V, --version
Kept, shown by `scontrol show job`, without amounts:
      --hint --distribution --threads-per-core --sockets-per-node --cores-per-socket -B
      --cpu-freq --gpu-freq --gpu-bind --mem-bind --tres-bind --gres-flags --contiguous --switches
      --spread-job --use-min-nodes --oversubscribe --no-kill --profile --acctg-freq --delay-boot
      --wait-all-nodes --mcs-label --power --prefer --extra --segment --stepmgr --oom-kill-step

Every option may also stand in a #SBATCH line of the script or in a SBATCH_* variable. The command
line wins over the environment, the environment over the script. "#SBATCH hetjob" in a script, or
":" on the command line, begins the next component of a heterogeneous job.
)";
}

}  // namespace muster::slurm
