// -M/--clusters and SLURM_CLUSTERS: the member clusters that a command is about (rule B49).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "clients/lib/api_client.h"
#include "clients/slurm/job_row.h"

namespace muster::slurm {

/// What -M asked for. Without a choice all jobs are shown in one table.
struct ClusterChoice {
  bool chosen = false, all = false;
  bool by_variable = false;        // SLURM_CLUSTERS, not -M
  std::vector<std::string> names;  // in the order given; with `all` filled by Resolve
};

/// The value of -M. "all" means every member.
ClusterChoice ClustersOf(std::string_view text);
/// Takes SLURM_CLUSTERS if the command line has no -M.
void ClustersFromEnvironment(ClusterChoice* choice);

/// Asks the server for its members and checks the names. Returns Slurm's sentence for a name that
/// is no member, or "".
client::Outcome<std::string> ResolveClusters(client::ApiClient& api, ClusterChoice* choice);

/// True if the row belongs to the cluster at `index` of the choice. A job that has no member yet
/// belongs to the first one.
bool InCluster(const ClusterChoice& choice, std::size_t index, const JobRow& row);
/// True if it belongs to any of them, or nothing was chosen.
bool InClusters(const ClusterChoice& choice, const JobRow& row);

}  // namespace muster::slurm
