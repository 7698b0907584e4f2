#include "clients/slurm/sbatch_refused.h"

#include <getopt.h>

#include "clients/slurm/sbatch_options.h"

namespace muster::slurm {
namespace {

constexpr char kDependencies[] = "job dependencies are not supported by this version";
constexpr char kNodeChoice[] =
    "choosing nodes by name or feature is not supported; choose a queue with --partition";
constexpr char kLater[] = "not supported by this version";
constexpr char kOneNode[] =
    "layout across sockets, cores and nodes is not supported; a script runs in one allocation";
constexpr char kSignals[] = "signals before the end are not supported by this version";
constexpr char kPriority[] = "priority comes from the priority class; use --qos";

constexpr RefusedOption kRefused[] = {
    {"dependency", 'd', required_argument, kDependencies},
    {"kill-on-invalid-dep", 0, required_argument, kDependencies},
    {"constraint", 'C', required_argument, kNodeChoice},
    {"prefer", 0, required_argument, kNodeChoice},
    {"cluster-constraint", 0, required_argument, kNodeChoice},
    {"nodelist", 'w', required_argument, kNodeChoice},
    {"exclude", 'x', required_argument, kNodeChoice},
    {"nodefile", 'F', required_argument, kNodeChoice},
    {"exclusive", 0, optional_argument, "whole nodes cannot be asked for; ask for CPUs and memory"},
    {"oversubscribe", 's', no_argument, "sharing of CPUs between jobs is not supported"},
    {"overcommit", 'O', no_argument, "sharing of CPUs between tasks is not supported"},
    {"reservation", 0, required_argument, kLater},
    {"begin", 'b', required_argument,
     "deferred starts are not supported by this version; use --hold and scontrol release"},
    {"deadline", 0, required_argument, kLater},
    {"time-min", 0, required_argument, kLater},
    {"delay-boot", 0, required_argument, kLater},
    {"signal", 0, required_argument, kSignals},
    {"nice", 0, optional_argument, kPriority},
    {"priority", 0, required_argument, kPriority},
    {"licenses", 'L', required_argument,
     "licences are not supported; declare them as a resource of a queue and use --gres"},
    {"tmp", 0, required_argument, kLater},
    {"mem-per-gpu", 0, required_argument, "not supported by this version; use --mem"},
    {"cpus-per-gpu", 0, required_argument, "not supported by this version; use --cpus-per-task"},
    {"ntasks-per-gpu", 0, required_argument, kOneNode},
    {"ntasks-per-core", 0, required_argument, kOneNode},
    {"ntasks-per-socket", 0, required_argument, kOneNode},
    {"threads-per-core", 0, required_argument, kOneNode},
    {"cores-per-socket", 0, required_argument, kOneNode},
    {"sockets-per-node", 0, required_argument, kOneNode},
    {"extra-node-info", 'B', required_argument, kOneNode},
    {"gpus-per-socket", 0, required_argument, kOneNode},
    {"mincpus", 0, required_argument, kOneNode},
    {"core-spec", 'S', required_argument, kOneNode},
    {"thread-spec", 0, required_argument, kOneNode},
    {"distribution", 'm', required_argument, kOneNode},
    {"contiguous", 0, no_argument, kOneNode},
    {"switches", 0, required_argument, kOneNode},
    {"spread-job", 0, no_argument, kOneNode},
    {"use-min-nodes", 0, no_argument, kOneNode},
    {"wait-all-nodes", 0, required_argument, kOneNode},
    {"no-kill", 'k', optional_argument, kOneNode},
    {"mem-bind", 0, required_argument, kOneNode},
    {"network", 0, required_argument, kLater},
    {"segment", 0, required_argument, kOneNode},
    {"consolidate-segments", 0, no_argument, kOneNode},
    {"spread-segments", 0, no_argument, kOneNode},
    {"tres-bind", 0, required_argument, kOneNode},
    {"tres-per-task", 0, required_argument,
     "not supported by this version; use --cpus-per-task and --gpus-per-task"},
    {"gpu-bind", 0, required_argument, kLater},
    {"gpu-freq", 0, required_argument, kLater},
    {"gres-flags", 0, required_argument, kLater},
    {"cpu-freq", 0, required_argument, kLater},
    {"acctg-freq", 0, required_argument, kLater},
    {"profile", 0, required_argument, kLater},
    {"power", 0, required_argument, kLater},
    {"reboot", 0, no_argument, kLater},
    {"propagate", 0, optional_argument, kLater},
    {"get-user-env", 0, optional_argument, "the login environment is not rebuilt; use --export"},
    {"export-file", 0, required_argument, "use --export"},
    {"uid", 0, required_argument, "jobs are submitted in the caller's own name"},
    {"gid", 0, required_argument, "jobs are submitted in the caller's own name"},
    {"wckey", 0, required_argument, kLater},
    {"mcs-label", 0, required_argument, kLater},
    {"container", 0, required_argument, kLater},
    {"container-id", 0, required_argument, kLater},
    {"bb", 0, required_argument, kLater},
    {"bbf", 0, required_argument, kLater},
    {"batch", 0, required_argument, kNodeChoice},
};

}  // namespace

std::span<const RefusedOption> RefusedOptions() { return kRefused; }

const RefusedOption* RefusedByLetter(char letter) {
  for (const RefusedOption& refused : kRefused) {
    if (refused.letter != 0 && refused.letter == letter) return &refused;
  }
  return nullptr;
}

std::string_view SbatchHelp() {
  return R"(Usage: sbatch [OPTIONS...] [SCRIPT [ARGUMENTS...]]

What to run:
  SCRIPT                      a file that begins with #!; standard input without it
      --wrap=COMMAND          a shell command instead of a script
  -D, --chdir=DIR             working directory (default: the current one)
  -i, --input=FILE  -o, --output=PATTERN  -e, --error=PATTERN  --open-mode=append|truncate
      --export=ALL|NONE|NIL|VAR,VAR=VALUE,...
Where:
  -p, --partition=QUEUE       a LocalQueue, or NAMESPACE/QUEUE (default: the LocalQueue "default")
  -A, --account=CLUSTERQUEUE  -q, --qos=PRIORITYCLASS
  -M, --clusters=CLUSTER      the one member cluster that it may run on
How much:
  -t, --time=LIMIT  -N, --nodes=N  -n, --ntasks=N  --ntasks-per-node=N  -c, --cpus-per-task=N
      --mem=SIZE  --mem-per-cpu=SIZE  --gres=NAME[:TYPE][:COUNT],...
  -G, --gpus=N  --gpus-per-node=N  --gpus-per-task=N
How:
  -J, --job-name=NAME  --comment=TEXT  -a, --array=INDEXES  -H, --hold  --requeue  --no-requeue
  -W, --wait                  until it has ended; the exit status is the job's
      --parsable              print the id alone
      --test-only             check the request and submit nothing
  -Q, --quiet  -v, --verbose  -h, --help  --usage  -V, --version

Every option may also stand in a #SBATCH line of the script or in a SBATCH_* variable. The command
line wins over the environment, the environment over the script.
)";
}

}  // namespace muster::slurm
