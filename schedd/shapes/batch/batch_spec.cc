// Reads the spec field by field. The script's directives are checked for their syntax only:
// BatchScriptManifest has turned them into fields, and in a manifest the fields alone count. A job
// without a name is called like the script's file or, as sbatch does, "sbatch".
#include "schedd/shapes/batch/batch_spec.h"

#include <algorithm>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/shapes/batch/batch_directives.h"
#include "schedd/shapes/batch/array_spec.h"

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
std::int64_t ReadTimeLimit(const Field& field) {
  if (!field.present()) return 0;
  if (field.value()->is_int64()) return field.Int(0, kMinutesMax).value_or(0) * 60;
  const auto seconds = ParseSlurmTime(field.StringOr(""));
  if (!seconds) field.Fail("Invalid --time specification");
  return seconds.value_or(0);
}

// Names as POSIX shells accept them, and values as text.
void CheckEnvironment(const Field& environment) {
  for (const auto& [name, value] : environment.Members()) {
    if (!IsEnvName(name)) value.Fail(std::string("a variable's name ") + kEnvNameRule);
    if (!value.present()) value.Fail("must be a string, not null");
    (void)value.String();
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

}  // namespace

// The order of the reads is the order in which problems are reported.
BatchSpec ReadBatchSpec(const Field& spec) {
  constexpr std::size_t kPathBytes = 4096;
  constexpr std::size_t kTextBytes = 1024;
  spec.OnlyMembers({"script",    "jobName",      "command",     "account",       "nodes",
                    "tasks",     "tasksPerNode", "cpusPerTask", "memoryPerNode", "memoryPerCpu",
                    "gres",      "gpus",         "gpusPerNode", "gpusPerTask",   "resources",
                    "timeLimit", "array",        "workDir",     "output",        "error",
                    "input",     "openMode",     "environment", "arguments",     "hold",
                    "requeue",   "comment",      "submitHost"});
  BatchSpec read;
  CheckScript(spec["script"]);
  read.command = ReadLine(spec["command"], kPathBytes);
  read.job_name = ReadLine(spec["jobName"], kTextBytes);
  if (read.job_name.empty()) read.job_name = BaseName(read.command);
  if (read.job_name.empty()) read.job_name = "sbatch";
  read.account = ReadLine(spec["account"], kTextBytes);
  read.work_dir = ReadLine(spec["workDir"], kPathBytes);
  if (!read.work_dir.empty() && read.work_dir[0] != '/')
    spec["workDir"].Fail("must be an absolute path");
  read.output = ReadLine(spec["output"], kPathBytes);
  read.error = ReadLine(spec["error"], kPathBytes);
  read.input = ReadLine(spec["input"], kPathBytes);
  read.open_mode = spec["openMode"].StringOr("");
  if (read.open_mode == "a") read.open_mode = "append";
  if (read.open_mode == "t") read.open_mode = "truncate";
  if (!read.open_mode.empty() && read.open_mode != "append" && read.open_mode != "truncate") {
    spec["openMode"].Fail("Invalid --open-mode specification");
  }
  read.comment = ReadLine(spec["comment"], kTextBytes);
  (void)ReadLine(spec["submitHost"], kTextBytes);
  read.time_limit_s = ReadTimeLimit(spec["timeLimit"]);
  read.hold = spec["hold"].BoolOr(false);
  read.requeue = spec["requeue"].BoolOr(true);
  if (const auto array = spec["array"].String()) {
    const auto tasks = ParseArraySpec(*array);
    if (!tasks.ok()) spec["array"].Fail(tasks.error().detail);
    read.array_spec = *array;
  }
  CheckEnvironment(spec["environment"]);
  CheckArguments(spec["arguments"]);
  read.amounts = ReadBatchAmounts(spec);
  if (read.amounts.gpus > 0) read.gres = "gpu:" + std::to_string(read.amounts.gpus);
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

}  // namespace muster::shapes
