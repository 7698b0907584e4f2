// Accounts, users, associations, QOS and clusters of Slurm as Muster has them (rule B52): an
// account is a ClusterQueue or a Cohort, its users are those who submitted to it, a QOS is a
// WorkloadPriorityClass, a cluster is a member.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "clients/lib/api_client.h"

namespace muster::slurm {

struct AccountInfo {
  std::string name, parent;  // parent "root" at the top
  std::string share = "1";   // the weight of its fair sharing
  std::string limits;        // "cpu=8,mem=16G" of its nominal quota; "" if none
  bool is_cohort = false;
  std::string held;  // its stop policy, "" if it takes jobs
};

struct QosInfo {
  std::string name, description;
  std::int64_t priority = 0;
};

struct AccountTree {
  std::vector<AccountInfo> accounts;  // by name
  std::vector<QosInfo> qos;           // "normal" first
  std::vector<std::string> clusters;
  /// The accounts of each user, in order of name. The caller is among the users.
  std::map<std::string, std::set<std::string>> users;
};

/// Reads them all. Lists that the caller may not read are empty.
client::Outcome<AccountTree> FetchAccounts(client::ApiClient& api);

}  // namespace muster::slurm
