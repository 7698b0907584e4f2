// Use cases of member clusters: list, facts, cordon, fence, release of a quarantine. Holds these
// methods of SchedulerService. Reads come from the published view; each change is one command.
#include "api/service/actor.h"
#include "api/service/member_facts.h"
#include "api/service/post_command.h"
#include "api/service/resource_refs.h"
#include "api/service/scheduler_service.h"

namespace muster::api {

Result<std::vector<core::ClusterView>> SchedulerService::Clusters(
    const auth::Principal& who) const {
  const Status allowed = authorizer_.Authorize(who, auth::Verb::kList, MemberRef(""));
  if (!allowed.ok()) return allowed.error();
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return view.error();
  return (*view)->clusters;
}

Result<json::value> SchedulerService::ClusterFactsOf(const auth::Principal& who,
                                                     const std::string& cluster) const {
  const Status allowed = authorizer_.Authorize(who, auth::Verb::kGet, MemberRef(cluster));
  if (!allowed.ok()) return allowed.error();
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return view.error();
  for (const core::ClusterView& candidate : (*view)->clusters) {
    if (candidate.member.name == cluster)
      return json::value(FactsJson(candidate, engine_.WallNow()));
  }
  return NotFound("member cluster \"" + cluster + "\" does not exist");
}

void SchedulerService::Fence(const auth::Principal& who, const std::string& cluster,
                             Callback<std::size_t> done) {
  const Status allowed = authorizer_.Authorize(who, auth::Verb::kUpdate, MemberRef(cluster));
  if (!allowed.ok()) return done(allowed.error());
  // The engine refuses a member that answers or that it does not know.
  FenceCommand command{ActorOf(who), cluster, {}};
  PostCommand<std::size_t>(engine_, std::move(command), std::move(done));
}

void SchedulerService::Collect(const auth::Principal& who, const std::string& cluster,
                               Callback<std::size_t> done) {
  const Status allowed = authorizer_.Authorize(who, auth::Verb::kUpdate, MemberRef(cluster));
  if (!allowed.ok()) return done(allowed.error());
  // Releases the objects that are ahead of the database (object_status.cc, AddQuarantine).
  CollectCommand command{ActorOf(who), cluster, {}};
  PostCommand<std::size_t>(engine_, std::move(command), std::move(done));
}

void SchedulerService::Cordon(const auth::Principal& who, const std::string& cluster, bool cordon,
                              Callback<ObjectPtr> done) {
  const Status allowed = authorizer_.Authorize(who, auth::Verb::kUpdate, MemberRef(cluster));
  if (!allowed.ok()) return done(allowed.error());
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return done(view.error());
  CordonCommand command;
  command.actor = ActorOf(who);
  command.cluster = cluster;
  command.cordon = cordon;
  PostCommand<ObjectPtr>(engine_, std::move(command), std::move(done));
}

}  // namespace muster::api
