// The table: name, letter, argument, meaning, and the field, kept name or sentence.
#include "schedd/shapes/batch/sbatch_table.h"

namespace muster::shapes {
namespace {

using A = SbatchArgument;
using M = SbatchMeaning;

constexpr std::string_view kNodeOfOne =
    "the features of one node alone cannot be chosen; use --constraint";
constexpr std::string_view kBurst = "burst buffers do not exist here; use a shared directory";
constexpr std::string_view kContainers =
    "containers are chosen by the queue's image; start one inside the script";
constexpr std::string_view kReserved =
    "CPUs cannot be taken from a node's reserve; ask for the CPUs that the job needs";

constexpr SbatchOption kSbatchTable[] = {
    {"account", 'A', A::kRequired, M::kText, "account"},
    {"acctg-freq", 0, A::kRequired, M::kHow, "acctg-freq"},
    {"array", 'a', A::kRequired, M::kArray, "array"},
    {"batch", 0, A::kRequired, M::kRefused, kNodeOfOne},
    {"bb", 0, A::kRequired, M::kRefused, kBurst},
    {"bbf", 0, A::kRequired, M::kRefused, kBurst},
    {"begin", 'b', A::kRequired, M::kText, "begin"},
    {"chdir", 'D', A::kRequired, M::kText, "workDir"},
    {"cluster", 0, A::kRequired, M::kText, "cluster"},
    {"cluster-constraint", 0, A::kRequired, M::kRefused,
     "clusters are not chosen by feature; use --clusters, or a placement"},
    {"clusters", 'M', A::kRequired, M::kText, "cluster"},
    {"comment", 0, A::kRequired, M::kText, "comment"},
    {"consolidate-segments", 0, A::kNone, M::kHowFlag, "consolidate-segments"},
    {"constraint", 'C', A::kRequired, M::kText, "features"},
    {"container", 0, A::kRequired, M::kRefused, kContainers},
    {"container-id", 0, A::kRequired, M::kRefused, kContainers},
    {"contiguous", 0, A::kNone, M::kHowFlag, "contiguous"},
    {"core-spec", 'S', A::kRequired, M::kRefused, kReserved},
    {"cores-per-socket", 0, A::kRequired, M::kHowCount, "cores-per-socket"},
    {"cpu-freq", 0, A::kRequired, M::kHow, "cpu-freq"},
    {"cpus-per-gpu", 0, A::kRequired, M::kCount, "cpusPerGpu"},
    {"cpus-per-task", 'c', A::kRequired, M::kCount, "cpusPerTask"},
    {"deadline", 0, A::kRequired, M::kText, "deadline"},
    {"delay-boot", 0, A::kRequired, M::kHowTime, "delay-boot"},
    {"dependency", 'd', A::kRequired, M::kText, "dependency"},
    {"distribution", 'm', A::kRequired, M::kHowDistribution, "distribution"},
    {"error", 'e', A::kRequired, M::kText, "error"},
    {"exclude", 'x', A::kRequired, M::kText, "excludedNodes"},
    {"exclusive", 0, A::kOptional, M::kExclusive, "exclusive"},
    {"export", 0, A::kRequired, M::kClient, "export"},
    {"export-file", 0, A::kRequired, M::kClient, "export-file"},
    {"extra", 0, A::kRequired, M::kHow, "extra"},
    {"extra-node-info", 'B', A::kRequired, M::kHowNodeInfo, "extra-node-info"},
    {"get-user-env", 0, A::kOptional, M::kClient, "get-user-env"},
    {"gid", 0, A::kRequired, M::kClient, "gid"},
    {"gpu-bind", 0, A::kRequired, M::kHow, "gpu-bind"},
    {"gpu-freq", 0, A::kRequired, M::kHow, "gpu-freq"},
    {"gpus", 'G', A::kRequired, M::kGpus, "gpus"},
    {"gpus-per-node", 0, A::kRequired, M::kGpus, "gpusPerNode"},
    {"gpus-per-socket", 0, A::kRequired, M::kGpus, "gpusPerSocket"},
    {"gpus-per-task", 0, A::kRequired, M::kGpus, "gpusPerTask"},
    {"gres", 0, A::kRequired, M::kGres, "gres"},
    {"gres-flags", 0, A::kRequired, M::kHowGresFlags, "gres-flags"},
    {"help", 'h', A::kNone, M::kClientFlag, "help"},
    {"hint", 0, A::kRequired, M::kHowHint, "hint"},
    {"hold", 'H', A::kNone, M::kTrue, "hold"},
    {"ignore-pbs", 0, A::kNone, M::kClientFlag, "ignore-pbs"},
    {"input", 'i', A::kRequired, M::kText, "input"},
    {"job-name", 'J', A::kRequired, M::kText, "name"},
    {"kill-on-invalid-dep", 0, A::kRequired, M::kYesNo, "killOnInvalidDependency"},
    {"licenses", 'L', A::kRequired, M::kText, "licenses"},
    {"mail-type", 0, A::kRequired, M::kMailType, "mailType"},
    {"mail-user", 0, A::kRequired, M::kText, "mailUser"},
    {"mcs-label", 0, A::kRequired, M::kHow, "mcs-label"},
    {"mem", 0, A::kRequired, M::kMemory, "memoryPerNode"},
    {"mem-bind", 0, A::kRequired, M::kHow, "mem-bind"},
    {"mem-per-cpu", 0, A::kRequired, M::kMemory, "memoryPerCpu"},
    {"mem-per-gpu", 0, A::kRequired, M::kMemory, "memoryPerGpu"},
    {"mincpus", 0, A::kRequired, M::kHowCount, "mincpus"},
    {"network", 0, A::kRequired, M::kRefused,
     "the network of a job cannot be chosen; ask for an adapter's resource with --gres"},
    {"nice", 0, A::kOptional, M::kNice, "nice"},
    {"no-kill", 'k', A::kOptional, M::kHowNoKill, "no-kill"},
    {"no-requeue", 0, A::kNone, M::kFalse, "requeue"},
    {"nodefile", 'F', A::kRequired, M::kClient, "nodefile"},
    {"nodelist", 'w', A::kRequired, M::kText, "requiredNodes"},
    {"nodes", 'N', A::kRequired, M::kNodes, "nodes"},
    {"ntasks", 'n', A::kRequired, M::kCount, "tasks"},
    {"ntasks-per-core", 0, A::kRequired, M::kCount, "tasksPerCore"},
    {"ntasks-per-gpu", 0, A::kRequired, M::kCount, "tasksPerGpu"},
    {"ntasks-per-node", 0, A::kRequired, M::kCount, "tasksPerNode"},
    {"ntasks-per-socket", 0, A::kRequired, M::kCount, "tasksPerSocket"},
    {"oom-kill-step", 0, A::kOptional, M::kHow, "oom-kill-step"},
    {"open-mode", 0, A::kRequired, M::kOpenMode, "openMode"},
    {"output", 'o', A::kRequired, M::kText, "output"},
    {"overcommit", 'O', A::kNone, M::kHowFlag, "overcommit"},
    {"oversubscribe", 's', A::kNone, M::kHowFlag, "oversubscribe"},
    {"parsable", 0, A::kNone, M::kClientFlag, "parsable"},
    {"partition", 'p', A::kRequired, M::kText, "queue"},
    {"power", 0, A::kRequired, M::kHow, "power"},
    {"prefer", 0, A::kRequired, M::kHow, "prefer"},
    {"priority", 0, A::kRequired, M::kPriority, "priority"},
    {"profile", 0, A::kRequired, M::kHowProfile, "profile"},
    {"propagate", 0, A::kOptional, M::kPropagate, "propagate"},
    {"qos", 'q', A::kRequired, M::kText, "priorityClass"},
    {"quiet", 'Q', A::kNone, M::kClientFlag, "quiet"},
    {"reboot", 0, A::kNone, M::kRefused, "nodes are not rebooted for a job"},
    {"requeue", 0, A::kOptional, M::kRequeue, "requeue"},
    {"reservation", 0, A::kRequired, M::kText, "reservation"},
    {"resources", 0, A::kRequired, M::kRefused,
     "named resources of several clusters do not exist here; use --licenses or --gres"},
    {"resv-ports", 0, A::kOptional, M::kRefused,
     "ports are not reserved for a job; let it choose a free one"},
    {"segment", 0, A::kRequired, M::kHowCount, "segment"},
    {"share", 0, A::kNone, M::kHowFlag, "oversubscribe"},
    {"signal", 0, A::kRequired, M::kSignal, "signal"},
    {"sockets-per-node", 0, A::kRequired, M::kHowCount, "sockets-per-node"},
    {"spread-job", 0, A::kNone, M::kHowFlag, "spread-job"},
    {"spread-segments", 0, A::kNone, M::kHowFlag, "spread-segments"},
    {"stepmgr", 0, A::kNone, M::kHowFlag, "stepmgr"},
    {"switches", 0, A::kRequired, M::kHowSwitches, "switches"},
    {"tasks", 0, A::kRequired, M::kCount, "tasks"},
    {"tasks-per-node", 0, A::kRequired, M::kCount, "tasksPerNode"},
    {"test-only", 0, A::kNone, M::kClientFlag, "test-only"},
    {"thread-spec", 0, A::kRequired, M::kRefused, kReserved},
    {"threads-per-core", 0, A::kRequired, M::kHowCount, "threads-per-core"},
    {"time", 't', A::kRequired, M::kTime, "timeLimit"},
    {"time-min", 0, A::kRequired, M::kTime, "timeMin"},
    {"tmp", 0, A::kRequired, M::kRefused,
     "the temporary disk of nodes is not counted; ask for it with --gres as a resource of the "
     "queue"},
    {"tres-bind", 0, A::kRequired, M::kHow, "tres-bind"},
    {"tres-per-task", 0, A::kRequired, M::kText, "tresPerTask"},
    {"uid", 0, A::kRequired, M::kClient, "uid"},
    {"usage", 0, A::kNone, M::kClientFlag, "usage"},
    {"use-min-nodes", 0, A::kNone, M::kHowFlag, "use-min-nodes"},
    {"verbose", 'v', A::kNone, M::kClientFlag, "verbose"},
    {"version", 'V', A::kNone, M::kClientFlag, "version"},
    {"wait", 'W', A::kNone, M::kClientFlag, "wait"},
    {"wait-all-nodes", 0, A::kRequired, M::kHowNumber, "wait-all-nodes"},
    {"wckey", 0, A::kRequired, M::kText, "wckey"},
    {"workdir", 0, A::kRequired, M::kText, "workDir"},
    {"wrap", 0, A::kRequired, M::kClient, "wrap"},
};

}  // namespace

std::span<const SbatchOption> SbatchOptions() { return kSbatchTable; }

const SbatchOption* FindSbatchOption(std::string_view name) {
  for (const SbatchOption& option : kSbatchTable) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

const SbatchOption* FindSbatchLetter(char letter) {
  for (const SbatchOption& option : kSbatchTable) {
    if (option.letter != 0 && option.letter == letter) return &option;
  }
  return nullptr;
}

}  // namespace muster::shapes
