// Reads the batch script and builds the request.
//
// The script is a file, standard input, or the command of --wrap. The request carries sbatch's
// options as explicit fields, so the server does not read the #SBATCH lines again with another
// precedence. The environment goes along as --export says (rule B11); tokens are left out,
// because the manifest is stored and can be read by others.
#include "clients/slurm/sbatch_request.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "clients/slurm/command.h"
#include "schedd/base/limits.h"

namespace muster::slurm {
namespace {

// Reads at most a little more than the limit, so that CheckScript can tell a script that is too
// long.
bool ReadAll(std::FILE* from, std::string* out) {
  char part[64 << 10];
  while (out->size() <= limits::kScriptBytes) {
    const std::size_t n = std::fread(part, 1, sizeof(part), from);
    out->append(part, n);
    if (n < sizeof(part)) break;
  }
  return std::ferror(from) == 0;
}

bool IsRegularFile(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
}

// The path of a script: a name with a slash or of a file in the working directory as it stands, any
// other searched in PATH (rule B8).
std::string FindScript(const std::string& name) {
  if (name.find('/') != std::string::npos || IsRegularFile(name)) return name;
  std::string path = client::ProcessEnv("PATH");
  std::size_t from = 0;
  while (from < path.size()) {
    std::size_t end = path.find(':', from);
    if (end == std::string::npos) end = path.size();
    std::string candidate = path.substr(from, end - from) + "/" + name;
    if (IsRegularFile(candidate)) return candidate;
    from = end + 1;
  }
  return name;
}

// The checks of Slurm's controller, in its words.
std::optional<OptionError> CheckScript(const std::string& text) {
  const auto refuse = [](const char* message) { return OptionError{message, kExitRefused}; };
  if (text.empty()) return refuse("Batch script is empty!");
  if (text.size() > limits::kScriptBytes) {
    return OptionError{
        "Batch script is longer than " + std::to_string(limits::kScriptBytes) + " bytes",
        kExitRefused};
  }
  if (text.find('\0') != std::string::npos) return refuse("Batch script contains NUL characters");
  if (!text.starts_with("#!")) {
    return refuse(
        "This does not look like a batch script.  The first\n"
        "line must start with #! followed by the path to an interpreter.\n"
        "For instance: #!/bin/sh");
  }
  if (text.find("\r\n") != std::string::npos) {
    return refuse(
        "Batch script contains DOS line breaks (\\r\\n)\ninstead of expected UNIX line breaks "
        "(\\n).");
  }
  return std::nullopt;
}

// Names of shell functions ("BASH_FUNC_x%%") are not variable names and are not exported.
bool IsVariableName(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  for (const char c : name) {
    const bool good =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!good) return false;
  }
  return true;
}

// The tokens of the caller, Muster's and Slurm's own, go into no job, however they are asked for,
// because manifests are stored and shown (rule B11).
bool IsToken(std::string_view name) { return name == "MUSTER_TOKEN" || name == "SLURM_JWT"; }

// Copies the variables of `environment` that `wanted` accepts, without shell functions and without
// tokens.
void CopyVariables(const char* const* environment, json::object* out,
                   bool (*wanted)(std::string_view name)) {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    const std::string_view name = entry.substr(0, equals);
    if (equals == std::string_view::npos || !IsVariableName(name) || IsToken(name)) continue;
    if (wanted(name)) (*out)[name] = entry.substr(equals + 1);
  }
}

bool Any(std::string_view) { return true; }
// SLURM_* variables of the submitting shell are exported whatever --export says, as in Slurm.
bool OnlySlurm(std::string_view name) { return name.starts_with("SLURM_"); }

// Copies the variable `wanted`, which the user named in --export, if it is set.
void CopyOne(const char* const* environment, std::string_view wanted, json::object* out) {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    if (entry.substr(0, equals) == wanted && equals != std::string_view::npos)
      (*out)[wanted] = entry.substr(equals + 1);
  }
}

void AddText(const char* key, const std::optional<std::string>& value, json::object* out) {
  if (value) (*out)[key] = *value;
}
void AddCount(const char* key, const std::optional<std::int64_t>& value, json::object* out) {
  if (value) (*out)[key] = *value;
}

std::string BaseName(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

}  // namespace

