// Handlers of Kubernetes paths: discovery, and objects of every kind below /api/v1 and
// /apis/GROUP/VERSION. They answer as an API server would (metav1.Status for errors); watch and
// tables are refused by name.
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/handlers.h"
#include "api/rest/kube_resources.h"

namespace muster::rest {

// kube_discovery.cc: /api, /apis, /apis/{group}, /api/v1 and /apis/{group}/{version}.
Response ApiVersions(ApiContext& api, const Who& who, Request& request);
Response ApiGroups(ApiContext& api, const Who& who, Request& request);
Response ApiGroup(ApiContext& api, const Who& who, Request& request);
Response ApiResources(ApiContext& api, const Who& who, Request& request);

// kube_objects.cc: what a path names, then the kind's own handler.
Response KubeList(ApiContext& api, const Who& who, Request& request);
Response KubeGet(ApiContext& api, const Who& who, Request& request);
void KubeCreate(ApiContext& api, const Who& who, Request& request, Responder respond);
void KubeDelete(ApiContext& api, const Who& who, Request& request, Responder respond);

// kube_changes.cc: PUT and PATCH of an object, and of its status.
void KubeWrite(ApiContext& api, const Who& who, Request& request, Responder respond);
void KubeWriteStatus(ApiContext& api, const Who& who, Request& request, Responder respond);

/// A Kubernetes path, taken apart. `resource` is null if nothing is served there.
struct KubeTarget {
  const KubeResource* resource = nullptr;
  std::string ns, name;
};
KubeTarget KubeTargetOf(const Request& request);

/// metav1.Status of a deletion that took effect.
Response KubeDeleted(const KubeTarget& target, const std::string& uid);

// kube_jobs.cc: the same for job kinds.
/// The job that a path names: every job has a Workload of its own name (workload_name.h), the other
/// kinds are looked up as themselves.
Result<JobPtr> KubeFindJob(ApiContext& api, const Who& who, const KubeTarget& target);
/// The job as an object of that kind and version. Blocks on the store.
Result<json::value> KubeJobObject(const api::SchedulerService& service, const Who& who,
                                  const KubeResource& resource, const JobRecord& job);
Response KubeListJobs(ApiContext& api, const Who& who, const Request& request,
                      const KubeTarget& target);
Response KubeGetJob(ApiContext& api, const Who& who, const KubeTarget& target);
void KubeCreateJob(ApiContext& api, const Who& who, const KubeTarget& target, json::value manifest,
                   std::vector<std::string> warnings, bool dry_run, std::string idempotency_key,
                   Responder respond);
void KubeDeleteJob(ApiContext& api, const Who& who, const KubeTarget& target, Responder respond);

}  // namespace muster::rest
