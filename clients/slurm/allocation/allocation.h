// Allocations without a script, which salloc and srun outside a job make (rules B46, B47). The
// job's first node runs an agent that connects to a socket of this process; when this process ends,
// in whatever way, the connection ends and the agent ends the job.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "clients/lib/api_client.h"
#include "clients/steps/messages.h"
#include "clients/steps/option_table.h"
#include "clients/steps/wire.h"
#include "schedd/text/json.h"

namespace muster::slurm {

/// The fields of a batch script's manifest that the options stand for; the components behind the
/// first one go into `components`. `current_dir` is where the command runs. Pure.
json::object AllocationFields(const std::vector<steps::OptionValues>& components,
                              const std::string& current_dir, const std::string& name);

/// The options of each component; words are split at ":" alone. Prints an error and gives its exit
/// status.
std::optional<int> ReadAllocationOptions(steps::Tool tool, int argc, char** argv,
                                         std::vector<steps::OptionValues>* out);

/// A socket in a private directory that only this user reaches; removed when it is destroyed.
class ClientSocket {
 public:
  ClientSocket();
  ~ClientSocket();
  ClientSocket(const ClientSocket&) = delete;
  ClientSocket& operator=(const ClientSocket&) = delete;
  const std::string& path() const { return path_; }
  int fd() const { return socket_.get(); }

 private:
  std::string directory_, path_;
  steps::Descriptor socket_;
};

/// What an allocation has become.
struct Allocation {
  std::int64_t job = 0;
  std::unique_ptr<steps::Channel> agent;
  steps::AllocationReady ready;
};

/// Submits the job and waits until its agent has connected, with Slurm's words on stderr. The
/// result is empty after an error; then `*exit` is the command's exit status and the job is
/// cancelled.
std::optional<Allocation> Allocate(const char* command,
                                   const std::vector<steps::OptionValues>& components,
                                   const std::string& name, int signals, int* exit);

/// Sets the variables of the job in this process: SLURM_* but for those of a single task, and what
/// srun needs to find the agents.
void EnterAllocation(const Allocation& allocation);

/// The path of muster-srun.
std::string StepProgram();

/// Blocks the signals that end the waiting for an allocation; the result is read for them.
steps::Descriptor WatchAllocationSignals();
/// Takes that back, before another program runs.
void ForgetAllocationSignals();

}  // namespace muster::slurm
