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

constexpr char kNoFederation[] = "members are no federation; there is one queue for all of them";
constexpr char kShownAnyway[] = "everything is shown anyway";
constexpr char kLocalAnyway[] = "there is one queue, which is local";
constexpr char kConf[] = "a Slurm's own file; the server is named by MUSTER_URL";
constexpr char kDebug[] = "flags of a Slurm's own log";
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
    {"scancel", "SCANCEL_BATCH", kRead, "--batch"},
    {"scancel", "SCANCEL_CTLD", kWithoutEffect, "every request goes to the daemon"},
    {"scancel", "SCANCEL_FULL", kRead, "--full"},
    {"scancel", "SCANCEL_HURRY", kWithoutEffect, "there is no burst buffer"},
    {"scancel", "SCANCEL_INTERACTIVE", kRead, "--interactive"},
    {"scancel", "SCANCEL_NAME", kRead, "--name"},
    {"scancel", "SCANCEL_PARTITION", kRead, "--partition"},
    {"scancel", "SCANCEL_QOS", kRead, "--qos"},
    {"scancel", "SCANCEL_STATE", kRead, "--state"},
    {"scancel", "SCANCEL_USER", kRead, "--user"},
    {"scancel", "SCANCEL_VERBOSE", kRead, "--verbose"},
    {"scancel", "SCANCEL_WCKEY", kRead, "--wckey"},
    {"scancel", "SLURM_CLUSTERS", kRead, "--clusters"},
    {"scancel", "SLURM_CONF", kWithoutEffect, kConf},
    {"scancel", "SLURM_DEBUG_FLAGS", kWithoutEffect, kDebug},

    {"squeue", "SLURM_BITSTR_LEN", kRead, "the length of a list of array tasks"},
    {"squeue", "SLURM_CLUSTERS", kRead, "--clusters"},
    {"squeue", "SLURM_CONF", kWithoutEffect, kConf},
    {"squeue", "SLURM_DEBUG_FLAGS", kWithoutEffect, kDebug},
    {"squeue", "SLURM_TIME_FORMAT", kRead, "how times are shown"},
    {"squeue", "SQUEUE_ACCOUNT", kRead, "--account"},
    {"squeue", "SQUEUE_ALL", kWithoutEffect, kShownAnyway},
    {"squeue", "SQUEUE_ARRAY", kRead, "--array"},
    {"squeue", "SQUEUE_ARRAY_UNIQUE", kRead, "--array-unique"},
    {"squeue", "SQUEUE_FEDERATION", kWithoutEffect, kNoFederation},
    {"squeue", "SQUEUE_FORMAT", kRead, "--format"},
    {"squeue", "SQUEUE_FORMAT2", kRead, "--Format"},
    {"squeue", "SQUEUE_LICENSES", kRead, "--licenses"},
    {"squeue", "SQUEUE_LOCAL", kWithoutEffect, kLocalAnyway},
    {"squeue", "SQUEUE_NAMES", kRead, "--name"},
    {"squeue", "SQUEUE_PARTITION", kRead, "--partition"},
    {"squeue", "SQUEUE_PRIORITY", kWithoutEffect, "each job is in one partition"},
    {"squeue", "SQUEUE_QOS", kRead, "--qos"},
    {"squeue", "SQUEUE_SIB", kWithoutEffect, kNoFederation},
    {"squeue", "SQUEUE_SIBLING", kWithoutEffect, kNoFederation},
    {"squeue", "SQUEUE_SORT", kRead, "--sort"},
    {"squeue", "SQUEUE_STATES", kRead, "--states"},
    {"squeue", "SQUEUE_USERS", kRead, "--users"},

    {"sacct", "SACCT_FEDERATION", kWithoutEffect, kNoFederation},
    {"sacct", "SACCT_FORMAT", kRead, "--format"},
    {"sacct", "SACCT_LOCAL", kWithoutEffect, kLocalAnyway},
    {"sacct", "SLURM_BITSTR_LEN", kRead, "the length of a list of array tasks"},
    {"sacct", "SLURM_CONF", kWithoutEffect, kConf},
    {"sacct", "SLURM_DEBUG_FLAGS", kWithoutEffect, kDebug},
    {"sacct", "SLURM_TIME_FORMAT", kRead, "how times are shown"},

    {"sinfo", "SINFO_ALL", kWithoutEffect, kShownAnyway},
    {"sinfo", "SINFO_FEDERATION", kWithoutEffect, kNoFederation},
    {"sinfo", "SINFO_FORMAT", kRead, "--format"},
    {"sinfo", "SINFO_LOCAL", kWithoutEffect, kLocalAnyway},
    {"sinfo", "SINFO_PARTITION", kRead, "--partition"},
    {"sinfo", "SINFO_SORT", kRead, "--sort"},
    {"sinfo", "SLURM_CLUSTERS", kRead, "--clusters"},
    {"sinfo", "SLURM_CONF", kWithoutEffect, kConf},
    {"sinfo", "SLURM_DEBUG_FLAGS", kWithoutEffect, kDebug},
    {"sinfo", "SLURM_TIME_FORMAT", kRead, "how times are shown"},

    {"scontrol", "SCONTROL_ALL", kWithoutEffect, kShownAnyway},
    {"scontrol", "SCONTROL_FEDERATION", kWithoutEffect, kNoFederation},
    {"scontrol", "SCONTROL_FUTURE", kWithoutEffect, "no node is in state FUTURE"},
    {"scontrol", "SCONTROL_LOCAL", kWithoutEffect, kLocalAnyway},
    {"scontrol", "SCONTROL_SIB", kWithoutEffect, kNoFederation},
    {"scontrol", "SCONTROL_SIBLING", kWithoutEffect, kNoFederation},
    {"scontrol", "SLURM_BITSTR_LEN", kRead, "the length of a list of array tasks"},
    {"scontrol", "SLURM_CLUSTERS", kRead, "--clusters"},
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
