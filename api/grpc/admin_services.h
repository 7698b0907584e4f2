// QueueService, ClusterService and QuotaAdminService of muster.v1 over SchedulerService.
#pragma once

#include "api/service/scheduler_service.h"
#include "muster/v1/clusters.grpc.pb.h"
#include "muster/v1/queues.grpc.pb.h"
#include "muster/v1/quota.grpc.pb.h"

namespace muster::api {

/// Thread-safe; the service must outlive the server.
class QueueServiceImpl final : public v1::QueueService::CallbackService {
 public:
  explicit QueueServiceImpl(SchedulerService& service) : service_(service) {}
  grpc::ServerUnaryReactor* GetObject(grpc::CallbackServerContext* context,
                                      const v1::GetObjectRequest* request,
                                      v1::QueueObject* response) override;
  grpc::ServerUnaryReactor* ListObjects(grpc::CallbackServerContext* context,
                                        const v1::ListObjectsRequest* request,
                                        v1::ListObjectsResponse* response) override;
  grpc::ServerUnaryReactor* Apply(grpc::CallbackServerContext* context,
                                  const v1::ApplyRequest* request,
                                  v1::ApplyResponse* response) override;
  grpc::ServerUnaryReactor* DeleteObject(grpc::CallbackServerContext* context,
                                         const v1::DeleteObjectRequest* request,
                                         v1::QueueObject* response) override;

 private:
  SchedulerService& service_;
};

/// Thread-safe; the service must outlive the server.
class ClusterServiceImpl final : public v1::ClusterService::CallbackService {
 public:
  explicit ClusterServiceImpl(SchedulerService& service) : service_(service) {}
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
};

/// Thread-safe; the service must outlive the server.
class QuotaAdminServiceImpl final : public v1::QuotaAdminService::CallbackService {
 public:
  explicit QuotaAdminServiceImpl(SchedulerService& service) : service_(service) {}
  grpc::ServerUnaryReactor* GetQuota(grpc::CallbackServerContext* context,
                                     const v1::GetQuotaRequest* request,
                                     v1::Quota* response) override;
  grpc::ServerUnaryReactor* ListQuotas(grpc::CallbackServerContext* context,
                                       const v1::ListQuotasRequest* request,
                                       v1::ListQuotasResponse* response) override;
  grpc::ServerUnaryReactor* SetQuota(grpc::CallbackServerContext* context,
                                     const v1::SetQuotaRequest* request,
                                     v1::SetQuotaResponse* response) override;

 private:
  SchedulerService& service_;
};

}  // namespace muster::api
