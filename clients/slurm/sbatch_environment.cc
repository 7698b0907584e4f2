// Variables are taken from this process, from a file of NUL-separated NAME=VALUE, or from a login
// shell that is run for it. Exported functions of bash (BASH_FUNC_module%%) go along with ALL, so
// that `module` works in the job.
#include "clients/slurm/sbatch_environment.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

#include "clients/slurm/command.h"
#include "schedd/shapes/batch/batch_spec.h"

namespace muster::slurm {
namespace {

constexpr std::size_t kEnvironmentBytes = 1 << 20;
constexpr int kLoginSeconds = 10;

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

// SLURM_* variables of the submitting shell are exported whatever --export says, as in Slurm.
bool IsSlurmVariable(std::string_view name) { return name.starts_with("SLURM_"); }

// Adds one NAME=VALUE, if it may go along.
void AddEntry(std::string_view entry, json::object* out) {
  const std::size_t equals = entry.find('=');
  const std::string_view name = entry.substr(0, equals);
  if (equals == std::string_view::npos || IsToken(name)) return;
  if (IsVariableName(name) || shapes::IsShellFunction(name))
    (*out)[name] = entry.substr(equals + 1);
}

// Entries that are separated by NUL.
json::object EntriesOf(std::string_view text) {
  json::object out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    AddEntry(text.substr(0, end), &out);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// Reads until the end or the time is over; false in the latter case.
bool ReadFor(int fd, int seconds, std::string* out) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::seconds(seconds);
  char part[16 << 10];
  while (out->size() < kEnvironmentBytes) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd one{fd, POLLIN, 0};
    if (left <= 0 || ::poll(&one, 1, static_cast<int>(left)) <= 0) return false;
    const ssize_t n = ::read(fd, part, sizeof(part));
    if (n < 0) return false;
    if (n == 0) return true;
    out->append(part, static_cast<std::size_t>(n));
  }
  return false;
}

// "10", "10L", "S" or "" of --get-user-env; -1 if malformed. S and L choose `su -` with or without
// a login shell in Slurm; here it is always a login shell.
int LoginSecondsOf(std::string_view text) {
  if (!text.empty() && (text.back() == 'S' || text.back() == 'L' || text.back() == 's' ||
                        text.back() == 'l'))
    text.remove_suffix(1);
  if (text.empty()) return kLoginSeconds;
  const auto number = ParseCount(text);
  return number && *number > 0 && *number <= 3600 ? static_cast<int>(*number) : -1;
}

}  // namespace

// A value ends where --export ends it, or the word.
std::string WithoutTokenValues(std::string line) {
  for (const std::string_view token : {"MUSTER_TOKEN=", "SLURM_JWT="}) {
    std::size_t at = 0;
    while ((at = line.find(token, at)) != std::string::npos) {
      at += token.size();
      line.erase(at, std::min(line.find_first_of(", ", at), line.size()) - at);
    }
  }
  return line;
}

json::object ExportedEnvironment(const std::optional<std::string>& export_list,
                                 const char* const* environment) {
  json::object all, out;
  for (; environment != nullptr && *environment != nullptr; ++environment)
    AddEntry(*environment, &all);
  const std::string list = export_list.value_or("ALL");
  const std::vector<std::string> parts = SplitList(list);
  const bool nothing = list == "NONE" || list == "NIL";
  bool everything = false;
  for (const std::string& part : parts) everything = everything || part == "ALL";
  for (const auto& variable : all) {
    if ((everything && !nothing) || IsSlurmVariable(variable.key()))
      out[variable.key()] = variable.value();
  }
  if (nothing) return out;
  for (const std::string& part : parts) {
    const std::size_t equals = part.find('=');
    const std::string_view name = std::string_view(part).substr(0, equals);
    if (part == "ALL" || !IsVariableName(name) || IsToken(name)) continue;
    if (equals != std::string::npos)
      out[name] = part.substr(equals + 1);
    else if (const json::value* known = all.if_contains(name))
      out[name] = *known;
  }
  return out;
}

