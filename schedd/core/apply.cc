// Apply: the world after a plan.
#include <set>
#include <string>

#include "schedd/base/quantity.h"
#include "schedd/core/cycle.h"
#include "schedd/core/placement.h"
#include "schedd/core/workload_class.h"

namespace muster::core {
namespace {

std::string ClassIn(const std::string& cluster_queue, const JobRecord& job) {
  std::string key = cluster_queue + "/";
  AppendClassKey(job, &key);
  return key;
}

void Take(std::vector<ClusterView>* clusters, const std::string& name, const JobRecord& job) {
  if (!job.pod_sets) return;
  for (auto& cluster : *clusters) {
    if (cluster.member.name != name) continue;
    const ResourceList total = TotalRequests(*job.pod_sets);
    for (auto& entry : cluster.free) {
      entry.amount = SaturatingSub(entry.amount, AmountOf(total, entry.resource));
    }
  }
}

}  // namespace

Snapshot Apply(const Snapshot& snapshot, const Plan& plan) {
  Snapshot after = snapshot;
  std::set<JobId> gone;
  for (const auto& admit : plan.admits) {
    after.usage.Add(*admit.admission);
    Take(&after.clusters, admit.cluster, *admit.job);
    gone.insert(admit.job->id);
  }
  std::set<std::string> parked;
  for (const auto& waiting : plan.not_admitted) {
    if (waiting.park) parked.insert(ClassIn(waiting.job->cluster_queue, *waiting.job));
  }
  for (auto& heads : after.heads) {
    std::erase_if(heads.jobs, [&](const JobPtr& job) {
      return gone.contains(job->id) ||
             (!parked.empty() && parked.contains(ClassIn(job->cluster_queue, *job)));
    });
  }
  std::erase_if(after.heads,
                [](const QueueHeads& heads) { return heads.jobs.empty() && !heads.more; });
  return after;
}

}  // namespace muster::core
