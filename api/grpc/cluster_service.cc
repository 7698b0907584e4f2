// One method per RPC of ClusterService. Each takes the caller, converts the request, makes one call
// of SchedulerService and converts the answer. Reads answer on gRPC's thread; changes answer on the
// engine's thread after the commit. AddCluster blocks gRPC's thread while the cluster is asked, for
// one cluster at a time. The ClusterRole that a refused cluster needs is the field error
// `clusterRole`, if it fits into the metadata; with `force` the answer has it whole.
#include "api/grpc/cluster_service.h"

#include "api/grpc/call.h"
#include "api/grpc/convert.h"

namespace muster::api {
namespace {

// One member from the list of all: the service has no call for one, and members are few.
Result<core::ClusterView> ClusterNamed(SchedulerService& service, const auth::Principal& who,
                                       const std::string& name) {
  const Result<std::vector<core::ClusterView>> clusters = service.Clusters(who);
  if (!clusters.ok()) return clusters.error();
  for (const core::ClusterView& cluster : *clusters) {
    if (cluster.member.name == name) return cluster;
  }
  return NotFound("member cluster \"" + name + "\" does not exist");
}

// kInvalidArgument names the first required field that is missing.
Result<NewMember> ToNewMember(const v1::AddClusterRequest& request) {
  NewMember wanted;
  wanted.declaration.name = request.name();
  wanted.declaration.kubeconfig = request.kubeconfig();
  wanted.declaration.context = request.context();
  wanted.declaration.fast = request.fast();
  for (const auto& [key, value] : request.labels()) wanted.labels[key] = value;
  wanted.force = request.force();
  if (request.name().empty()) return InvalidField("name", "is required");
  if (request.kubeconfig().empty()) return InvalidField("kubeconfig", "is required");
  return wanted;
}

}  // namespace

grpc::ServerUnaryReactor* ClusterServiceImpl::ListClusters(grpc::CallbackServerContext* context,
                                                           const v1::ListClustersRequest*,
                                                           v1::ListClustersResponse* response) {
  const Result<auth::Principal> who = CallerOf(*context, callers_);
  if (!who.ok()) return Refuse(context, who.error());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  Answer(context, reactor, service_.Clusters(*who),
         [response](const std::vector<core::ClusterView>& clusters) {
    for (const core::ClusterView& cluster : clusters) ToProto(cluster, response->add_items());
  });
  return reactor;
}

grpc::ServerUnaryReactor* ClusterServiceImpl::GetCluster(grpc::CallbackServerContext* context,
                                                         const v1::GetClusterRequest* request,
                                                         v1::Cluster* response) {
  const Result<auth::Principal> who = CallerOf(*context, callers_);
  if (!who.ok()) return Refuse(context, who.error());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  Answer(context, reactor, ClusterNamed(service_, *who, request->name()),
         [response](const core::ClusterView& cluster) { ToProto(cluster, response); });
  return reactor;
}

grpc::ServerUnaryReactor* ClusterServiceImpl::CordonCluster(grpc::CallbackServerContext* context,
                                                            const v1::CordonClusterRequest* request,
                                                            v1::Cluster* response) {
  const Result<auth::Principal> who = CallerOf(*context, callers_);
  if (!who.ok()) return Refuse(context, who.error());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  // The answer is the member as it is after the commit.
  service_.Cordon(*who, request->name(), request->cordon(),
                  Audited(service_, *who, "update", "membercluster/" + request->name(),
                          [this, context, reactor, response, who = *who,
                           name = request->name()](Result<ObjectPtr> changed) {
    if (!changed.ok()) return reactor->Finish(StatusOf(context, changed.error()));
    Answer(context, reactor, ClusterNamed(service_, who, name),
           [&](const core::ClusterView& cluster) { ToProto(cluster, response); });
                  }));
  return reactor;
}

grpc::ServerUnaryReactor* ClusterServiceImpl::DrainCluster(grpc::CallbackServerContext* context,
                                                           const v1::DrainClusterRequest* request,
                                                           v1::DrainClusterResponse* response) {
  const Result<auth::Principal> who = CallerOf(*context, callers_);
  if (!who.ok()) return Refuse(context, who.error());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  service_.Drain(*who, request->name(), request->force(),
                 Audited(service_, *who, "update", "membercluster/" + request->name(),
                         [context, reactor, response](const Result<DrainProgress>& progress) {
    Answer(context, reactor, progress,
           [response](const DrainProgress& left) { ToProto(left, response); });
                 }));
  return reactor;
}

grpc::ServerUnaryReactor* ClusterServiceImpl::AddCluster(grpc::CallbackServerContext* context,
                                                         const v1::AddClusterRequest* request,
                                                         v1::AddClusterResponse* response) {
  const Result<auth::Principal> who = CallerOf(*context, callers_);
  if (!who.ok()) return Refuse(context, who.error());
  const Result<NewMember> wanted = ToNewMember(*request);
  if (!wanted.ok())
    return Refuse(context, service_, *who, "create", "membercluster/" + request->name(),
                  wanted.error());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  service_.AddMember(*who, *wanted,
                     Audited(service_, *who, "create", "membercluster/" + request->name(),
                             [context, reactor, response](const Result<AddedMember>& added) {
    Answer(context, reactor, added,
           [response](const AddedMember& member) { ToProto(member, response); });
                     }));
  return reactor;
}

grpc::ServerUnaryReactor* ClusterServiceImpl::RemoveCluster(grpc::CallbackServerContext* context,
                                                            const v1::RemoveClusterRequest* request,
                                                            v1::RemoveClusterResponse* response) {
  const Result<auth::Principal> who = CallerOf(*context, callers_);
  if (!who.ok()) return Refuse(context, who.error());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  service_.RemoveMember(*who, request->name(), request->force(),
                        Audited(service_, *who, "delete", "membercluster/" + request->name(),
                                [context, reactor, response](const Result<RemovedMember>& removed) {
    Answer(context, reactor, removed, [response](const RemovedMember& left) {
      response->set_configuration_objects(static_cast<std::int64_t>(left.objects));
      response->set_placements(static_cast<std::int64_t>(left.placements));
    });
                        }));
  return reactor;
}

}  // namespace muster::api
