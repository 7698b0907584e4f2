// Use case: a controller nominates the members whose own queues are asked to admit a job (dispatch
// mode External). Holds SchedulerService::NominateClusters. Members that run no queue are refused
// here, each by its index; the engine judges the rest.
#include "api/service/actor.h"
#include "api/service/post_command.h"
#include "api/service/scheduler_service.h"

namespace muster::api {

void SchedulerService::NominateClusters(const auth::Principal& who, const std::string& id,
                                        std::vector<std::string> clusters, Callback<JobPtr> done) {
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return done(view.error());
  const Result<JobPtr> job = JobFor(who, id, auth::Verb::kUpdate);
  if (!job.ok()) return done(job.error());
  Error error = InvalidArgument("");
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    const bool known = (*view)->config->member_clusters.contains(clusters[i]);
    if (!known || (queues_ != nullptr && queues_->RunsQueue(clusters[i]))) continue;
    std::string why = "member cluster " + clusters[i] + " runs no queue of its own";
    error.detail += (error.detail.empty() ? "" : "; ") + why;
    error.fields.push_back({"clusters[" + std::to_string(i) + "]", std::move(why)});
  }
  if (!error.fields.empty()) return done(std::move(error));
  NominateCommand command;
  command.actor = ActorOf(who);
  command.job = (*job)->id;
  // The present attempt, whichever it is.
  command.attempt = -1;
  command.clusters = std::move(clusters);
  PostCommand<JobPtr>(engine_, std::move(command), std::move(done));
}

}  // namespace muster::api
