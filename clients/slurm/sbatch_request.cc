// Reads the batch script and builds the request.
//
// The script is a file, standard input, or the command of --wrap. The request carries sbatch's
// options as explicit fields, so the server does not read the #SBATCH lines again with another
// precedence. The environment goes along as --export says (rule B11); tokens are left out,
// because the manifest is stored and can be read by others.
#include "clients/slurm/sbatch_request.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "clients/slurm/command.h"
#include "clients/slurm/sbatch_environment.h"
#include "clients/slurm/slurm_time.h"
#include "schedd/base/limits.h"
#include "schedd/base/limits_slurm_world.h"
#include "schedd/base/time.h"

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
    return refuse(
        "Batch job submission failed: Pathname of a file, directory or other parameter too long");
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

std::string BaseName(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

// Slurm's notation in local time becomes RFC 3339. A time of day that is over means tomorrow's.
std::optional<OptionError> ResolvePoints(json::object* out) {
  for (const char* name : {"begin", "deadline"}) {
    json::value* field = out->if_contains(name);
    if (field == nullptr || !field->is_string()) continue;
    const std::string text(std::string_view(field->get_string()));
    const std::int64_t now = WallSeconds();
    std::optional<std::int64_t> point = ParsePoint(text, now);
    WallTime exact;
    if (ParseRfc3339(text, &exact)) point = exact.us / kMicrosPerSecond;
    if (!point) {
      return OptionError{"plain: Invalid time specification (pos=0): " + text + "\nInvalid --" +
                         name + " specification"};
    }
    const bool of_today = text.find(':') != std::string::npos && text.size() <= 10 &&
                          text.find_first_of("/-T+") == std::string::npos;
    const bool word = text == "noon" || text == "midnight" || text == "teatime" ||
                      text == "fika" || text == "elevenses";
    if ((of_today || word) && *point < now) *point += 24 * 3600;
    *field = FormatRfc3339(WallTime{SecondsToMicros(*point)});
  }
  return std::nullopt;
}

// As sbatch 22.05 shows a script (search_path): a name that begins with neither / nor . and is
// found in the job's directory becomes an absolute path. The arguments follow, as far as they fit
// on the one line that a request may have for it.
std::string ShownCommand(const ScriptSource& script, const std::string& dir) {
  std::string shown = script.command;
  if (shown[0] != '/' && shown[0] != '.' && IsRegularFile(dir + "/" + shown))
    shown.insert(0, dir + "/");
  for (const std::string& argument : script.arguments) {
    const bool printable = std::none_of(argument.begin(), argument.end(),
                                        [](unsigned char c) { return std::iscntrl(c) != 0; });
    if (!printable || shown.size() + 1 + argument.size() > limits::kBatchPathBytes) break;
    shown += " " + argument;
  }
  return shown;
}

}  // namespace

std::optional<OptionError> AddNodeFile(const std::string& path, json::object* out) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  std::string text;
  if (file == nullptr || !ReadAll(file.get(), &text)) {
    return OptionError{"slurm_allocate_resources error opening file " + path + ", " +
                       std::strerror(errno) + "\nInvalid --nodefile node file"};
  }
  std::string nodes;
  bool gap = true;
  for (const char c : text) {
    const bool separator = c == '\n' || c == ',' || c == ' ' || c == '\t' || c == '\r';
    if (!separator && gap && !nodes.empty()) nodes.push_back(',');
    if (!separator) nodes.push_back(c);
    gap = separator;
  }
  (*out)["requiredNodes"] = nodes;
  return std::nullopt;
}

// The default job name is the file's name, "sbatch" for standard input, "wrap" for --wrap; the
// words behind the script are its arguments.
std::optional<OptionError> ReadScript(const SbatchOptions& options,
                                      const std::vector<std::string>& operands, ScriptSource* out) {
  const auto wrap = options.client.find("wrap");
  if (wrap != options.client.end()) {
    if (!operands.empty())
      return OptionError{"Script arguments not permitted with --wrap option", kExitRefused};
    out->text = "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n" + wrap->second + "\n";
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

// A relative --chdir is relative to the directory in which sbatch runs.
std::optional<OptionError> BuildSubmission(const SbatchOptions& options, const ScriptSource& script,
                                           const SubmitPlace& place, json::object* body) {
  json::object& out = *body;
  out = options.fields;
  out["script"] = script.text;
  if (!out.contains("name")) out["name"] = script.name;
  out.erase("queue");
  if (!place.queue.empty()) out["queue"] = place.queue;
  const json::value* chdir = options.fields.if_contains("workDir");
  std::string dir = chdir == nullptr ? place.current_dir
                                     : std::string(std::string_view(chdir->get_string()));
  if (!dir.starts_with('/')) dir = place.current_dir + "/" + dir;
  out["workDir"] = dir;
  if (!script.command.empty()) out["command"] = ShownCommand(script, dir);
  if (!script.arguments.empty()) out["arguments"] = json::value_from(script.arguments);
  // The member is there even if it is empty. Without it the server would apply an --export that the
  // script itself has.
  json::object environment;
  if (auto error = JobEnvironment(options, place.environment, &environment)) return error;
  out["environment"] = std::move(environment);
  if (auto error = ResolvePoints(&out)) return error;
  const auto nodefile = options.client.find("nodefile");
  if (nodefile != options.client.end()) {
    if (auto error = AddNodeFile(nodefile->second, &out)) return error;
  }
  json::object limits;
  const json::value* how = out.if_contains("how");
  std::string propagate = "ALL";
  if (how != nullptr && how->is_object()) {
    if (const json::value* names = how->get_object().if_contains("propagate"))
      propagate = std::string_view(names->get_string());
  }
  if (auto error = PropagatedLimits(propagate, &limits)) return error;
  if (!limits.empty()) out["limits"] = std::move(limits);
  // SLURM_UMASK stands for the umask of the job.
  const std::string umask = client::ProcessEnv("SLURM_UMASK");
  out["umask"] = umask.empty() ? CurrentUmask() : umask;
  if (!place.submit_line.empty()) out["submitLine"] = WithoutTokenValues(place.submit_line);
  char host[256] = {};
  if (::gethostname(host, sizeof(host) - 1) == 0) out["submitHost"] = host;
  return std::nullopt;
}

}  // namespace muster::slurm
