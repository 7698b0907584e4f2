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
#include "schedd/shapes/batch/batch_script.h"

namespace muster::slurm {
namespace {

enum Id : int {
  // Short letters are their own ids; long-only options start here.
  kTasksPerNode = 256,
  kMem,
  kMemPerCpu,
  kGres,
  kGpusPerNode,
  kGpusPerTask,
  kExport,
  kComment,
  kRequeue,
  kNoRequeue,
  kWrap,
  kParsable,
  kTestOnly,
  kOpenMode,
  kUsage,
  kHint,
  kMailType,
  kMailUser,
  kIgnorePbs,
  kRefusedBase = 1024,
};

constexpr option kOptions[] = {
    {"job-name", required_argument, nullptr, 'J'},
    {"time", required_argument, nullptr, 't'},
    {"nodes", required_argument, nullptr, 'N'},
    {"output", required_argument, nullptr, 'o'},
    {"cpus-per-task", required_argument, nullptr, 'c'},
    {"partition", required_argument, nullptr, 'p'},
    {"error", required_argument, nullptr, 'e'},
    {"ntasks-per-node", required_argument, nullptr, kTasksPerNode},
    {"tasks-per-node", required_argument, nullptr, kTasksPerNode},
    {"account", required_argument, nullptr, 'A'},
    {"clusters", required_argument, nullptr, 'M'},
    {"cluster", required_argument, nullptr, 'M'},
    {"mem", required_argument, nullptr, kMem},
    {"gres", required_argument, nullptr, kGres},
    {"ntasks", required_argument, nullptr, 'n'},
    {"tasks", required_argument, nullptr, 'n'},
    {"mem-per-cpu", required_argument, nullptr, kMemPerCpu},
    {"qos", required_argument, nullptr, 'q'},
    {"gpus-per-node", required_argument, nullptr, kGpusPerNode},
    {"array", required_argument, nullptr, 'a'},
    {"gpus-per-task", required_argument, nullptr, kGpusPerTask},
    {"gpus", required_argument, nullptr, 'G'},
    {"wrap", required_argument, nullptr, kWrap},
    {"parsable", no_argument, nullptr, kParsable},
    {"export", required_argument, nullptr, kExport},
    {"requeue", no_argument, nullptr, kRequeue},
    {"no-requeue", no_argument, nullptr, kNoRequeue},
    {"open-mode", required_argument, nullptr, kOpenMode},
    {"chdir", required_argument, nullptr, 'D'},
    {"workdir", required_argument, nullptr, 'D'},
    {"hold", no_argument, nullptr, 'H'},
    {"wait", no_argument, nullptr, 'W'},
    {"test-only", no_argument, nullptr, kTestOnly},
    {"input", required_argument, nullptr, 'i'},
    {"comment", required_argument, nullptr, kComment},
    {"quiet", no_argument, nullptr, 'Q'},
    {"verbose", no_argument, nullptr, 'v'},
    {"hint", required_argument, nullptr, kHint},
    {"mail-type", required_argument, nullptr, kMailType},
    {"mail-user", required_argument, nullptr, kMailUser},
    {"ignore-pbs", no_argument, nullptr, kIgnorePbs},
    {"help", no_argument, nullptr, 'h'},
    {"usage", no_argument, nullptr, kUsage},
    {"version", no_argument, nullptr, 'V'},
};

// '+': the first word that is no option is the script, and what follows it belongs to the script.
constexpr char kShort[] = "+J:t:N:o:c:p:e:A:n:q:a:G:D:HWi:QvhVd:C:x:w:M:b:L:m:S:sOF:k:B:";

/// All long options, the refused ones included, terminated for getopt_long.
const option* LongOptions() {
  static const std::vector<option> all = [] {
    std::vector<option> out(std::begin(kOptions), std::end(kOptions));
    for (std::size_t i = 0; i < RefusedOptions().size(); ++i) {
      const RefusedOption& refused = RefusedOptions()[i];
      out.push_back({refused.name, refused.argument, nullptr, kRefusedBase + static_cast<int>(i)});
    }
    out.push_back({nullptr, 0, nullptr, 0});
    return out;
  }();
  return all.data();
}

const option* LongOption(std::string_view name) {
  const option* at = LongOptions();
  while (at->name != nullptr && name != at->name) ++at;
  MUSTER_CHECK(at->name != nullptr);
  return at;
}

const RefusedOption& RefusedOf(int id) {
  return RefusedOptions()[static_cast<std::size_t>(id - kRefusedBase)];
}

std::optional<OptionError> Invalid(const char* name) {
  return OptionError{std::string("Invalid --") + name + " specification", kExitUsage};
}

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

/// `min[-max]`: a script of this version runs on one node, so what matters is the least number.
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
    // "3-1" is malformed, and "0-3%2" or "0-5000" more than there is: each by its own name.
    const FieldError& why = tasks.error().fields.at(0);
    return OptionError{"Batch job submission failed: " + why.message, kExitRefused};
  }
  out->array = text;
  return std::nullopt;
}

