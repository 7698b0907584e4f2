#include "clients/slurm/managed_fields.h"

#include "clients/slurm/same_word.h"

namespace muster::slurm {
namespace {

constexpr ManagedField kManagedFields[] = {
    {"Account", "Account", 10},
    {"Acct", "Account", 10},
    {"AdminLevel", "Admin", 9},
    {"Classification", "Classification", 15},
    {"Cluster", "Cluster", 10},
    {"ControlHost", "ControlHost", 15},
    {"ControlPort", "ControlPort", 12},
    {"Coordinators", "Coord Accounts", 20},
    {"DefaultAccount", "Def Acct", 10},
    {"DefaultQOS", "Def QOS", 9},
    {"DefaultWCKey", "Def WCKey", 10},
    {"Description", "Descr", 20},
    {"Flags", "Flags", 20},
    {"GraceTime", "GraceTime", 10},
    {"GrpCPUs", "GrpCPUs", 8},
    {"GrpJobs", "GrpJobs", 7},
    {"GrpMem", "GrpMem", 7},
    {"GrpNodes", "GrpNodes", 8},
    {"GrpSubmitJobs", "GrpSubmit", 9},
    {"GrpTRES", "GrpTRES", 13},
    {"GrpTRESMins", "GrpTRESMins", 13},
    {"GrpTRESRunMins", "GrpTRESRunMin", 13},
    {"GrpWall", "GrpWall", 11},
    {"ID", "ID", 6},
    {"MaxCPUMins", "MaxCPUMins", 11},
    {"MaxCPUs", "MaxCPUs", 8},
    {"MaxJobs", "MaxJobs", 7},
    {"MaxJobsPerAccount", "MaxJobsPA", 9},
    {"MaxJobsPerUser", "MaxJobsPU", 9},
    {"MaxNodes", "MaxNodes", 8},
    {"MaxSubmitJobs", "MaxSubmit", 9},
    {"MaxSubmitJobsPerAccount", "MaxSubmitPA", 11},
    {"MaxSubmitJobsPerUser", "MaxSubmitPU", 11},
    {"MaxTRES", "MaxTRES", 13},
    {"MaxTRESMins", "MaxTRESMins", 13},
    {"MaxTRESPerAcct", "MaxTRESPA", 13},
    {"MaxTRESPerNode", "MaxTRESPerNode", 14},
    {"MaxTRESPerUser", "MaxTRESPU", 13},
    {"MaxWall", "MaxWall", 11},
    {"MinTRES", "MinTRES", 13},
    {"Name", "Name", 10},
    {"NodeCount", "NodeCount", 9},
    {"NodeNames", "NodeNames", 20},
    {"Organization", "Org", 20},
    {"ParentID", "Par ID", 6},
    {"ParentName", "Par Name", 10},
    {"Partition", "Partition", 10},
    {"Preempt", "Preempt", 10},
    {"PreemptExemptTime", "PreemptExemptTime", 19},
    {"PreemptMode", "PreemptMode", 11},
    {"Priority", "Priority", 10},
    {"QOS", "QOS", 20},
    {"RPC", "RPC", 5},
    {"Share", "Share", 9},
    {"Fairshare", "Share", 9},
    {"TRES", "TRES", 20},
    {"Type", "Type", 8},
    {"UsageFactor", "UsageFactor", 11},
    {"UsageThreshold", "UsageThres", 10},
    {"User", "User", 10},
    {"WithSubAccounts", "SubAccts", 20},
};

}  // namespace

const ManagedField* FindManagedField(std::string_view name) {
  for (const ManagedField& field : kManagedFields) {
    if (SameWord(name, field.name)) return &field;
  }
  if (name.empty()) return nullptr;
  for (const ManagedField& field : kManagedFields) {
    const std::string_view whole = field.name;
    if (name.size() < whole.size() && SameWord(name, whole.substr(0, name.size()))) return &field;
  }
  return nullptr;
}

}  // namespace muster::slurm
