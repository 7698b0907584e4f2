#include "api/service/operators.h"

namespace muster::api {
namespace {

auth::ResourceRef QueueOf(const std::string& cluster_queue) {
  return {"kueue.x-k8s.io", "clusterqueues", "", "", cluster_queue};
}

}  // namespace

bool IsOperator(const auth::Authorizer& authorizer, const auth::Principal& who,
                const std::string& cluster_queue) {
  return authorizer.Allows(who, auth::Verb::kUpdate, QueueOf(cluster_queue));
}

Status MustBeOperator(const auth::Authorizer& authorizer, const auth::Principal& who,
                      const std::string& cluster_queue, const std::string& what) {
  const Status allowed = authorizer.Authorize(who, auth::Verb::kUpdate, QueueOf(cluster_queue));
  if (allowed.ok()) return Done{};
  Error error = allowed.error();
  error.detail = "only an operator may " + what + ": " + error.detail;
  return error;
}

Status CheckAskedPriority(const auth::Authorizer& authorizer, const auth::Principal& who,
                          const JobRecord& job) {
  const BatchState& state = BatchStateOf(job);
  const bool raises = state.own_priority && *state.own_priority > job.priority;
  const char* field = raises ? "priority" : "nice";
  if (!raises && state.nice >= 0) return Done{};
  Status allowed = MustBeOperator(authorizer, who, job.cluster_queue,
                                  raises ? "set a priority above the one of the job's class"
                                         : "set a negative nice value");
  if (allowed.ok()) return Done{};
  Error error = allowed.error();
  error.fields = {{field, error.detail}};
  return error;
}

}  // namespace muster::api
