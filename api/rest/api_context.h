// ApiContext: the objects that all handlers use. Lives as long as the server.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "api/auth/authenticator.h"
#include "api/rest/event_hub.h"
#include "api/rest/http/workers.h"
#include "api/rest/stream_slots.h"
#include "api/service/job_table.h"
#include "api/service/scheduler_service.h"
#include "api/service/simulations.h"
#include "api/service/stream_counts.h"
#include "schedd/base/clock.h"
#include "schedd/base/lease.h"
#include "schedd/base/limits.h"
#include "schedd/telemetry/metrics.h"

namespace muster::rest {

/// The user that sent a request.
using Caller = auth::Principal;

struct ApiContext {
  ApiContext(api::SchedulerService& service_in, Metrics& metrics_in,
             const auth::Authenticator& authenticator_in)
      : service(service_in),
        metrics(metrics_in),
        authenticator(authenticator_in),
        tables(service_in),
        events(service_in, authenticator_in) {}

  api::SchedulerService& service;
  Metrics& metrics;
  const auth::Authenticator& authenticator;
  // The threads of the HTTP server and RestOptions::write_problem; set before the first request.
  Workers* workers = nullptr;
  std::function<std::string()> write_problem;
  std::function<json::object()> database;                     // RestOptions::database
  std::vector<std::string> accepted;                          // RestOptions::accepted
  std::function<std::vector<std::string>()> access_problems;  // RestOptions::access_problems
  json::array sign_in;                // RestOptions::sign_in; fixed before the first request
  std::string sign_in_origins;        // of them, each after a space
  std::string default_image;          // RestOptions::default_image; fixed before the first request
  const LeaseBoard* lease = nullptr;  // RestOptions::lease
  const Clock* clock = nullptr;       // RestOptions::clock; null: the time of the published view
  json::array warnings;               // RestOptions::warnings; fixed before the first request
  api::StreamCounts streams{limits::kStreamsPerUser};  // RestOptions::streams; fixed as well
  api::JobTables tables;
  std::atomic<bool> tables_watched{false};  // handlers_jobs.cc will look for old tables
  StreamSlots slots;
  EventHub events;
  api::Simulations simulations;
};

}  // namespace muster::rest
