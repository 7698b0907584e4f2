// The table of sbatch's environment variables and the options that they stand for, in alphabetical
// order. A variable is read or refused as its option is, so there is no second list of what is
// supported.
#include "clients/slurm/sbatch_variables.h"

#include <string>

#include "schedd/shapes/batch/sbatch_table.h"

namespace muster::slurm {
namespace {

// The SLURM_* variables come first, so that the SBATCH_* of the same option wins.
constexpr OptionVariable kVariables[] = {
    {"SLURM_CLUSTERS", "clusters"},
    {"SLURM_HINT", "hint"},
    {"SBATCH_ACCOUNT", "account"},
    {"SBATCH_ACCTG_FREQ", "acctg-freq"},
    {"SBATCH_ARRAY_INX", "array"},
    {"SBATCH_BATCH", "batch"},
    {"SBATCH_BURST_BUFFER", "bb"},
    {"SBATCH_CLUSTERS", "clusters"},
    {"SBATCH_CLUSTER_CONSTRAINT", "cluster-constraint"},
    {"SBATCH_CONSOLIDATE_SEGMENTS", "consolidate-segments"},
    {"SBATCH_CONSTRAINT", "constraint"},
    {"SBATCH_CONTAINER", "container"},
    {"SBATCH_CONTAINER_ID", "container-id"},
    {"SBATCH_CORE_SPEC", "core-spec"},
    {"SBATCH_CPU_FREQ_REQ", "cpu-freq"},
    {"SBATCH_CPUS_PER_GPU", "cpus-per-gpu"},
    {"SBATCH_CPUS_PER_TASK", "cpus-per-task"},
    {"SBATCH_DEBUG", "verbose"},
    {"SBATCH_DELAY_BOOT", "delay-boot"},
    {"SBATCH_DISTRIBUTION", "distribution"},
    {"SBATCH_ERROR", "error"},
    {"SBATCH_EXCLUSIVE", "exclusive"},
    {"SBATCH_EXPORT", "export"},
    {"SBATCH_GET_USER_ENV", "get-user-env"},
    {"SBATCH_GPUS", "gpus"},
    {"SBATCH_GPUS_PER_NODE", "gpus-per-node"},
    {"SBATCH_GPUS_PER_SOCKET", "gpus-per-socket"},
    {"SBATCH_GPUS_PER_TASK", "gpus-per-task"},
    {"SBATCH_GPU_BIND", "gpu-bind"},
    {"SBATCH_GPU_FREQ", "gpu-freq"},
    {"SBATCH_GRES", "gres"},
    {"SBATCH_GRES_FLAGS", "gres-flags"},
    {"SBATCH_HINT", "hint"},
    {"SBATCH_IGNORE_PBS", "ignore-pbs"},
    {"SBATCH_INPUT", "input"},
    {"SBATCH_JOB_NAME", "job-name"},
    {"SBATCH_MEM_BIND", "mem-bind"},
    {"SBATCH_MEM_PER_CPU", "mem-per-cpu"},
    {"SBATCH_MEM_PER_GPU", "mem-per-gpu"},
    {"SBATCH_MEM_PER_NODE", "mem"},
    {"SBATCH_NETWORK", "network"},
    {"SBATCH_NO_KILL", "no-kill"},
    {"SBATCH_NO_REQUEUE", "no-requeue"},
    {"SBATCH_OPEN_MODE", "open-mode"},
    {"SBATCH_OUTPUT", "output"},
    {"SBATCH_OVERCOMMIT", "overcommit"},
    {"SBATCH_PARTITION", "partition"},
    {"SBATCH_POWER", "power"},
    {"SBATCH_PROFILE", "profile"},
    {"SBATCH_QOS", "qos"},
    {"SBATCH_REQUEUE", "requeue"},
    {"SBATCH_REQ_SWITCH", "switches"},
    {"SBATCH_RESERVATION", "reservation"},
    {"SBATCH_SEGMENT_SIZE", "segment"},
    {"SBATCH_SIGNAL", "signal"},
    {"SBATCH_SPREAD_JOB", "spread-job"},
    {"SBATCH_SPREAD_SEGMENTS", "spread-segments"},
    {"SBATCH_THREADS_PER_CORE", "threads-per-core"},
    {"SBATCH_THREAD_SPEC", "thread-spec"},
    {"SBATCH_TIMELIMIT", "time"},
    {"SBATCH_TRES_BIND", "tres-bind"},
    {"SBATCH_TRES_PER_TASK", "tres-per-task"},
    {"SBATCH_USE_MIN_NODES", "use-min-nodes"},
    {"SBATCH_WAIT", "wait"},
    {"SBATCH_WAIT4SWITCH", "switches"},
    {"SBATCH_WAIT_ALL_NODES", "wait-all-nodes"},
    {"SBATCH_WCKEY", "wckey"},
};

}  // namespace

std::span<const OptionVariable> SbatchOptionVariables() { return kVariables; }

std::vector<Variable> SbatchVariables() {
  std::vector<Variable> out;
  for (const OptionVariable& variable : kVariables) {
    const shapes::SbatchOption* option = shapes::FindSbatchOption(variable.option);
    const bool read = option != nullptr && option->meaning != shapes::SbatchMeaning::kRefused;
    out.push_back({variable.name, read ? VariableUse::kRead : VariableUse::kRefused,
                   read ? std::string("--") + variable.option : std::string(option->field)});
  }
  return out;
}

}  // namespace muster::slurm
