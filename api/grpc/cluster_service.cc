#include "api/grpc/admin_services.h"
#include "api/grpc/call.h"
#include "api/grpc/convert.h"

namespace muster::api {
namespace {

Result<core::ClusterView> ClusterNamed(SchedulerService& service, const auth::Principal& who,
                                       const std::string& name) {
  const Result<std::vector<core::ClusterView>> clusters = service.Clusters(who);
  if (!clusters.ok()) return clusters.error();
  for (const core::ClusterView& cluster : *clusters) {
    if (cluster.member.name == name) return cluster;
  }
  return NotFound("member cluster \"" + name + "\" does not exist");
}

}  // namespace

grpc::ServerUnaryReactor* ClusterServiceImpl::ListClusters(grpc::CallbackServerContext* context,
                                                           const v1::ListClustersRequest*,
                                                           v1::ListClustersResponse* response) {
  const Result<auth::Principal> who = PrincipalOf(*context);
  if (!who.ok()) return Refuse(context, who.error());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  Answer(context, reactor, service_.Clusters(*who),
         [response](const std::vector<core::ClusterView>& clusters) {
           for (const core::ClusterView& cluster : clusters)
             ToProto(cluster, response->add_items());
         });
  return reactor;
}

grpc::ServerUnaryReactor* ClusterServiceImpl::GetCluster(grpc::CallbackServerContext* context,
                                                         const v1::GetClusterRequest* request,
                                                         v1::Cluster* response) {
  const Result<auth::Principal> who = PrincipalOf(*context);
  if (!who.ok()) return Refuse(context, who.error());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  Answer(context, reactor, ClusterNamed(service_, *who, request->name()),
         [response](const core::ClusterView& cluster) { ToProto(cluster, response); });
  return reactor;
}

grpc::ServerUnaryReactor* ClusterServiceImpl::CordonCluster(grpc::CallbackServerContext* context,
                                                            const v1::CordonClusterRequest* request,
                                                            v1::Cluster* response) {
  const Result<auth::Principal> who = PrincipalOf(*context);
  if (!who.ok()) return Refuse(context, who.error());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  service_.Cordon(*who, request->name(), request->cordon(),
                  [this, context, reactor, response, who = *who,
                   name = request->name()](Result<ObjectPtr> changed) {
                    if (!changed.ok()) return reactor->Finish(StatusOf(context, changed.error()));
                    Answer(context, reactor, ClusterNamed(service_, who, name),
                           [&](const core::ClusterView& cluster) { ToProto(cluster, response); });
                  });
  return reactor;
}

}  // namespace muster::api
