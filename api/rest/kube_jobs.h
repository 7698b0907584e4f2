// Job kinds, and Kueue's Workload, on Kubernetes paths.
#pragma once

#include <string>
#include <vector>

#include "api/rest/kube_objects.h"

namespace muster::rest {

/// The job that a path names. A Workload's name belongs to the job it stands for (workload_name.h);
/// other kinds are looked up by their own name.
Result<JobPtr> KubeFindJob(ApiContext& api, const Caller& who, const KubeTarget& target,
                           api::PathAsk ask);
/// A job that the caller may see, as an object of the resource's kind and version. Blocks on the
/// store.
Result<json::value> KubeJobObject(const api::SchedulerService& service,
                                  const KubeResource& resource, const JobRecord& job);
Response KubeListJobs(ApiContext& api, const Caller& who, const Request& request,
                      const KubeTarget& target);
Response KubeGetJob(ApiContext& api, const Caller& who, const KubeTarget& target);
void KubeCreateJob(ApiContext& api, const Caller& who, const KubeTarget& target,
                   json::value manifest, std::vector<std::string> warnings, bool dry_run,
                   std::string idempotency_key, Responder respond);
void KubeDeleteJob(ApiContext& api, const Caller& who, const KubeTarget& target, Responder respond);

}  // namespace muster::rest
