// Partitions and nodes: each LocalQueue is shown as a partition, each member cluster as a node
// (rule B1).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clients/lib/api_client.h"

namespace muster::slurm {

struct PartitionInfo {
  std::string ns, queue, cluster_queue;
  bool up = true;
  bool is_default = false;
  /// Its properties (docs/rules/slurm-model.md); 0 and "" mean that none is given.
  std::string state = "up";  // "up", "down", "drain" or "inact", as sinfo writes it
  std::int64_t default_time_s = 0, max_time_s = 0;
  std::int32_t min_nodes = 0, max_nodes = 0, tier = 1;
  std::int64_t default_memory_per_cpu_mb = 0, max_memory_per_cpu_mb = 0;
  /// "queue" or "namespace/queue".
  std::string Name(const std::string& default_ns) const;
};

struct NodeInfo {
  std::string name;
  bool healthy = true, cordoned = false;
  std::string reason;  // why it is not healthy
  std::int64_t cpus_milli = 0, free_cpus_milli = 0;
  std::int64_t memory_bytes = 0, free_memory_bytes = 0;
  std::string gres = {};  // "gpu:8", "" if none
  std::string gres_used = {};
  std::string features = {};  // labels that a constraint can name, "" if none
  /// idle, mixed, allocated, drained, draining or down; `compact` gives idle, mix, alloc, drain,
  /// drng, down.
  const char* StateName(bool compact) const;
  std::int64_t AllocatedCpus() const;
  std::int64_t IdleCpus() const;   // 0 for a node that takes no jobs
  std::int64_t OtherCpus() const;  // the free CPUs of a node that takes no jobs
  std::int64_t TotalCpus() const;
};

struct Fleet {
  std::vector<PartitionInfo> partitions;  // the default one first, then by name
  std::vector<NodeInfo> nodes;            // by name
};

/// The member clusters by name.
client::Outcome<std::vector<NodeInfo>> FetchMembers(client::ApiClient& api);

/// Two requests: all LocalQueues, all MemberClusters.
client::Outcome<Fleet> FetchFleet(client::ApiClient& api);

}  // namespace muster::slurm
