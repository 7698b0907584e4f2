#include "clients/slurm/clusters.h"

#include <algorithm>

#include "clients/slurm/command.h"
#include "clients/slurm/environment.h"
#include "clients/slurm/fleet_view.h"
#include "clients/slurm/same_word.h"

namespace muster::slurm {

ClusterChoice ClustersOf(std::string_view text) {
  ClusterChoice out;
  out.chosen = true;
  out.names = SplitList(text);
  out.all = std::any_of(out.names.begin(), out.names.end(),
                        [](const std::string& name) { return SameWord(name, "all"); });
  if (out.names.empty()) out.names.emplace_back(text);
  return out;
}

void ClustersFromEnvironment(ClusterChoice* choice) {
  const char* value = SetVariable("SLURM_CLUSTERS");
  if (choice->chosen || value == nullptr || *value == '\0') return;
  *choice = ClustersOf(value);
  choice->by_variable = true;
}

client::Outcome<std::string> ResolveClusters(client::ApiClient& api, ClusterChoice* choice) {
  if (!choice->chosen) return std::string();
  client::Outcome<std::vector<NodeInfo>> members = FetchMembers(api);
  if (!members.ok()) return members.failure();
  if (choice->all) {
    choice->names.clear();
    for (const NodeInfo& member : *members) choice->names.push_back(member.name);
    return std::string();
  }
  for (const std::string& name : choice->names) {
    const bool known = std::any_of(members->begin(), members->end(),
                                   [&](const NodeInfo& member) { return member.name == name; });
    if (known) continue;
    return "'" + name + "' can't be reached now, or it is an invalid entry for " +
           (choice->by_variable ? "SLURM_CLUSTERS env variable" : "--cluster") +
           ".  Use 'sacctmgr list clusters' to see available clusters.";
  }
  return std::string();
}

bool InCluster(const ClusterChoice& choice, std::size_t index, const JobRow& row) {
  return row.cluster.empty() ? index == 0 : row.cluster == choice.names[index];
}

bool InClusters(const ClusterChoice& choice, const JobRow& row) {
  if (!choice.chosen || choice.all || row.cluster.empty()) return true;
  return PassesFilter(choice.names, row.cluster);
}

}  // namespace muster::slurm