/// "2" or "a100:2"; `--gpus-per-node=2` is `--gres=gpu:2` by another name.
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

/// Hints that Slurm itself may ignore; they change no resource that Muster counts.
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

/// Where an option without an argument is noted; null for any other option.
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
    case kUsage:
      return &out->usage;
    case kParsable:
      return &out->parsable;
    case kTestOnly:
      return &out->test_only;
    default:
      return nullptr;
  }
}

/// Where an option whose text is taken as it stands is noted; null for any other option.
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
    case kGres:
      return &out->gres;
    case kExport:
      return &out->export_list;
    case kComment:
      return &out->comment;
    case kWrap:
      return &out->wrap;
    default:
      return nullptr;
  }
}

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
      return std::nullopt;  // more talk of what the client does; there is none
    case kTasksPerNode:
      return SetCount("ntasks-per-node", text, 1, &out->tasks_per_node);
    case kMem:
      return SetMemory("mem", text, &out->memory_per_node);
    case kMemPerCpu:
      return SetMemory("mem-per-cpu", text, &out->memory_per_cpu);
    case kGpusPerNode: {
      std::optional<std::string> count;
      auto error = SetGpus("gpus-per-node", text, &count);
      if (!error) out->gres = "gpu:" + *count;
      return error;
    }
    case kGpusPerTask:
      return SetCount("gpus-per-task", text, 1, &out->gpus_per_task);
    case kRequeue:
      out->requeue = true;
      return std::nullopt;
    case kNoRequeue:
      out->requeue = false;
      return std::nullopt;
    case kOpenMode:
      return SetOpenMode(text, out);
    case kHint:
      return CheckHint(text);
    case kMailType:
      return CheckMail(text);
    case kMailUser:
      return std::nullopt;  // an address is of no use without --mail-type
    case kIgnorePbs:
      return std::nullopt;  // #PBS lines are comments here anyway
    default:
      break;
  }
  const RefusedOption* refused =
      id >= kRefusedBase ? &RefusedOf(id) : RefusedByLetter(static_cast<char>(id));
  if (refused == nullptr) return OptionError{"", kExitUsage};
  return OptionError{std::string("--") + refused->name + ": " + refused->sentence, kExitRefused};
}

/// A flag variable is on when it is empty, `yes`, or a number other than zero
/// (rule B12).
bool FlagIsOn(const char* text) {
  if (*text == '\0' || ::strcasecmp(text, "yes") == 0) return true;
  const auto number = ParseCount(text);
  return number && *number != 0;
}

}  // namespace

std::optional<OptionError> ApplyWords(int argc, char** argv, SbatchOptions* options, int* operand) {
  optind = 0;  // glibc: start afresh
  opterr = 1;
  int id = 0;
  while ((id = ::getopt_long(argc, argv, kShort, LongOptions(), nullptr)) != -1) {
    if (id == '?' || id == ':') return OptionError{"", kExitUsage};
    if (auto error = Set(id, optarg == nullptr ? "" : optarg, options)) return error;
  }
  *operand = optind;
  return std::nullopt;
}

std::optional<OptionError> ApplyEnvironment(const client::EnvLookup& env, SbatchOptions* options) {
  if (const auto refused = RefusedVariable("sbatch")) return OptionError{*refused, kExitRefused};
  SbatchOptions own;
  for (const OptionVariable& variable : SbatchOptionVariables()) {
    if (SetVariable(variable.name) == nullptr) continue;
    const option* known = LongOption(variable.option);
    const std::string value = env(variable.name);
    const bool on = known->has_arg == no_argument         ? FlagIsOn(value.c_str())
                    : known->has_arg == required_argument ? !value.empty()
                                                          : true;
    if (!on) continue;
    if (known->val >= kRefusedBase) {
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
  // As on the command line, the other kind of the script gives way.
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

}  // namespace muster::slurm
