// Use case: draining a member cluster. Holds SchedulerService::Drain.
#include "api/service/actor.h"
#include "api/service/post_command.h"
#include "api/service/resource_refs.h"
#include "api/service/scheduler_service.h"

namespace muster::api {

void SchedulerService::Drain(const auth::Principal& who, const std::string& cluster, bool force,
                             Callback<DrainProgress> done) {
  const Status allowed = authorizer_.Authorize(who, auth::Verb::kUpdate, MemberRef(cluster));
  if (!allowed.ok()) return done(allowed.error());
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return done(view.error());
  DrainCommand command{ActorOf(who), cluster, force, {}};
  PostCommand<DrainProgress>(engine_, std::move(command), std::move(done));
}

}  // namespace muster::api
