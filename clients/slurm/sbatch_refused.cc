// The options of Slurm's sbatch that this version does not support, with their letters and
// arguments as in the manual page. Each is refused with a sentence that names the nearest supported
// option where there is one: an ignored option would run a job in another way than its user asked
// for.
#include "clients/slurm/sbatch_refused.h"

#include <getopt.h>

namespace muster::slurm {
namespace {

constexpr char kDependencies[] = "job dependencies are not supported by this version";
constexpr char kNodeChoice[] =
    "choosing nodes by name or feature is not supported; choose a queue with --partition";
constexpr char kLater[] = "not supported by this version";
constexpr char kOneNode[] =
    "layout across sockets, cores and nodes is not supported; a script runs in one allocation";
constexpr char kSignals[] = "signals before the end are not supported by this version";
constexpr char kPriorityText[] = "priority comes from the priority class; use --qos";

constexpr RefusedOption kRefusedOptions[] = {
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
    {"nice", 0, optional_argument, kPriorityText},
    {"priority", 0, required_argument, kPriorityText},
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

std::span<const RefusedOption> RefusedOptions() { return kRefusedOptions; }

const RefusedOption* RefusedByLetter(char letter) {
  for (const RefusedOption& refused : kRefusedOptions) {
    if (refused.letter != 0 && refused.letter == letter) return &refused;
  }
  return nullptr;
}

}  // namespace muster::slurm
