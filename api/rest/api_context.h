// ApiContext: the objects that all handlers use. Lives as long as the server.
#pragma once

#include <functional>
#include <string>

#include "api/rest/event_hub.h"
#include "api/rest/http/workers.h"
#include "api/rest/stream_slots.h"
#include "api/service/scheduler_service.h"
#include "api/service/simulations.h"
#include "schedd/telemetry/metrics.h"

namespace muster::rest {

/// The user that sent a request.
using Caller = auth::Principal;

struct ApiContext {
  ApiContext(api::SchedulerService& service_in, Metrics& metrics_in)
      : service(service_in), metrics(metrics_in), events(service_in) {}

  api::SchedulerService& service;
  Metrics& metrics;
  // The threads of the HTTP server and RestOptions::write_problem; set before the first request.
  Workers* workers = nullptr;
  std::function<std::string()> write_problem;
  json::array warnings;  // RestOptions::warnings; fixed before the first request
  StreamSlots slots;
  EventHub events;
  api::Simulations simulations;
};

}  // namespace muster::rest
