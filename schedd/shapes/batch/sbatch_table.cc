// The table: name, letter, argument, meaning, and the field, kept name or sentence.
#include "schedd/shapes/batch/sbatch_table.h"

namespace muster::shapes {
namespace {

using Arg = SbatchArgument;
using Does = SbatchMeaning;

constexpr std::string_view kNodeOfOne =
    "the features of one node alone cannot be chosen; use --constraint";
constexpr std::string_view kBurst = "burst buffers do not exist here; use a shared directory";
constexpr std::string_view kContainers =
    "containers are chosen by the queue's image; start one inside the script";
constexpr std::string_view kReserved =
    "CPUs cannot be taken from a node's reserve; ask for the CPUs that the job needs";

constexpr SbatchOption kSbatchTable[] = {
    {"account", 'A', Arg::kRequired, Does::kText, "account"},
    {"acctg-freq", 0, Arg::kRequired, Does::kHow, "acctg-freq"},
    {"array", 'a', Arg::kRequired, Does::kArray, "array"},
    {"batch", 0, Arg::kRequired, Does::kRefused, kNodeOfOne},
    {"bb", 0, Arg::kRequired, Does::kRefused, kBurst},
    {"bbf", 0, Arg::kRequired, Does::kRefused, kBurst},
    {"begin", 'b', Arg::kRequired, Does::kText, "begin"},
    {"chdir", 'D', Arg::kRequired, Does::kText, "workDir"},
    {"cluster", 0, Arg::kRequired, Does::kText, "cluster"},
    {"cluster-constraint", 0, Arg::kRequired, Does::kRefused,
     "clusters are not chosen by feature; use --clusters, or a placement"},
    {"clusters", 'M', Arg::kRequired, Does::kText, "cluster"},
    {"comment", 0, Arg::kRequired, Does::kText, "comment"},
    {"consolidate-segments", 0, Arg::kNone, Does::kHowFlag, "consolidate-segments"},
    {"constraint", 'C', Arg::kRequired, Does::kText, "features"},
    {"container", 0, Arg::kRequired, Does::kRefused, kContainers},
    {"container-id", 0, Arg::kRequired, Does::kRefused, kContainers},
    {"contiguous", 0, Arg::kNone, Does::kHowFlag, "contiguous"},
    {"core-spec", 'S', Arg::kRequired, Does::kRefused, kReserved},
    {"cores-per-socket", 0, Arg::kRequired, Does::kHowCount, "cores-per-socket"},
    {"cpu-freq", 0, Arg::kRequired, Does::kHow, "cpu-freq"},
    {"cpus-per-gpu", 0, Arg::kRequired, Does::kCount, "cpusPerGpu"},
    {"cpus-per-task", 'c', Arg::kRequired, Does::kCount, "cpusPerTask"},
    {"deadline", 0, Arg::kRequired, Does::kText, "deadline"},
    {"delay-boot", 0, Arg::kRequired, Does::kHowTime, "delay-boot"},
    {"dependency", 'd', Arg::kRequired, Does::kText, "dependency"},
    {"distribution", 'm', Arg::kRequired, Does::kHowDistribution, "distribution"},
    {"error", 'e', Arg::kRequired, Does::kText, "error"},
    {"exclude", 'x', Arg::kRequired, Does::kText, "excludedNodes"},
    {"exclusive", 0, Arg::kOptional, Does::kExclusive, "exclusive"},
    {"export", 0, Arg::kRequired, Does::kClient, "export"},
    {"export-file", 0, Arg::kRequired, Does::kClient, "export-file"},
    {"extra", 0, Arg::kRequired, Does::kHow, "extra"},
    {"extra-node-info", 'B', Arg::kRequired, Does::kHowNodeInfo, "extra-node-info"},
    {"get-user-env", 0, Arg::kOptional, Does::kClient, "get-user-env"},
    {"gid", 0, Arg::kRequired, Does::kClient, "gid"},
    {"gpu-bind", 0, Arg::kRequired, Does::kHow, "gpu-bind"},
    {"gpu-freq", 0, Arg::kRequired, Does::kHow, "gpu-freq"},
    {"gpus", 'G', Arg::kRequired, Does::kGpus, "gpus"},
    {"gpus-per-node", 0, Arg::kRequired, Does::kGpus, "gpusPerNode"},
    {"gpus-per-socket", 0, Arg::kRequired, Does::kGpus, "gpusPerSocket"},
    {"gpus-per-task", 0, Arg::kRequired, Does::kGpus, "gpusPerTask"},
    {"gres", 0, Arg::kRequired, Does::kGres, "gres"},
    {"gres-flags", 0, Arg::kRequired, Does::kHowGresFlags, "gres-flags"},
    {"help", 'h', Arg::kNone, Does::kClientFlag, "help"},
    {"hint", 0, Arg::kRequired, Does::kHowHint, "hint"},
    {"hold", 'H', Arg::kNone, Does::kTrue, "hold"},
    {"ignore-pbs", 0, Arg::kNone, Does::kClientFlag, "ignore-pbs"},
    {"input", 'i', Arg::kRequired, Does::kText, "input"},
    {"job-name", 'J', Arg::kRequired, Does::kText, "name"},
    {"kill-on-invalid-dep", 0, Arg::kRequired, Does::kYesNo, "killOnInvalidDependency"},
    {"licenses", 'L', Arg::kRequired, Does::kText, "licenses"},
    {"mail-type", 0, Arg::kRequired, Does::kMailType, "mailType"},
    {"mail-user", 0, Arg::kRequired, Does::kText, "mailUser"},
    {"mcs-label", 0, Arg::kRequired, Does::kHow, "mcs-label"},
    {"mem", 0, Arg::kRequired, Does::kMemory, "memoryPerNode"},
    {"mem-bind", 0, Arg::kRequired, Does::kHow, "mem-bind"},
    {"mem-per-cpu", 0, Arg::kRequired, Does::kMemory, "memoryPerCpu"},
    {"mem-per-gpu", 0, Arg::kRequired, Does::kMemory, "memoryPerGpu"},
    {"mincpus", 0, Arg::kRequired, Does::kHowCount, "mincpus"},
    {"network", 0, Arg::kRequired, Does::kRefused,
     "the network of a job cannot be chosen; ask for an adapter's resource with --gres"},
    {"nice", 0, Arg::kOptional, Does::kNice, "nice"},
    {"no-kill", 'k', Arg::kOptional, Does::kHowNoKill, "no-kill"},
    {"no-requeue", 0, Arg::kNone, Does::kFalse, "requeue"},
    {"nodefile", 'F', Arg::kRequired, Does::kClient, "nodefile"},
    {"nodelist", 'w', Arg::kRequired, Does::kText, "requiredNodes"},
    {"nodes", 'N', Arg::kRequired, Does::kNodes, "nodes"},
    {"ntasks", 'n', Arg::kRequired, Does::kCount, "tasks"},
    {"ntasks-per-core", 0, Arg::kRequired, Does::kCount, "tasksPerCore"},
    {"ntasks-per-gpu", 0, Arg::kRequired, Does::kCount, "tasksPerGpu"},
    {"ntasks-per-node", 0, Arg::kRequired, Does::kCount, "tasksPerNode"},
    {"ntasks-per-socket", 0, Arg::kRequired, Does::kCount, "tasksPerSocket"},
    {"oom-kill-step", 0, Arg::kOptional, Does::kHow, "oom-kill-step"},
    {"open-mode", 0, Arg::kRequired, Does::kOpenMode, "openMode"},
    {"output", 'o', Arg::kRequired, Does::kText, "output"},
    {"overcommit", 'O', Arg::kNone, Does::kHowFlag, "overcommit"},
    {"oversubscribe", 's', Arg::kNone, Does::kHowFlag, "oversubscribe"},
    {"parsable", 0, Arg::kNone, Does::kClientFlag, "parsable"},
    {"partition", 'p', Arg::kRequired, Does::kText, "queue"},
    {"power", 0, Arg::kRequired, Does::kHow, "power"},
    {"prefer", 0, Arg::kRequired, Does::kHow, "prefer"},
    {"priority", 0, Arg::kRequired, Does::kPriority, "priority"},
    {"profile", 0, Arg::kRequired, Does::kHowProfile, "profile"},
    {"propagate", 0, Arg::kOptional, Does::kPropagate, "propagate"},
    {"qos", 'q', Arg::kRequired, Does::kText, "priorityClass"},
    {"quiet", 'Q', Arg::kNone, Does::kClientFlag, "quiet"},
    {"reboot", 0, Arg::kNone, Does::kRefused, "nodes are not rebooted for a job"},
    {"requeue", 0, Arg::kOptional, Does::kRequeue, "requeue"},
    {"reservation", 0, Arg::kRequired, Does::kText, "reservation"},
    {"resources", 0, Arg::kRequired, Does::kRefused,
     "named resources of several clusters do not exist here; use --licenses or --gres"},
    {"resv-ports", 0, Arg::kOptional, Does::kRefused,
     "ports are not reserved for a job; let it choose a free one"},
    {"segment", 0, Arg::kRequired, Does::kHowCount, "segment"},
    {"share", 0, Arg::kNone, Does::kHowFlag, "oversubscribe"},
    {"signal", 0, Arg::kRequired, Does::kSignal, "signal"},
    {"sockets-per-node", 0, Arg::kRequired, Does::kHowCount, "sockets-per-node"},
    {"spread-job", 0, Arg::kNone, Does::kHowFlag, "spread-job"},
    {"spread-segments", 0, Arg::kNone, Does::kHowFlag, "spread-segments"},
    {"stepmgr", 0, Arg::kNone, Does::kHowFlag, "stepmgr"},
    {"switches", 0, Arg::kRequired, Does::kHowSwitches, "switches"},
    {"tasks", 0, Arg::kRequired, Does::kCount, "tasks"},
    {"tasks-per-node", 0, Arg::kRequired, Does::kCount, "tasksPerNode"},
    {"test-only", 0, Arg::kNone, Does::kClientFlag, "test-only"},
    {"thread-spec", 0, Arg::kRequired, Does::kRefused, kReserved},
    {"threads-per-core", 0, Arg::kRequired, Does::kHowCount, "threads-per-core"},
    {"time", 't', Arg::kRequired, Does::kTime, "timeLimit"},
    {"time-min", 0, Arg::kRequired, Does::kTime, "timeMin"},
    {"tmp", 0, Arg::kRequired, Does::kRefused,
     "the temporary disk of nodes is not counted; ask for it with --gres as a resource of the "
     "queue"},
    {"tres-bind", 0, Arg::kRequired, Does::kHow, "tres-bind"},
    {"tres-per-task", 0, Arg::kRequired, Does::kText, "tresPerTask"},
    {"uid", 0, Arg::kRequired, Does::kClient, "uid"},
    {"usage", 0, Arg::kNone, Does::kClientFlag, "usage"},
    {"use-min-nodes", 0, Arg::kNone, Does::kHowFlag, "use-min-nodes"},
    {"verbose", 'v', Arg::kNone, Does::kClientFlag, "verbose"},
    {"version", 'V', Arg::kNone, Does::kClientFlag, "version"},
    {"wait", 'W', Arg::kNone, Does::kClientFlag, "wait"},
    {"wait-all-nodes", 0, Arg::kRequired, Does::kHowNumber, "wait-all-nodes"},
    {"wckey", 0, Arg::kRequired, Does::kText, "wckey"},
    {"workdir", 0, Arg::kRequired, Does::kText, "workDir"},
    {"wrap", 0, Arg::kRequired, Does::kClient, "wrap"},
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
