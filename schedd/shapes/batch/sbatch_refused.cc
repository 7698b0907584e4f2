// The table of refused options, sorted by name.
#include "schedd/shapes/batch/sbatch_refused.h"

namespace muster::shapes {
namespace {

constexpr std::string_view kLater = "is not supported by this version";
constexpr std::string_view kDependencies = "job dependencies are not supported by this version";
constexpr std::string_view kMachines =
    "machines cannot be chosen by name or feature; choose a queue with --partition";
constexpr std::string_view kLayout =
    "layout across sockets, cores and nodes is not supported: a script runs in one allocation";
constexpr std::string_view kPriority = "priority comes from the priority class; use --qos";
constexpr std::string_view kOwnName = "jobs are submitted in the caller's own name";
constexpr std::string_view kCommandLine = "belongs on the command line, not into a script";

constexpr RefusedSbatchOption kRefused[] = {
    {"acctg-freq", 0, kLater},
    {"batch", 0, kMachines},
    {"bb", 0, kLater},
    {"bbf", 0, kLater},
    {"begin", 'b',
     "deferred starts are not supported by this version; use --hold and scontrol release"},
    {"cluster-constraint", 0, kMachines},
    {"constraint", 'C', kMachines},
    {"container", 0, kLater},
    {"contiguous", 0, kLayout},
    {"core-spec", 'S', kLayout},
    {"cores-per-socket", 0, kLayout},
    {"cpu-freq", 0, kLater},
    {"cpus-per-gpu", 0, "is not supported by this version; use --cpus-per-task"},
    {"deadline", 0, kLater},
    {"delay-boot", 0, kLater},
    {"dependency", 'd', kDependencies},
    {"distribution", 'm', kLayout},
    {"exclude", 'x', kMachines},
    {"exclusive", 0, "whole nodes cannot be asked for; ask for CPUs and memory"},
    {"export-file", 0, "use --export"},
    {"extra-node-info", 'B', kLayout},
    {"get-user-env", 0, "the login environment is not rebuilt; use --export"},
    {"gid", 0, kOwnName},
    {"gpu-bind", 0, kLater},
    {"gpu-freq", 0, kLater},
    {"gpus-per-socket", 0, kLayout},
    {"gres-flags", 0, kLater},
    {"help", 'h', kCommandLine},
    {"kill-on-invalid-dep", 0, kDependencies},
    {"licenses", 'L',
     "licences are not supported; declare them as a resource of a queue and use --gres"},
    {"mcs-label", 0, kLater},
    {"mem-bind", 0, kLater},
    {"mem-per-gpu", 0, "is not supported by this version; use --mem"},
    {"mincpus", 0, kLayout},
    {"network", 0, kLater},
    {"nice", 0, kPriority},
    {"no-kill", 'k', kLayout},
    {"nodefile", 'F', kMachines},
    {"nodelist", 'w', kMachines},
    {"ntasks-per-core", 0, kLayout},
    {"ntasks-per-gpu", 0, kLayout},
    {"ntasks-per-socket", 0, kLayout},
    {"overcommit", 'O', "sharing CPUs between tasks is not supported"},
    {"oversubscribe", 's', "sharing CPUs between jobs is not supported"},
    {"power", 0, kLater},
    {"prefer", 0, kMachines},
    {"priority", 0, kPriority},
    {"profile", 0, kLater},
    {"propagate", 0, kLater},
    {"reboot", 0, kLater},
    {"reservation", 0, kLater},
    {"signal", 0, "signals before the end are not supported by this version"},
    {"sockets-per-node", 0, kLayout},
    {"spread-job", 0, kLayout},
    {"switches", 0, kLayout},
    {"test-only", 0, kCommandLine},
    {"thread-spec", 0, kLayout},
    {"threads-per-core", 0, kLayout},
    {"time-min", 0, kLater},
    {"tmp", 0, kLater},
    {"uid", 0, kOwnName},
    {"usage", 0, kCommandLine},
    {"use-min-nodes", 0, kLayout},
    {"version", 'V', kCommandLine},
    {"wait-all-nodes", 0, kLayout},
    {"wckey", 0, kLater},
    {"wrap", 0, kCommandLine},
};

}  // namespace

std::span<const RefusedSbatchOption> RefusedSbatchOptions() { return kRefused; }

}  // namespace muster::shapes
