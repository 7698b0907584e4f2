// Reads the spec field by field. The script's directives are checked for their syntax only:
// BatchScriptManifest has turned them into fields, and in a manifest the fields alone count. A job
// without a name is called like the script's file or, as sbatch does, "sbatch".
#include "schedd/shapes/batch/batch_spec.h"

#include <algorithm>

#include "schedd/base/limits.h"
#include "schedd/base/limits_slurm_world.h"
#include "schedd/base/names.h"
#include "schedd/shapes/batch/array_spec.h"
#include "schedd/shapes/batch/batch_dependency.h"
#include "schedd/shapes/batch/batch_directives.h"
#include "schedd/shapes/batch/sbatch_table.h"
#include "schedd/shapes/batch/sbatch_values.h"
#include "schedd/text/json.h"

namespace muster::shapes {
namespace {

constexpr std::int64_t kMinutesMax = 100'000'000;

// A text that is shown in a table or used as a path: one line without control characters.
std::string ReadLine(const Field& field, std::size_t max_bytes) {
  const std::string_view text = field.StringOr("");
  if (text.size() > max_bytes)
    field.Fail("must be at most " + std::to_string(max_bytes) + " bytes");
  if (std::any_of(text.begin(), text.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) {
    field.Fail("must not contain control characters");
  }
  return std::string(text);
}

// A number is in minutes, as in sbatch; a text is in Slurm's notation.
std::int64_t ReadTimeLimit(const Field& field, const char* option) {
  if (!field.present()) return 0;
  if (field.value()->is_int64()) return field.Int(0, kMinutesMax).value_or(0) * 60;
  const auto seconds = ParseSlurmTime(field.StringOr(""));
  if (!seconds) field.Fail(std::string("Invalid --") + option + " specification");
  return seconds.value_or(0);
}

// A point in time; the client and the service have resolved Slurm's notation.
std::optional<WallTime> ReadPoint(const Field& field, const char* option) {
  const std::string text(field.StringOr(""));
  if (text.empty()) return std::nullopt;
  WallTime point;
  if (ParseRfc3339(text, &point)) return point;
  field.Fail(std::string("Invalid --") + option + " specification");
  return std::nullopt;
}

// Options that are kept by name; each must be one of the table.
void ReadHow(const Field& how, BatchSpec* read) {
  constexpr std::size_t kHowBytes = 1024;
  for (const auto& [name, value] : how.Members()) {
    if (FindSbatchOption(name) == nullptr) value.Fail("is no option of sbatch");
    read->how.emplace_back(std::string(name), ReadLine(value, kHowBytes));
  }
}

// What is shown beside the options that are kept by name.
void ReadShown(const Field& spec, BatchSpec* read) {
  static constexpr std::pair<std::string_view, std::string_view> kFields[] = {
      {"tasksPerCore", "ntasks-per-core"},   {"tasksPerSocket", "ntasks-per-socket"},
      {"tasksPerGpu", "ntasks-per-gpu"},     {"cpusPerGpu", "cpus-per-gpu"},
      {"memoryPerGpu", "mem-per-gpu"},       {"tresPerTask", "tres-per-task"},
      {"gpus", "gpus"},                      {"gpusPerNode", "gpus-per-node"},
      {"gpusPerTask", "gpus-per-task"},      {"gpusPerSocket", "gpus-per-socket"},
      {"exclusive", "exclusive"}};
  for (const auto& [name, option] : kFields) {
    const Field field = spec[name];
    if (!field.present()) continue;
    if (field.value()->is_int64())
      read->shown.emplace_back(std::string(option), std::to_string(field.value()->get_int64()));
    if (field.value()->is_string())
      read->shown.emplace_back(std::string(option), std::string(field.StringOr("")));
  }
  if (!read->umask.empty()) read->shown.emplace_back("umask", read->umask);
}

// "0022": an octal number.
std::string ReadUmask(const Field& field) {
  const std::string text(field.StringOr(""));
  if (text.empty()) return text;
  if (text.size() > 4 || text.find_first_not_of("01234567") != std::string::npos)
    field.Fail("must be an octal number of at most four digits");
  return text;
}

// Soft limits by the names of setrlimit without RLIMIT_; -1 is unlimited.
void CheckLimits(const Field& limits) {
  static constexpr std::string_view kNames[] = {"AS",     "CORE",   "CPU",   "DATA",  "FSIZE",
                                                "MEMLOCK", "NOFILE", "NPROC", "RSS",   "STACK"};
  for (const auto& [name, value] : limits.Members()) {
    if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames))
      value.Fail("is no limit of a process");
    (void)value.Int(-1);
  }
}

// What a job begins with beside its amounts.
void ReadState(const Field& spec, BatchSpec* read) {
  const auto dependencies = ParseDependencies(spec["dependency"].StringOr(""));
  if (!dependencies.ok()) {
    spec["dependency"].Fail("Job dependency problem");
  } else {
    read->state.dependencies = dependencies->items;
    read->state.any_dependency = dependencies->any;
  }
  read->state.kill_on_invalid_dependency = spec["killOnInvalidDependency"].BoolOr(false);
  read->state.begin_at = ReadPoint(spec["begin"], "begin");
  read->state.deadline = ReadPoint(spec["deadline"], "deadline");
  constexpr std::int64_t kNiceMost = 2'147'483'645, kPriorityMost = 4'294'967'294;
  read->state.nice = spec["nice"].Int(-kNiceMost, kNiceMost).value_or(0);
  const auto priority = spec["priority"].Int(0, kPriorityMost);
  read->hold = spec["hold"].BoolOr(false) || priority == 0;
  if (priority && *priority > 0) read->state.own_priority = *priority;
}

// Further components of a heterogeneous job: name and amounts only.
void ReadComponents(const Field& components, BatchSpec* read) {
  constexpr std::size_t kComponentsMax = 128;
  for (const Field& component : components.Elements()) {
    component.OnlyMembers({"name",          "nodes",          "tasks",        "tasksPerNode",
                           "tasksPerCore",  "tasksPerSocket", "tasksPerGpu",  "cpusPerTask",
                           "cpusPerGpu",    "memoryPerNode",  "memoryPerCpu", "memoryPerGpu",
                           "gres",          "gpus",           "gpusPerNode",  "gpusPerTask",
                           "gpusPerSocket", "tresPerTask",    "exclusive",    "how",
                           "resources",     "wholeNode"});
    read->components.push_back(ReadBatchAmounts(component));
    read->component_names.push_back(ReadLine(component["name"], limits::kBatchTextBytes));
  }
  if (read->components.size() >= kComponentsMax)
    components.Fail("a heterogeneous job has at most " + std::to_string(kComponentsMax) +
                    " components");
}

// Names as POSIX shells accept them, and values as text. Exported functions of bash become words of
// one command line, which bounds them.
void CheckEnvironment(const Field& environment) {
  constexpr std::size_t kFunctionsBytes = 96 << 10;
  std::size_t functions = 0;
  for (const auto& [name, value] : environment.Members()) {
    const bool function = IsShellFunction(name);
    if (!IsEnvName(name) && !function)
      value.Fail(std::string("a variable's name ") + kEnvNameRule);
    if (!value.present()) value.Fail("must be a string, not null");
    const auto text = value.String();
    if (function && text) functions += name.size() + text->size();
  }
  if (functions > kFunctionsBytes) {
    environment.Fail("the exported shell functions have " + std::to_string(functions) +
                     " bytes; at most " + std::to_string(kFunctionsBytes) + " go along");
  }
}

void CheckArguments(const Field& arguments) {
  for (const auto& argument : arguments.Elements()) {
    if (!argument.present()) argument.Fail("must be a string, not null");
    (void)argument.String();
  }
}

// The last component of a path.
std::string BaseName(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

// Only the first problem of the directives is reported, as sbatch does.
void CheckScript(const Field& script) {
  if (!script.Require()) return;
  const auto text = script.String();
  if (!text) return;
  const auto words = DirectiveWords(*text);
  if (!words.ok())
    script.Fail(words.error().fields.empty() ? words.error().detail
                                             : words.error().fields[0].message);
}

// The working directory, the files of the streams, and how they are opened.
void ReadFiles(const Field& spec, BatchSpec* read) {
  read->work_dir = ReadLine(spec["workDir"], limits::kBatchPathBytes);
  if (!read->work_dir.empty() && read->work_dir[0] != '/')
    spec["workDir"].Fail("must be an absolute path");
  read->output = ReadLine(spec["output"], limits::kBatchPathBytes);
  read->error = ReadLine(spec["error"], limits::kBatchPathBytes);
  read->input = ReadLine(spec["input"], limits::kBatchPathBytes);
  read->open_mode = spec["openMode"].StringOr("");
  if (read->open_mode == "a") read->open_mode = "append";
  if (read->open_mode == "t") read->open_mode = "truncate";
  if (!read->open_mode.empty() && read->open_mode != "append" && read->open_mode != "truncate") {
    spec["openMode"].Fail("Invalid --open-mode specification");
  }
}

// What is sent before the end: a signal, mails.
void ReadNotices(const Field& spec, BatchSpec* read) {
  if (const auto signal = spec["signal"].String(); signal && !signal->empty()) {
    const auto warning = ParseWarningSignal(*signal);
    if (!warning) spec["signal"].Fail("Invalid --signal specification");
    read->warning = warning.value_or(WarningSignal{});
  }
  if (const auto mail = spec["mailType"].String(); mail && !mail->empty()) {
    const auto events = ParseMailEvents(*mail);
    if (!events) spec["mailType"].Fail("Invalid --mail-type specification");
    read->mail_events = events.value_or(0);
  }
}

}  // namespace

// The order of the reads is the order in which problems are reported.
BatchSpec ReadBatchSpec(const Field& spec) {
  spec.OnlyMembers(
      {"script",         "jobName",       "command",       "account",        "nodes",
       "tasks",          "tasksPerNode",  "tasksPerCore",  "tasksPerSocket", "tasksPerGpu",
       "cpusPerTask",    "cpusPerGpu",    "memoryPerNode", "memoryPerCpu",   "memoryPerGpu",
       "gres",           "gpus",          "gpusPerNode",   "gpusPerTask",    "gpusPerSocket",
       "tresPerTask",    "exclusive",     "features",      "requiredNodes",  "excludedNodes",
       "licenses",       "reservation",   "timeMin",       "signal",         "nice",
       "priority",       "wckey",         "mailType",      "mailUser",       "how",
       "umask",          "limits",        "submitLine",    "allocationOnly", "components",
       "dependency",     "begin",         "deadline",      "killOnInvalidDependency",
       "resources",      "timeLimit",     "array",         "workDir",        "output",
       "error",          "input",         "openMode",      "environment",    "arguments",
       "hold",           "requeue",       "comment",       "submitHost",     "wholeNode"});
  BatchSpec read;
  read.allocation_only = spec["allocationOnly"].BoolOr(false);
  if (!read.allocation_only) CheckScript(spec["script"]);
  read.command = ReadLine(spec["command"], limits::kBatchPathBytes);
  read.job_name = ReadLine(spec["jobName"], limits::kBatchTextBytes);
  if (read.job_name.empty()) read.job_name = BaseName(read.command);
  if (read.job_name.empty()) read.job_name = "sbatch";
  read.account = ReadLine(spec["account"], limits::kBatchTextBytes);
  ReadFiles(spec, &read);
  read.comment = ReadLine(spec["comment"], limits::kBatchTextBytes);
  (void)ReadLine(spec["submitHost"], limits::kBatchTextBytes);
  read.time_limit_s = ReadTimeLimit(spec["timeLimit"], "time");
  read.time_min_s = ReadTimeLimit(spec["timeMin"], "time-min");
  if (read.time_limit_s > 0 && read.time_min_s > read.time_limit_s)
    spec["timeMin"].Fail("Invalid time-min specification (exceeds job's time or other limits)");
  read.features = ReadLine(spec["features"], limits::kBatchTextBytes);
  read.required_nodes = ReadLine(spec["requiredNodes"], limits::kBatchPathBytes);
  read.excluded_nodes = ReadLine(spec["excludedNodes"], limits::kBatchPathBytes);
  read.licenses = ReadLine(spec["licenses"], limits::kBatchTextBytes);
  read.reservation = ReadLine(spec["reservation"], limits::kBatchTextBytes);
  read.wckey = ReadLine(spec["wckey"], limits::kBatchTextBytes);
  read.mail_user = ReadLine(spec["mailUser"], limits::kBatchTextBytes);
  read.submit_line = std::string(spec["submitLine"].StringOr(""));
  read.umask = ReadUmask(spec["umask"]);
  CheckLimits(spec["limits"]);
  ReadNotices(spec, &read);
  ReadHow(spec["how"], &read);
  ReadShown(spec, &read);
  ReadState(spec, &read);
  read.requeue = spec["requeue"].BoolOr(true);
  if (const auto array = spec["array"].String()) {
    const auto tasks = ParseArraySpec(*array);
    if (!tasks.ok()) spec["array"].Fail(tasks.error().detail);
    read.array_spec = *array;
  }
  CheckEnvironment(spec["environment"]);
  CheckArguments(spec["arguments"]);
  read.amounts = ReadBatchAmounts(spec);
  ReadComponents(spec["components"], &read);
  if (!read.components.empty() && !read.array_spec.empty())
    spec["array"].Fail("a heterogeneous job cannot be an array");
  if (read.amounts.gpus > 0) {
    read.gres = "gpu:" + (read.amounts.gpu_type.empty() ? "" : read.amounts.gpu_type + ":") +
                std::to_string(read.amounts.gpus);
  }
  return read;
}

// A relative name is relative to the working directory.
std::string OutputPattern(const BatchSpec& spec) {
  std::string pattern = spec.output;
  if (pattern.empty()) {
    if (spec.work_dir.empty()) return "";
    pattern = spec.array_spec.empty() ? "slurm-%j.out" : "slurm-%A_%a.out";
  }
  if (pattern[0] != '/' && !spec.work_dir.empty()) return spec.work_dir + "/" + pattern;
  return pattern;
}

bool IsShellFunction(std::string_view name) {
  constexpr std::string_view kPrefix = "BASH_FUNC_", kSuffix = "%%";
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return false;
  if (name.size() <= kPrefix.size() + kSuffix.size()) return false;
  return std::none_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) <= 0x20 || c == '=' || c == 0x7f;
  });
}

}  // namespace muster::shapes
