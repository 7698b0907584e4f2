// QuotaAdminService of muster.v1 over SchedulerService.
#pragma once

#include "api/grpc/call.h"
#include "api/service/scheduler_service.h"
#include "muster/v1/quota.grpc.pb.h"

namespace muster::api {

/// Thread-safe; the service must outlive the server.
class QuotaAdminServiceImpl final : public v1::QuotaAdminService::CallbackService {
 public:
  QuotaAdminServiceImpl(SchedulerService& service, const Callers& callers)
      : service_(service), callers_(callers) {}
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
  const Callers& callers_;
};

}  // namespace muster::api
