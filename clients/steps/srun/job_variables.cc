// A process keeps in /proc the environment that it was started with, also if it has unset variables
// since.
#include "clients/steps/srun/job_variables.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "clients/steps/proc_file.h"
#include "clients/steps/srun/connect.h"
#include "clients/steps/words.h"

namespace muster::steps {
namespace {

// More processes than these above one another are no script's.
constexpr int kMostParents = 256;

// Those that tell of the nodes of a job. Others, such as SLURM_NTASKS, stand for options of srun:
// who has unset them does not want them.
bool TellsOfNodes(std::string_view variable) {
  for (const std::string_view name :
       {"SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES", "SLURM_JOB_CPUS_PER_NODE", "SLURM_MEM_PER_NODE",
        "SLURM_MEM_PER_CPU", "SLURM_HET_SIZE"}) {
    if (!variable.starts_with(name)) continue;
    const std::string_view rest = variable.substr(name.size());
    if (rest.starts_with('=') || rest.starts_with("_HET_GROUP_")) return true;
  }
  return false;
}

// The parent of a process: the second word behind the command's name, which may hold anything.
pid_t ParentOf(pid_t pid) {
  const std::string stat = ReadProc(pid, "stat");
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  const std::vector<std::string> words = SplitWords(stat.substr(name_end + 1));
  return words.size() < 2 ? 0 : static_cast<pid_t>(WholeNumber(words[1]).value_or(0));
}

}  // namespace

void RestoreJobVariables() {
  const std::string job = "SLURM_JOB_ID=" + EnvironmentText("SLURM_JOB_ID");
  const std::string directory = "MUSTER_STEPS_DIR=" + EnvironmentText("MUSTER_STEPS_DIR");
  if (job.ends_with('=') || directory.ends_with('=')) return;
  if (!EnvironmentText("SLURM_JOB_NODELIST").empty() || !EnvironmentText("SLURM_HET_SIZE").empty())
    return;
  pid_t pid = ::getppid();
  for (int i = 0; i < kMostParents && pid > 1; ++i, pid = ParentOf(pid)) {
    const std::string environment = ReadProc(pid, "environ");
    bool same_job = false, same_directory = false;
    std::vector<std::string> found;
    for (std::size_t at = 0; at < environment.size();) {
      const std::size_t end = std::min(environment.find('\0', at), environment.size());
      std::string one = environment.substr(at, end - at);
      at = end + 1;
      same_job = same_job || one == job;
      same_directory = same_directory || one == directory;
      if (TellsOfNodes(one)) found.push_back(std::move(one));
    }
    if (!same_job || !same_directory || found.empty()) continue;
    for (const std::string& one : found) {
      const auto sign = one.find('=');
      ::setenv(one.substr(0, sign).c_str(), one.c_str() + sign + 1, 0);
    }
    return;
  }
}

}  // namespace muster::steps
