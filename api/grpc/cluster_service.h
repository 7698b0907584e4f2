// ClusterService of muster.v1 over SchedulerService.
#pragma once

#include "api/grpc/call.h"
#include "api/service/scheduler_service.h"
#include "muster/v1/clusters.grpc.pb.h"

namespace muster::api {

/// Thread-safe; the service must outlive the server.
class ClusterServiceImpl final : public v1::ClusterService::CallbackService {
 public:
  ClusterServiceImpl(SchedulerService& service, const Callers& callers)
      : service_(service), callers_(callers) {}
  grpc::ServerUnaryReactor* ListClusters(grpc::CallbackServerContext* context,
                                         const v1::ListClustersRequest* request,
                                         v1::ListClustersResponse* response) override;
  grpc::ServerUnaryReactor* GetCluster(grpc::CallbackServerContext* context,
                                       const v1::GetClusterRequest* request,
                                       v1::Cluster* response) override;
  grpc::ServerUnaryReactor* CordonCluster(grpc::CallbackServerContext* context,
                                          const v1::CordonClusterRequest* request,
                                          v1::Cluster* response) override;
  grpc::ServerUnaryReactor* DrainCluster(grpc::CallbackServerContext* context,
                                         const v1::DrainClusterRequest* request,
                                         v1::DrainClusterResponse* response) override;
  grpc::ServerUnaryReactor* AddCluster(grpc::CallbackServerContext* context,
                                       const v1::AddClusterRequest* request,
                                       v1::AddClusterResponse* response) override;
  grpc::ServerUnaryReactor* RemoveCluster(grpc::CallbackServerContext* context,
                                          const v1::RemoveClusterRequest* request,
                                          v1::RemoveClusterResponse* response) override;

 private:
  SchedulerService& service_;
  const Callers& callers_;
};

}  // namespace muster::api
