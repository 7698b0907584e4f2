// Another job is found by the environment of its processes, which only their own user may read.
#include "clients/steps/srun/other_job.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "clients/steps/join_variable.h"
#include "clients/steps/proc_file.h"
#include "clients/steps/words.h"

namespace muster::steps {
namespace {

// A job that has just begun to run has its first process soon.
constexpr int kLooks = 20;
constexpr int kLookPauseMs = 50;

// A process by what its environment tells.
struct ProcessOfJob {
  bool of_job = false, of_step = false;
  std::string directory;                 // of steps
  std::vector<std::string> environment;  // SLURM_*, without a step's own
};

ProcessOfJob ReadProcessOfJob(const std::string& text, const std::string& job) {
  ProcessOfJob out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    std::string one = text.substr(at, end - at);
    at = end + 1;
    out.of_job = out.of_job || one == "SLURM_JOB_ID=" + job;
    out.of_step = out.of_step || IsOfAStep(one);
    if (one.starts_with("MUSTER_STEPS_DIR=")) out.directory = one.substr(17);
    if (one.starts_with("SLURM_") && !IsOfAStep(one)) out.environment.push_back(std::move(one));
  }
  return out;
}

bool IsOwn(const std::string& path, struct stat* what) {
  return ::stat(path.c_str(), what) == 0 && what->st_uid == ::geteuid();
}

// The steps directory as this process reaches it; "" if it is not this user's.
std::string Reach(const std::string& process, const std::string& directory) {
  // As that process sees it: its file system may be another one.
  const std::string seen = process + "/root" + directory;
  struct stat there {
  }, here{};
  if (!IsOwn(seen, &there) || !S_ISDIR(there.st_mode)) return "";
  // A path that outlives the process, if it is the same directory.
  const bool same = ::stat(directory.c_str(), &here) == 0 && here.st_ino == there.st_ino &&
                    here.st_dev == there.st_dev;
  return same ? directory : seen;
}

// A process that is of no step is preferred: the variables of a step say less of the job.
bool LookForProcess(const std::string& job, const std::string& attempt, JobPlace* out,
                    std::vector<std::string>* environment) {
  DIR* proc = ::opendir("/proc");
  bool good = false;
  while (const dirent* entry = proc == nullptr ? nullptr : ::readdir(proc)) {
    const auto number = WholeNumber(entry->d_name);
    if (!number) continue;
    const auto pid = static_cast<pid_t>(*number);
    const std::string process = std::string("/proc/") + entry->d_name;
    struct stat what {};
    // Root may read what others have written there, and must not believe it.
    if (!IsOwn(process, &what)) continue;
    ProcessOfJob found = ReadProcessOfJob(ReadProc(pid, "environ"), job);
    if (!found.of_job || !found.directory.ends_with("/" + attempt + "/steps")) continue;
    if (found.of_step && !out->directory.empty()) continue;
    std::string directory = Reach(process, found.directory);
    if (directory.empty()) continue;
    out->directory = std::move(directory);
    *environment = std::move(found.environment);
    good = !found.of_step;
    if (good) break;
  }
  if (proc != nullptr) ::closedir(proc);
  return !out->directory.empty();
}

}  // namespace

std::optional<std::string> TakeAnswer(const std::string& job) {
  const std::vector<std::string> words = SplitWords(EnvironmentText(kJoinVariable));
  ::unsetenv(kJoinVariable);
  if (words.size() != 3 || words[1] != job) return std::nullopt;
  return words[2];
}

std::string AskDaemon(const std::string& command, const std::string& job, char** argv) {
  const std::string program = OwnProgramDirectory() + "/muster-slurm";
  ::setenv(kJoinVariable, (command + " " + job).c_str(), 1);
  std::string name = "srun";
  std::vector<char*> words{name.data()};
  for (char** at = argv + 1; *at != nullptr; ++at) words.push_back(*at);
  words.push_back(nullptr);
  ::execv(program.c_str(), words.data());
  return program + ": " + std::strerror(errno);
}

JobPlace OtherJobPlace(const std::string& job, const std::string& attempt,
                       std::vector<std::string>* environment) {
  JobPlace out;
  out.job = job;
  for (int i = 0; i < kLooks; ++i) {
    if (LookForProcess(job, attempt, &out, environment)) return out;
    ::poll(nullptr, 0, kLookPauseMs);
  }
  out.error =
      "Unable to create step for job " + job + ": no process of it is on this host as this user";
  return out;
}

}  // namespace muster::steps