// The default job name is the file's name, "sbatch" for standard input, "wrap" for --wrap; the
// words behind the script are its arguments.
std::optional<OptionError> ReadScript(const SbatchOptions& options,
                                      const std::vector<std::string>& operands, ScriptSource* out) {
  if (options.wrap) {
    if (!operands.empty())
      return OptionError{"Script arguments not permitted with --wrap option", kExitRefused};
    out->text = "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n" + *options.wrap + "\n";
    out->name = "wrap";
    return CheckScript(out->text);
  }
  if (operands.empty() || operands[0] == "/dev/stdin") {
    out->name = "sbatch";
    if (!ReadAll(stdin, &out->text))
      return OptionError{"Unable to read the script from standard input", kExitRefused};
  } else {
    const std::string path = FindScript(operands[0]);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                               &std::fclose);
    if (file == nullptr || !ReadAll(file.get(), &out->text)) {
      return OptionError{"Unable to open file " + operands[0], kExitRefused};
    }
    out->name = BaseName(path);
    out->command = path;
  }
  for (std::size_t i = 1; i < operands.size(); ++i) out->arguments.push_back(operands[i]);
  return CheckScript(out->text);
}

// "ALL,X=1" is the whole environment with X set; "X,Y=2" only those two beside SLURM_*; NONE and
// NIL only SLURM_*.
json::object ExportedEnvironment(const std::optional<std::string>& export_list,
                                 const char* const* environment) {
  json::object out;
  const std::string list = export_list.value_or("ALL");
  if (list == "NONE" || list == "NIL") {
    CopyVariables(environment, &out, OnlySlurm);
    return out;
  }
  bool all = false;
  const std::vector<std::string> parts = SplitList(list);
  for (const std::string& part : parts) all = all || part == "ALL";
  CopyVariables(environment, &out, all ? Any : OnlySlurm);
  for (const std::string& part : parts) {
    const std::size_t equals = part.find('=');
    const std::string_view name = std::string_view(part).substr(0, equals);
    if (part == "ALL" || !IsVariableName(name) || IsToken(name)) continue;
    if (equals == std::string::npos)
      CopyOne(environment, part, &out);
    else
      out[part.substr(0, equals)] = part.substr(equals + 1);
  }
  return out;
}

// A relative --chdir is relative to the directory in which sbatch runs.
json::object BuildSubmission(const SbatchOptions& options, const ScriptSource& script,
                             const std::string& queue, const std::string& current_dir,
                             const char* const* environment) {
  json::object out;
  out["script"] = script.text;
  out["name"] = options.job_name.value_or(script.name);
  if (!queue.empty()) out["queue"] = queue;
  AddText("account", options.account, &out);
  AddText("priorityClass", options.qos, &out);
  AddText("cluster", options.cluster, &out);
  AddText("timeLimit", options.time, &out);
  AddCount("nodes", options.nodes, &out);
  AddCount("tasks", options.tasks, &out);
  AddCount("tasksPerNode", options.tasks_per_node, &out);
  AddCount("cpusPerTask", options.cpus_per_task, &out);
  AddText("memoryPerNode", options.memory_per_node, &out);
  AddText("memoryPerCpu", options.memory_per_cpu, &out);
  AddText("gres", options.gres, &out);
  AddText("gpus", options.gpus, &out);
  if (options.gpus_per_task) out["gpus"] = std::to_string(*options.gpus_per_task * *options.tasks);
  AddText("array", options.array, &out);
  AddText("output", options.output, &out);
  AddText("error", options.error, &out);
  AddText("input", options.input, &out);
  AddText("openMode", options.open_mode, &out);
  AddText("comment", options.comment, &out);
  if (!script.command.empty()) out["command"] = script.command;
  std::string dir = options.chdir.value_or(current_dir);
  if (!dir.starts_with('/')) dir = current_dir + "/" + dir;
  out["workDir"] = dir;
  if (options.hold) out["hold"] = true;
  if (options.requeue) out["requeue"] = *options.requeue;
  if (!script.arguments.empty()) out["arguments"] = json::value_from(script.arguments);
  // The member is there even if it is empty. Without it the server would apply an --export that the
  // script itself has.
  out["environment"] = ExportedEnvironment(options.export_list, environment);
  char host[256] = {};
  if (::gethostname(host, sizeof(host) - 1) == 0) out["submitHost"] = host;
  return out;
}

}  // namespace muster::slurm
