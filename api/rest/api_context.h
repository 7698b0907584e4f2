// ApiContext: what the handlers work with. Lives as long as the server.
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

struct ApiContext {
  ApiContext(api::SchedulerService& service_in, Metrics& metrics_in)
      : service(service_in), metrics(metrics_in), events(service_in) {}

  api::SchedulerService& service;
  Metrics& metrics;
  Workers* workers =
      nullptr;  // of the server that carries the routes; set before the first request
  std::function<std::string()> write_problem;  // RestOptions::write_problem; set likewise
  json::array warnings;  // of the daemon's start; fixed once it serves
  StreamSlots slots;
  EventHub events;
  api::Simulations simulations;
};

}  // namespace muster::rest
