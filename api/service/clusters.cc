// Use cases: member clusters.
#include "api/service/post_command.h"
#include "api/service/scheduler_service.h"
#include "api/service/views.h"

namespace muster::api {

Result<std::vector<core::ClusterView>> SchedulerService::Clusters(
    const auth::Principal& who) const {
  const Status allowed = Allow(who, auth::Verb::kList, "memberclusters", "", "");
  if (!allowed.ok()) return allowed.error();
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return view.error();
  return (*view)->clusters;
}

Result<json::value> SchedulerService::ClusterFactsOf(const auth::Principal& who,
                                                     const std::string& cluster) const {
  const Status allowed = Allow(who, auth::Verb::kGet, "memberclusters", "", cluster);
  if (!allowed.ok()) return allowed.error();
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return view.error();
  for (const core::ClusterView& candidate : (*view)->clusters) {
    const MemberCluster& member = candidate.member;
    if (member.name != cluster) continue;
    json::object labels;
    for (const auto& [key, value] : member.labels) labels[key] = value;
    json::array taints;
    for (const Taint& taint : member.taints) {
      taints.push_back(
          json::object{{"key", taint.key}, {"value", taint.value}, {"effect", taint.effect}});
    }
    json::object out;
    out["name"] = member.name;
    out["backend"] = member.backend;
    out["healthy"] = member.healthy;
    if (!member.message.empty()) out["message"] = member.message;
    if (member.observed_at.set()) out["observedAt"] = FormatRfc3339(member.observed_at);
    out["cordoned"] = member.cordoned;
    out["labels"] = std::move(labels);
    out["taints"] = std::move(taints);
    out["allocatable"] = ResourcesJson(member.allocatable);
    out["free"] = ResourcesJson(candidate.free);
    return json::value(std::move(out));
  }
  return NotFound("member cluster \"" + cluster + "\" does not exist");
}

void SchedulerService::Fence(const auth::Principal& who, const std::string& cluster,
                             Callback<std::size_t> done) {
  const Status allowed = Allow(who, auth::Verb::kUpdate, "memberclusters", "", cluster);
  if (!allowed.ok()) return done(allowed.error());
  FenceCommand command{{who.user, who.method}, cluster, {}};
  PostCommand<std::size_t>(engine_, std::move(command), std::move(done));
}

void SchedulerService::Collect(const auth::Principal& who, const std::string& cluster,
                               Callback<std::size_t> done) {
  const Status allowed = Allow(who, auth::Verb::kUpdate, "memberclusters", "", cluster);
  if (!allowed.ok()) return done(allowed.error());
  CollectCommand command{{who.user, who.method}, cluster, {}};
  PostCommand<std::size_t>(engine_, std::move(command), std::move(done));
}

void SchedulerService::Cordon(const auth::Principal& who, const std::string& cluster, bool cordon,
                              Callback<ObjectPtr> done) {
  const Status allowed = Allow(who, auth::Verb::kUpdate, "memberclusters", "", cluster);
  if (!allowed.ok()) return done(allowed.error());
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return done(view.error());
  CordonCommand command;
  command.actor = {who.user, who.method};
  command.cluster = cluster;
  command.cordon = cordon;
  PostCommand<ObjectPtr>(engine_, std::move(command), std::move(done));
}

}  // namespace muster::api
