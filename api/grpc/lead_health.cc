// The health of muster.v1, told to gRPC when it changes: the library wakes all its watchers.
#include "api/grpc/lead_health.h"

namespace muster::api {

LeadHealth::LeadHealth(const SchedulerService& service, grpc::HealthCheckServiceInterface& health)
    : service_(service), health_(health) {
  Tell(service_.Ready().ok());
}

void LeadHealth::OnTick(std::int64_t) {
  const bool leads = service_.Ready().ok();
  if (leads != told_) Tell(leads);
}

void LeadHealth::Tell(bool leads) {
  told_ = leads;
  for (const char* name : kServices) health_.SetServingStatus(name, leads);
}

}  // namespace muster::api
