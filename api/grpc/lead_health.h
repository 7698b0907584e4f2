// grpc.health.v1 by service: SERVING while this daemon leads. A client that knows several servers
// and lets gRPC check their health (healthCheckConfig in its service config) goes to the leader by
// itself. The health of "" is that of the process: SERVING while it runs, as /livez of REST.
#pragma once

#include <grpcpp/health_check_service_interface.h>

#include <array>

#include "api/grpc/event_hub.h"
#include "api/service/scheduler_service.h"

namespace muster::api {

/// The services whose health follows the lead.
inline constexpr std::array<const char*, 4> kServices = {
    "muster.v1.JobService", "muster.v1.QueueService", "muster.v1.ClusterService",
    "muster.v1.QuotaAdminService"};

/// Ticked by the event hub. The references must outlive it.
class LeadHealth final : public TickedStream {
 public:
  /// Tells the health of now; then OnTick tells each change.
  LeadHealth(const SchedulerService& service, grpc::HealthCheckServiceInterface& health);
  void OnTick(std::int64_t ms) override;

 private:
  void Tell(bool leads);

  const SchedulerService& service_;
  grpc::HealthCheckServiceInterface& health_;
  bool told_ = false;
};

}  // namespace muster::api
