// srun outside a job. With --jobid it enters a job that is there (join.h); else it makes an
// allocation and becomes muster-srun inside it, with the connection that keeps the allocation left
// open (rule B46).
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "clients/slurm/allocation/allocation.h"
#include "clients/slurm/allocation/join.h"
#include "clients/slurm/command.h"
#include "clients/steps/join_variable.h"

namespace muster::slurm {
// muster-srun lies beside this program.
std::string StepProgram() {
  char path[4096];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof(path));
  const std::string whole(path, size < 0 ? 0 : static_cast<std::size_t>(size));
  return whole.substr(0, whole.rfind('/')) + "/muster-srun";
}

int RunSrun(int argc, char** argv) {
  const std::string join = client::ProcessEnv(steps::kJoinVariable);
  if (!join.empty()) return JoinJob(join, argv);
  std::vector<steps::OptionValues> components;
  if (const auto exit = ReadAllocationOptions(steps::Tool::kSrun, argc, argv, &components))
    return *exit;
  if (components.front().Has("help") || components.front().Has("usage"))
    return WriteOut(steps::OptionHelp(steps::Tool::kSrun)), 0;
  if (components.front().Has("version")) return WriteOut(kVersionLine), 0;
  if (components.front().command.empty()) {
    std::fputs("srun: fatal: No command given to execute.\n", stderr);
    return ErrorExit(kExitRefused);
  }
  const steps::Descriptor signals = WatchAllocationSignals();
  int exit = 0;
  std::optional<Allocation> allocation = Allocate("srun", components, "srun", signals.get(), &exit);
  if (!allocation) return exit;
  EnterAllocation(*allocation);
  ForgetAllocationSignals();
  const int fd = ::fcntl(allocation->agent->fd(), F_DUPFD, 3);
  ::setenv("MUSTER_ALLOCATION_FD", std::to_string(fd).c_str(), 1);
  const std::string program = StepProgram();
  ::execv(program.c_str(), argv);
  return Fail("srun", program + ": " + std::strerror(errno));
}

}  // namespace muster::slurm
