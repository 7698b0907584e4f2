// sbatch's options: the tables for getopt_long, and one function for each form of value. The same
// functions serve the command line, #SBATCH lines and SBATCH_* variables, so that a value is
// checked in the same way wherever it stands.
//
// Options of Slurm that Muster does not support are in sbatch_refused.cc. They are appended to the
// table of long options with ids from kSbatchRefusedBase on, so that getopt_long knows their names
// and arguments, and Set refuses them by name.
#include "clients/slurm/sbatch_options.h"

#include <getopt.h>
#include <strings.h>

#include <cstring>
#include <iterator>

#include "clients/slurm/command.h"
#include "clients/slurm/sbatch_refused.h"
#include "clients/slurm/sbatch_variables.h"
#include "clients/slurm/slurm_time.h"
#include "schedd/base/check.h"
#include "schedd/shapes/batch/array_spec.h"

namespace muster::slurm {
namespace {

// The id of an option is its letter; options without a letter have the ids below.
enum SbatchOptionId : int {
  kSbatchTasksPerNode = 256,
  kSbatchMem,
  kSbatchMemPerCpu,
  kSbatchGres,
  kSbatchGpusPerNode,
  kSbatchGpusPerTask,
  kSbatchExport,
  kSbatchComment,
  kSbatchRequeue,
  kSbatchNoRequeue,
  kSbatchWrap,
  kSbatchParsable,
  kSbatchTestOnly,
  kSbatchOpenMode,
  kSbatchUsage,
  kSbatchHint,
  kSbatchMailType,
  kSbatchMailUser,
  kSbatchIgnorePbs,
  kSbatchRefusedBase = 1024,
};

constexpr option kSbatchOptions[] = {
    {"job-name", required_argument, nullptr, 'J'},
    {"time", required_argument, nullptr, 't'},
    {"nodes", required_argument, nullptr, 'N'},
    {"output", required_argument, nullptr, 'o'},
    {"cpus-per-task", required_argument, nullptr, 'c'},
    {"partition", required_argument, nullptr, 'p'},
    {"error", required_argument, nullptr, 'e'},
    {"ntasks-per-node", required_argument, nullptr, kSbatchTasksPerNode},
    {"tasks-per-node", required_argument, nullptr, kSbatchTasksPerNode},
    {"account", required_argument, nullptr, 'A'},
    {"clusters", required_argument, nullptr, 'M'},
    {"cluster", required_argument, nullptr, 'M'},
    {"mem", required_argument, nullptr, kSbatchMem},
    {"gres", required_argument, nullptr, kSbatchGres},
    {"ntasks", required_argument, nullptr, 'n'},
    {"tasks", required_argument, nullptr, 'n'},
    {"mem-per-cpu", required_argument, nullptr, kSbatchMemPerCpu},
    {"qos", required_argument, nullptr, 'q'},
    {"gpus-per-node", required_argument, nullptr, kSbatchGpusPerNode},
    {"array", required_argument, nullptr, 'a'},
    {"gpus-per-task", required_argument, nullptr, kSbatchGpusPerTask},
    {"gpus", required_argument, nullptr, 'G'},
    {"wrap", required_argument, nullptr, kSbatchWrap},
    {"parsable", no_argument, nullptr, kSbatchParsable},
    {"export", required_argument, nullptr, kSbatchExport},
    {"requeue", no_argument, nullptr, kSbatchRequeue},
    {"no-requeue", no_argument, nullptr, kSbatchNoRequeue},
    {"open-mode", required_argument, nullptr, kSbatchOpenMode},
    {"chdir", required_argument, nullptr, 'D'},
    {"workdir", required_argument, nullptr, 'D'},
    {"hold", no_argument, nullptr, 'H'},
    {"wait", no_argument, nullptr, 'W'},
    {"test-only", no_argument, nullptr, kSbatchTestOnly},
    {"input", required_argument, nullptr, 'i'},
    {"comment", required_argument, nullptr, kSbatchComment},
    {"quiet", no_argument, nullptr, 'Q'},
    {"verbose", no_argument, nullptr, 'v'},
    {"hint", required_argument, nullptr, kSbatchHint},
    {"mail-type", required_argument, nullptr, kSbatchMailType},
    {"mail-user", required_argument, nullptr, kSbatchMailUser},
    {"ignore-pbs", no_argument, nullptr, kSbatchIgnorePbs},
    {"help", no_argument, nullptr, 'h'},
    {"usage", no_argument, nullptr, kSbatchUsage},
    {"version", no_argument, nullptr, 'V'},
};

// '+': parsing stops at the first word that is no option. That word is the script, and the words
// behind it are the script's arguments.
constexpr char kShort[] = "+J:t:N:o:c:p:e:A:n:q:a:G:D:HWi:QvhVd:C:x:w:M:b:L:m:S:sOF:k:B:";

// All long options, the refused ones included, ending with an empty entry as getopt_long needs it.
const option* LongOptions() {
  static const std::vector<option> all = [] {
    std::vector<option> out(std::begin(kSbatchOptions), std::end(kSbatchOptions));
    for (std::size_t i = 0; i < RefusedOptions().size(); ++i) {
      const RefusedOption& refused = RefusedOptions()[i];
      out.push_back(
          {refused.name, refused.argument, nullptr, kSbatchRefusedBase + static_cast<int>(i)});
    }
    out.push_back({nullptr, 0, nullptr, 0});
    return out;
  }();
  return all.data();
}

// The name must be in the table: it comes from sbatch_variables.cc.
const option* LongOption(std::string_view name) {
  const option* at = LongOptions();
  while (at->name != nullptr && name != at->name) ++at;
  MUSTER_CHECK(at->name != nullptr);
  return at;
}

const RefusedOption& RefusedOf(int id) {
  return RefusedOptions()[static_cast<std::size_t>(id - kSbatchRefusedBase)];
}

std::optional<OptionError> Invalid(const char* name) {
  return OptionError{std::string("Invalid --") + name + " specification", kExitUsage};
}

// Whole numbers from `least` to a million.
std::optional<OptionError> SetCount(const char* name, const char* text, std::int64_t least,
                                    std::optional<std::int64_t>* out) {
  const auto number = ParseCount(text);
  if (!number || *number < least || *number > 1'000'000) return Invalid(name);
  *out = *number;
  return std::nullopt;
}

std::optional<OptionError> SetMemory(const char* name, const char* text,
                                     std::optional<std::string>* out) {
  if (!ParseMemoryMb(text)) return Invalid(name);
  *out = text;
  return std::nullopt;
}

std::optional<OptionError> SetTime(const char* text, SbatchOptions* out) {
  if (!ParseTimeLimit(text)) return Invalid("time");
  out->time = text;
  return std::nullopt;
}

// `min[-max]`. A script of this version runs on one node, so only the smaller number is kept.
std::optional<OptionError> SetNodes(std::string_view text, SbatchOptions* out) {
  const std::size_t dash = text.find('-');
  const auto least = ParseCount(text.substr(0, dash));
  const auto most = dash == std::string_view::npos ? least : ParseCount(text.substr(dash + 1));
  if (!least || !most || *least < 1 || *most < *least || *most > 1'000'000) return Invalid("nodes");
  out->nodes = *least;
  return std::nullopt;
}

std::optional<OptionError> SetArray(const char* text, SbatchOptions* out) {
  const auto tasks = shapes::ParseArraySpec(text);
  if (!tasks.ok()) {
    const FieldError& why = tasks.error().fields.at(0);
    return OptionError{"Batch job submission failed: " + why.message, kExitRefused};
  }
  out->array = text;
  return std::nullopt;
}

// "2" or "a100:2". `--gpus-per-node=2` means the same as `--gres=gpu:2`.
std::optional<OptionError> SetGpus(const char* name, std::string_view text,
                                   std::optional<std::string>* out) {
  const std::size_t colon = text.rfind(':');
  const auto count = ParseCount(colon == std::string_view::npos ? text : text.substr(colon + 1));
  if (!count || colon == 0) return Invalid(name);
  *out = std::string(text);
  return std::nullopt;
}

std::optional<OptionError> SetOpenMode(std::string_view text, SbatchOptions* out) {
  if (text != "append" && text != "truncate" && text != "a" && text != "t")
    return Invalid("open-mode");
  out->open_mode = text[0] == 'a' ? "append" : "truncate";
  return std::nullopt;
}

// Accepts Slurm's hints and ignores them, as Slurm itself may; they change no resource that Muster
// counts.
std::optional<OptionError> CheckHint(std::string_view text) {
  for (const char* known : {"nomultithread", "multithread", "compute_bound", "memory_bound"}) {
    if (text == known) return std::nullopt;
  }
  return Invalid("hint");
}

std::optional<OptionError> CheckMail(const char* text) {
  if (::strcasecmp(text, "NONE") == 0) return std::nullopt;
  return OptionError{
      "--mail-type: this version sends no mail; use --mail-type=NONE or leave it out",
      kExitRefused};
}

// The field that an option without an argument sets; null for any other option.
bool* FlagOf(int id, SbatchOptions* out) {
  switch (id) {
    case 'H':
      return &out->hold;
    case 'W':
      return &out->wait;
    case 'Q':
      return &out->quiet;
    case 'h':
      return &out->help;
    case 'V':
      return &out->version;
    case kSbatchUsage:
      return &out->usage;
    case kSbatchParsable:
      return &out->parsable;
    case kSbatchTestOnly:
      return &out->test_only;
    default:
      return nullptr;
  }
}

// The field that takes an option's text unchanged; null for any other option.
std::optional<std::string>* TextOf(int id, SbatchOptions* out) {
  switch (id) {
    case 'J':
      return &out->job_name;
    case 'o':
      return &out->output;
    case 'e':
      return &out->error;
    case 'i':
      return &out->input;
    case 'p':
      return &out->partition;
    case 'A':
      return &out->account;
    case 'q':
      return &out->qos;
    case 'M':
      return &out->cluster;
    case 'D':
      return &out->chdir;
    case kSbatchGres:
      return &out->gres;
    case kSbatchExport:
      return &out->export_list;
    case kSbatchComment:
      return &out->comment;
    case kSbatchWrap:
      return &out->wrap;
    default:
      return nullptr;
  }
}

// Applies one option; the last of several wins. An id that is in no table is an error that
// getopt_long has printed.
std::optional<OptionError> Set(int id, const char* text, SbatchOptions* out) {
  if (bool* flag = FlagOf(id, out)) {
    *flag = true;
    return std::nullopt;
  }
  if (auto* as_it_stands = TextOf(id, out)) {
    *as_it_stands = text;
    return std::nullopt;
  }
  switch (id) {
    case 't':
      return SetTime(text, out);
    case 'N':
      return SetNodes(text, out);
    case 'c':
      return SetCount("cpus-per-task", text, 1, &out->cpus_per_task);
    case 'n':
      return SetCount("ntasks", text, 1, &out->tasks);
    case 'a':
      return SetArray(text, out);
    case 'G':
      return SetGpus("gpus", text, &out->gpus);
    case 'v':
      // More messages about what the client does; it prints none.
      return std::nullopt;
    case kSbatchTasksPerNode:
      return SetCount("ntasks-per-node", text, 1, &out->tasks_per_node);
    case kSbatchMem:
      return SetMemory("mem", text, &out->memory_per_node);
    case kSbatchMemPerCpu:
      return SetMemory("mem-per-cpu", text, &out->memory_per_cpu);
    case kSbatchGpusPerNode: {
      std::optional<std::string> count;
      auto error = SetGpus("gpus-per-node", text, &count);
      if (!error) out->gres = "gpu:" + *count;
      return error;
    }
    case kSbatchGpusPerTask:
      return SetCount("gpus-per-task", text, 1, &out->gpus_per_task);
    case kSbatchRequeue:
      out->requeue = true;
      return std::nullopt;
    case kSbatchNoRequeue:
      out->requeue = false;
      return std::nullopt;
    case kSbatchOpenMode:
      return SetOpenMode(text, out);
    case kSbatchHint:
      return CheckHint(text);
    case kSbatchMailType:
      return CheckMail(text);
    case kSbatchMailUser:
      // An address has no effect without --mail-type.
      return std::nullopt;
    case kSbatchIgnorePbs:
      // #PBS lines are comments here anyway.
      return std::nullopt;
    default:
      break;
  }
  const RefusedOption* refused =
      id >= kSbatchRefusedBase ? &RefusedOf(id) : RefusedByLetter(static_cast<char>(id));
  if (refused == nullptr) return OptionError{"", kExitUsage};
  return OptionError{std::string("--") + refused->name + ": " + refused->sentence, kExitRefused};
}

// The variable of a flag sets it if it is empty, `yes`, or a number other than zero (rule B12).
bool FlagIsOn(const char* text) {
  if (*text == '\0' || ::strcasecmp(text, "yes") == 0) return true;
  const auto number = ParseCount(text);
  return number && *number != 0;
}

}  // namespace

std::optional<OptionError> ApplyWords(int argc, char** argv, SbatchOptions* options, int* operand) {
  // In glibc, 0 makes getopt_long forget the state of an earlier call.
  optind = 0;
  opterr = 1;
  int id = 0;
  while ((id = ::getopt_long(argc, argv, kShort, LongOptions(), nullptr)) != -1) {
    if (id == '?' || id == ':') return OptionError{"", kExitUsage};
    if (auto error = Set(id, optarg == nullptr ? "" : optarg, options)) return error;
  }
  *operand = optind;
  return std::nullopt;
}

// Each value is applied twice: to `options`, and to `own`, which shows whether the environment
// itself sets two options that exclude each other.
std::optional<OptionError> ApplyEnvironment(const client::EnvLookup& env, SbatchOptions* options) {
  if (const auto refused = RefusedVariable("sbatch")) return OptionError{*refused, kExitRefused};
  SbatchOptions own;
  for (const OptionVariable& variable : SbatchOptionVariables()) {
    if (SetVariable(variable.name) == nullptr) continue;
    const option* known = LongOption(variable.option);
    const std::string value = env(variable.name);
    // The variable of a flag may say no, and an empty value is no value for an option that requires
    // one.
    const bool on = known->has_arg == no_argument         ? FlagIsOn(value.c_str())
                    : known->has_arg == required_argument ? !value.empty()
                                                          : true;
    if (!on) continue;
    if (known->val >= kSbatchRefusedBase) {
      const RefusedOption& refused = RefusedOf(known->val);
      return OptionError{std::string(variable.name) + ": " + refused.sentence, kExitRefused};
    }
    if (auto error = Set(known->val, value.c_str(), &own)) return error;
    if (auto error = Set(known->val, value.c_str(), options)) return error;
  }
  if (own.memory_per_node && own.memory_per_cpu) {
    return OptionError{
        "fatal: SBATCH_MEM_PER_CPU, SBATCH_MEM_PER_GPU, and SBATCH_MEM_PER_NODE are mutually "
        "exclusive.",
        kExitRefused};
  }
  // As on the command line, one kind of memory option replaces the other kind of the script.
  if (own.memory_per_cpu) options->memory_per_node.reset();
  if (own.memory_per_node) options->memory_per_cpu.reset();
  return std::nullopt;
}

std::optional<OptionError> CheckTogether(const SbatchOptions& options) {
  if (options.memory_per_node && options.memory_per_cpu) {
    return OptionError{"fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.",
                       kExitRefused};
  }
  if (options.gpus_per_task && !options.tasks) {
    return OptionError{"--gpus-per-task used without --ntasks", kExitRefused};
  }
  if (options.gpus_per_task && options.gpus) {
    return OptionError{"--gpus and --gpus-per-task are mutually exclusive", kExitRefused};
  }
  return std::nullopt;
}

std::string_view SbatchHelp() {
  return R"(Usage: sbatch [OPTIONS...] [SCRIPT [ARGUMENTS...]]

What to run:
  SCRIPT                      a file that begins with #!; standard input without it
      --wrap=COMMAND          a shell command instead of a script
  -D, --chdir=DIR             working directory (default: the current one)
  -i, --input=FILE  -o, --output=PATTERN  -e, --error=PATTERN  --open-mode=append|truncate
      --export=ALL|NONE|NIL|VAR,VAR=VALUE,...
Where:
  -p, --partition=QUEUE       a LocalQueue, or NAMESPACE/QUEUE (default: the LocalQueue "default")
  -A, --account=CLUSTERQUEUE  -q, --qos=PRIORITYCLASS
  -M, --clusters=CLUSTER      the one member cluster that it may run on
How much:
  -t, --time=LIMIT  -N, --nodes=N  -n, --ntasks=N  --ntasks-per-node=N  -c, --cpus-per-task=N
      --mem=SIZE  --mem-per-cpu=SIZE  --gres=NAME[:TYPE][:COUNT],...
  -G, --gpus=N  --gpus-per-node=N  --gpus-per-task=N
How:
  -J, --job-name=NAME  --comment=TEXT  -a, --array=INDEXES  -H, --hold  --requeue  --no-requeue
  -W, --wait                  until it has ended; the exit status is the job's
      --parsable              print the id alone
      --test-only             check the request and submit nothing
  -Q, --quiet  -v, --verbose  -h, --help  --usage  -V, --version

Every option may also stand in a #SBATCH line of the script or in a SBATCH_* variable. The command
line wins over the environment, the environment over the script.
)";
}

}  // namespace muster::slurm
