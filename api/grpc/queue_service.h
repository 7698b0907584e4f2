// QueueService of muster.v1 over SchedulerService.
#pragma once

#include "api/grpc/call.h"
#include "api/service/scheduler_service.h"
#include "muster/v1/queues.grpc.pb.h"

namespace muster::api {

/// Thread-safe; the service must outlive the server.
class QueueServiceImpl final : public v1::QueueService::CallbackService {
 public:
  QueueServiceImpl(SchedulerService& service, const Callers& callers)
      : service_(service), callers_(callers) {}
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
  const Callers& callers_;
};

}  // namespace muster::api
