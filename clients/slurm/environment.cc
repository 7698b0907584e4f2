// The table of environment variables of all Slurm-named commands, by their manual pages (22.05 and
// newer). A command reads a variable as its option, refuses it by its name, or needs no reading
// because it changes nothing here; the table says which and why. sbatch's option variables have a
// table of their own (sbatch_variables.cc).
#include "clients/slurm/environment.h"

#include <strings.h>

#include <cstdlib>
#include <iterator>

#include "clients/slurm/command.h"
#include "clients/slurm/sbatch_variables.h"

namespace muster::slurm {
namespace {

constexpr char kOneCluster[] = "federations are not supported; there is one queue for all members";
constexpr char kClusters[] =
    "other clusters are not supported; a member cluster is a node here (--nodelist, sinfo --nodes)";
constexpr char kShownAnyway[] = "everything is shown anyway";
constexpr char kLocalAnyway[] = "there is one queue, which is local";
constexpr char kConf[] = "a Slurm's own file; the server is named by MUSTER_URL";
constexpr char kDebug[] = "flags of a Slurm's own log";
constexpr char kNoArrays[] = "each task of an array has a line of its own";

// One variable of one command.
struct Row {
  const char* command;
  const char* name;
  VariableUse use;
  const char* what;
  bool boolean = false;  // of a refused variable: "false" and "f" ask for nothing
};

using enum VariableUse;

// The SBATCH_* variables are in sbatch_variables.cc.
constexpr Row kRows[] = {
    {"sbatch", "SLURM_CONF", kWithoutEffect, kConf},
    {"sbatch", "SLURM_DEBUG_FLAGS", kWithoutEffect, kDebug},
    {"sbatch", "SLURM_EXIT_ERROR", kRead, "the exit status of errors"},
    {"sbatch", "SLURM_STEP_KILLED_MSG_NODE_ID", kWithoutEffect,
     "which node tells of a killed step; Muster's members write no such lines"},
    {"sbatch", "SLURM_UMASK", kRead, "the umask of the job"},

    {"scancel", "SCANCEL_ACCOUNT", kRead, "--account"},
    {"scancel", "SCANCEL_BATCH", kRefused, "signals to the batch shell are not supported", true},
    {"scancel", "SCANCEL_CTLD", kRefused, "--ctld is not supported by this version"},
    {"scancel", "SCANCEL_FULL", kRefused, "signals to all processes are not supported", true},
    {"scancel", "SCANCEL_HURRY", kRefused, "--hurry is not supported by this version"},
    {"scancel", "SCANCEL_INTERACTIVE", kRead, "--interactive"},
    {"scancel", "SCANCEL_NAME", kRead, "--name"},
    {"scancel", "SCANCEL_PARTITION", kRead, "--partition"},
    {"scancel", "SCANCEL_QOS", kRead, "--qos"},
    {"scancel", "SCANCEL_STATE", kRead, "--state"},
    {"scancel", "SCANCEL_USER", kRead, "--user"},
    {"scancel", "SCANCEL_VERBOSE", kRead, "--verbose"},
    {"scancel", "SCANCEL_WCKEY", kRefused, "wckeys are not supported by this version"},
    {"scancel", "SLURM_CLUSTERS", kRefused, kClusters},
    {"scancel", "SLURM_CONF", kWithoutEffect, kConf},
    {"scancel", "SLURM_DEBUG_FLAGS", kWithoutEffect, kDebug},

    {"squeue", "SLURM_BITSTR_LEN", kRead, "the length of a list of array tasks"},
    {"squeue", "SLURM_CLUSTERS", kRefused, kClusters},
    {"squeue", "SLURM_CONF", kWithoutEffect, kConf},
    {"squeue", "SLURM_DEBUG_FLAGS", kWithoutEffect, kDebug},
    {"squeue", "SLURM_TIME_FORMAT", kRead, "how times are shown"},
    {"squeue", "SQUEUE_ACCOUNT", kRead, "--account"},
    {"squeue", "SQUEUE_ALL", kWithoutEffect, kShownAnyway},
    {"squeue", "SQUEUE_ARRAY", kRead, "--array"},
    {"squeue", "SQUEUE_ARRAY_UNIQUE", kRefused, "--array-unique is not supported by this version"},
    {"squeue", "SQUEUE_FEDERATION", kRefused, kOneCluster},
    {"squeue", "SQUEUE_FORMAT", kRead, "--format"},
    {"squeue", "SQUEUE_FORMAT2", kRead, "--Format"},
    {"squeue", "SQUEUE_LICENSES", kRefused, "licences are not supported"},
    {"squeue", "SQUEUE_LOCAL", kWithoutEffect, kLocalAnyway},
    {"squeue", "SQUEUE_NAMES", kRead, "--name"},
    {"squeue", "SQUEUE_PARTITION", kRead, "--partition"},
    {"squeue", "SQUEUE_PRIORITY", kWithoutEffect, "each job is in one partition"},
    {"squeue", "SQUEUE_QOS", kRead, "--qos"},
    {"squeue", "SQUEUE_SIB", kRefused, kOneCluster},
    {"squeue", "SQUEUE_SIBLING", kRefused, kOneCluster},
    {"squeue", "SQUEUE_SORT", kRead, "--sort"},
    {"squeue", "SQUEUE_STATES", kRead, "--states"},
    {"squeue", "SQUEUE_USERS", kRead, "--users"},

    {"sacct", "SACCT_FEDERATION", kRefused, kOneCluster},
    {"sacct", "SACCT_FORMAT", kRead, "--format"},
    {"sacct", "SACCT_LOCAL", kWithoutEffect, kLocalAnyway},
    {"sacct", "SLURM_BITSTR_LEN", kWithoutEffect, kNoArrays},
    {"sacct", "SLURM_CONF", kWithoutEffect, kConf},
    {"sacct", "SLURM_DEBUG_FLAGS", kWithoutEffect, kDebug},
    {"sacct", "SLURM_TIME_FORMAT", kRead, "how times are shown"},

    {"sinfo", "SINFO_ALL", kWithoutEffect, kShownAnyway},
    {"sinfo", "SINFO_FEDERATION", kRefused, kOneCluster},
    {"sinfo", "SINFO_FORMAT", kRead, "--format"},
    {"sinfo", "SINFO_LOCAL", kWithoutEffect, kLocalAnyway},
    {"sinfo", "SINFO_PARTITION", kRead, "--partition"},
    {"sinfo", "SINFO_SORT", kRefused, "--sort is not supported by this version"},
    {"sinfo", "SLURM_CLUSTERS", kRefused, kClusters},
    {"sinfo", "SLURM_CONF", kWithoutEffect, kConf},
    {"sinfo", "SLURM_DEBUG_FLAGS", kWithoutEffect, kDebug},
    {"sinfo", "SLURM_TIME_FORMAT", kWithoutEffect, "no column shows a time"},

    {"scontrol", "SCONTROL_ALL", kWithoutEffect, kShownAnyway},
    {"scontrol", "SCONTROL_FEDERATION", kRefused, kOneCluster},
    {"scontrol", "SCONTROL_FUTURE", kRefused, "nodes in state FUTURE are not supported"},
    {"scontrol", "SCONTROL_LOCAL", kWithoutEffect, kLocalAnyway},
    {"scontrol", "SCONTROL_SIB", kRefused, kOneCluster},
    {"scontrol", "SCONTROL_SIBLING", kRefused, kOneCluster},
    {"scontrol", "SLURM_BITSTR_LEN", kWithoutEffect, kNoArrays},
    {"scontrol", "SLURM_CLUSTERS", kRefused, kClusters},
    {"scontrol", "SLURM_CONF", kWithoutEffect, kConf},
    {"scontrol", "SLURM_CONF_OUT", kWithoutEffect, "`write config` is refused"},
    {"scontrol", "SLURM_DEBUG_FLAGS", kWithoutEffect, kDebug},
    {"scontrol", "SLURM_JOB_NODELIST", kRead, "the list of `show hostnames` without one"},
    {"scontrol", "SLURM_NODELIST", kRead, "the same under its old name"},
    {"scontrol", "SLURM_TIME_FORMAT", kRead, "how times are shown"},
    {"scontrol", "SLURM_TOPO_LEN", kWithoutEffect, "`show topology` is refused"},
};

// True if a refused boolean variable says no, which is what happens anyway.
bool AsksForNothing(const Row& row, const char* value) {
  return row.boolean && (::strcasecmp(value, "false") == 0 || ::strcasecmp(value, "f") == 0);
}

}  // namespace

// Tests compare this list with the manual pages.
std::vector<Variable> VariablesOf(std::string_view command) {
  std::vector<Variable> out;
  if (command == "sbatch") out = SbatchVariables();
  for (const Row& row : kRows) {
    if (command == row.command) out.push_back({row.name, row.use, row.what});
  }
  return out;
}

std::optional<std::string> RefusedVariable(std::string_view command) {
  for (const Row& row : kRows) {
    if (command != row.command || row.use != kRefused) continue;
    const char* value = SetVariable(row.name);
    if (value == nullptr || AsksForNothing(row, value)) continue;
    return std::string(row.name) + ": " + row.what;
  }
  return std::nullopt;
}

const char* SetVariable(const char* name) { return std::getenv(name); }

VariableList ListFromVariable(const char* name) {
  VariableList out;
  const char* value = SetVariable(name);
  if (value == nullptr) return out;
  out.set = true;
  out.values = SplitList(value);
  if (out.values.empty()) out.error = std::string(name) + " is set and names nothing";
  return out;
}

}  // namespace muster::slurm