std::optional<json::object> LoginEnvironment(int seconds) {
  const struct passwd* entry = ::getpwuid(::getuid());
  if (entry == nullptr) return std::nullopt;
  const std::string shell =
      entry->pw_shell != nullptr && *entry->pw_shell ? entry->pw_shell : "/bin/sh";
  std::vector<std::string> values = {
      std::string("HOME=") + entry->pw_dir, std::string("USER=") + entry->pw_name,
      std::string("LOGNAME=") + entry->pw_name, "SHELL=" + shell,
      "PATH=/usr/local/bin:/usr/bin:/bin"};
  std::vector<char*> environment;
  for (std::string& value : values) environment.push_back(value.data());
  environment.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const pid_t child = ::fork();
  if (child == 0) {
    // A session of its own, so that what the profile starts can be ended as a whole.
    ::setsid();
    const int null = ::open("/dev/null", O_RDWR);
    if (null >= 0) ::dup2(null, 0), ::dup2(null, 2);
    ::dup2(ends[1], 1);
    if (::chdir(entry->pw_dir) != 0 && ::chdir("/") != 0) ::_exit(127);
    char login[] = "-l", command[] = "-c", text[] = "exec env -0";
    char* argv[] = {const_cast<char*>(shell.c_str()), login, command, text, nullptr};
    ::execve(shell.c_str(), argv, environment.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string text;
  const bool whole = child > 0 && ReadFor(ends[0], seconds, &text);
  ::close(ends[0]);
  if (child > 0) {
    if (!whole) ::kill(-child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  // A profile may print before the variables do: what stands before the first of them is not one.
  json::object out = EntriesOf(text);
  for (const char* own : {"_", "SHLVL", "PWD", "OLDPWD"}) out.erase(own);
  if (!whole || !out.contains("HOME")) return std::nullopt;
  return out;
}

std::optional<OptionError> JobEnvironment(const SbatchOptions& options,
                                          const char* const* environment, json::object* out) {
  const auto value = [&](const char* name) -> std::optional<std::string> {
    const auto found = options.client.find(name);
    return found == options.client.end() ? std::nullopt : std::optional(found->second);
  };
  const std::optional<std::string> list = value("export");
  // srun in the job reads how the job itself was given its environment.
  const auto tell = [&](bool login) {
    if (list) (*out)["SLURM_EXPORT_ENV"] = WithoutTokenValues(*list);
    if (login) (*out)["SLURM_GET_USER_ENV"] = "1";
  };
  if (const auto file = value("export-file")) {
    // A number is an open file descriptor.
    const auto number = ParseCount(*file);
    const std::string path = number ? "/proc/self/fd/" + std::to_string(*number) : *file;
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    std::string text;
    const bool read = fd >= 0 && ReadFor(fd, kLoginSeconds, &text);
    if (fd >= 0) ::close(fd);
    if (!read)
      return OptionError{"Could not open user environment file " + *file, kExitRefused};
    *out = EntriesOf(text);
    tell(false);
    return std::nullopt;
  }
  *out = ExportedEnvironment(list, environment);
  const auto login = value("get-user-env");
  tell(login || list == "NONE");
  if (!login && list != "NONE") return std::nullopt;
  const int seconds = LoginSecondsOf(login.value_or(""));
  if (seconds < 0) return OptionError{"Invalid --get-user-env specification"};
  const std::optional<json::object> variables = LoginEnvironment(seconds);
  if (!variables) {
    return OptionError{"the login shell did not give its environment within " +
                           std::to_string(seconds) + " seconds",
                       kExitRefused};
  }
  for (const auto& variable : *variables) {
    if (login || !out->contains(variable.key())) (*out)[variable.key()] = variable.value();
  }
  return std::nullopt;
}

std::optional<OptionError> PropagatedLimits(std::string_view names, json::object* out) {
  static constexpr std::pair<std::string_view, int> kLimits[] = {
      {"AS", RLIMIT_AS},         {"CORE", RLIMIT_CORE},     {"CPU", RLIMIT_CPU},
      {"DATA", RLIMIT_DATA},     {"FSIZE", RLIMIT_FSIZE},   {"MEMLOCK", RLIMIT_MEMLOCK},
      {"NOFILE", RLIMIT_NOFILE}, {"NPROC", RLIMIT_NPROC},   {"RSS", RLIMIT_RSS},
      {"STACK", RLIMIT_STACK}};
  bool all = false, none = false;
  const std::vector<std::string> words = SplitList(names);
  for (const std::string& word : words) {
    if (word == "ALL") all = true;
    if (word == "NONE") none = true;
    bool known = word == "ALL" || word == "NONE";
    for (const auto& [name, number] : kLimits) known = known || name == word;
    if (!known) {
      return OptionError{"Bad rlimit name: " + word + "\n--propagate=" + std::string(names) +
                             " is not valid.",
                         kExitRefused};
    }
  }
  if (none) return std::nullopt;
  for (const auto& [name, number] : kLimits) {
    bool wanted = all;
    for (const std::string& word : words) wanted = wanted || word == name;
    struct rlimit limit {};
    if (!wanted || ::getrlimit(static_cast<__rlimit_resource>(number), &limit) != 0) continue;
    constexpr rlim_t kMost = 0x7fff'ffff'ffff'ffff;
    (*out)[name] = limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > kMost
                       ? std::int64_t{-1}
                       : static_cast<std::int64_t>(limit.rlim_cur);
  }
  return std::nullopt;
}

std::string CurrentUmask() {
  const mode_t mask = ::umask(022);
  ::umask(mask);
  char text[8];
  std::snprintf(text, sizeof(text), "%04o", static_cast<unsigned>(mask) & 07777);
  return text;
}

}  // namespace muster::slurm
