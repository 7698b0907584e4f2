// Joins the parts: the handlers' context, the route table over it, and the HTTP server that serves
// the table. The context needs the server's threads and the server needs the table, so the context
// gets the threads after both exist and before the first request.
#include "api/rest/rest_server.h"

#include "api/rest/api_context.h"
#include "api/rest/handlers_page.h"
#include "api/rest/http/http_server.h"
#include "api/rest/routes.h"
#include "schedd/base/limits.h"

namespace muster::api {
namespace {

// The options of the HTTP server below.
rest::HttpOptions HttpOptionsOf(const RestOptions& options) {
  rest::HttpOptions http;
  http.host = options.host;
  http.port = options.port;
  http.threads = options.threads;
  http.socket = options.socket;
  http.connections_per_peer = options.connections_per_peer;
  http.pool_threads = limits::kRestPoolThreads;
  http.tls = options.tls;
  return http;
}

}  // namespace

struct RestServer::Impl {
  Impl(SchedulerService& service, Metrics& metrics, const auth::Authenticator& authenticator,
       const RestOptions& options)
      : context{service, metrics, authenticator},
        http(rest::RouteTable(rest::MusterRoutes(context)), metrics, HttpOptionsOf(options)) {
    context.workers = &http.workers();
    context.write_problem = options.write_problem;
    context.database = options.database;
    context.accepted = options.accepted;
    context.access_problems = options.access_problems;
    context.default_image = options.default_image;
    for (const SignInProvider& one : options.sign_in) {
      context.sign_in.push_back(
          json::object{{"name", one.name}, {"issuer", one.issuer}, {"client", one.client}});
      context.sign_in_origins += " " + rest::OriginOf(one.issuer);
    }
    context.clock = options.clock;
    context.lease = options.lease;
    context.streams = options.streams;
    for (const ServerWarning& one : options.warnings)
      context.warnings.push_back(json::object{{"type", one.type}, {"message", one.message}});
    context.events.Attach(http.workers());
  }
  rest::ApiContext context;  // outlives the server that carries its routes
  rest::HttpServer http;
};

RestServer::RestServer(SchedulerService& service, Metrics& metrics,
                       const auth::Authenticator& authenticator, RestOptions options)
    : impl_(std::make_unique<Impl>(service, metrics, authenticator, options)) {}
RestServer::~RestServer() = default;

Status RestServer::Start() { return impl_->http.Start(); }
void RestServer::Stop() { impl_->http.Stop(); }
int RestServer::port() const { return impl_->http.port(); }
void RestServer::PublishEvents(const std::vector<Event>& events) {
  impl_->context.events.Publish(events);
}

}  // namespace muster::api
