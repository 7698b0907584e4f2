// Starts and stops gRPC behind the front (api/grpc/front). gRPC itself has no port: the front
// accepts, bounds what a connection may do, and hands gRPC one end of a socket pair per connection.
//
// Start order: gRPC's server, its health (lead_health.h), then the front. Stop order: the
// front stops accepting, health says "not serving", event watches end (they would never end by
// themselves), gRPC finishes the calls in flight, and the front closes what is left.
#include "api/grpc/grpc_server.h"

#include <grpc/support/time.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_posix.h>

#include <utility>

#include "api/grpc/call.h"
#include "api/grpc/cluster_service.h"
#include "api/grpc/event_hub.h"
#include "api/grpc/job_service.h"
#include "api/grpc/lead_health.h"
#include "api/grpc/queue_service.h"
#include "api/grpc/quota_service.h"
#include "api/net/listen_address.h"
#include "grpc/health/v1/health.pb.h"
#include "schedd/base/check.h"
#include "schedd/base/limits.h"

namespace muster::api {
namespace {

// Open calls of one connection. The front bounds what gRPC 1.51 cannot.
constexpr int kStreamsPerConnection = 256;
// All of gRPC's buffers together.
constexpr std::size_t kMemoryBytes = 256 << 20;
// Clients may not ping more often; the third ping too many ends the connection.
constexpr int kPingIntervalMs = 10'000;
// The server pings an idle client this often and waits this long for the answer, so that a client
// that vanished is noticed.
constexpr int kIdlePingMs = 60'000;
constexpr int kPingTimeoutMs = 20'000;
constexpr int kStopGraceSeconds = 5;

// Every bound that gRPC offers; front/README.md lists the others.
void SetLimits(grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(static_cast<int>(limits::kRequestBytes));
  builder->SetMaxSendMessageSize(-1);  // pages bound what is sent
  grpc::ResourceQuota quota("muster");
  quota.Resize(kMemoryBytes);
  builder->SetResourceQuota(quota);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsPerConnection);
  builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, static_cast<int>(limits::kHeaderBytes));
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                              kPingIntervalMs);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 2);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kIdlePingMs);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeoutMs);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                              static_cast<int>(limits::kGrpcIdleMs));
}

}  // namespace

struct GrpcServer::Impl {
  Impl(SchedulerService& service, const auth::Authenticator& authenticator, GrpcOptions chosen)
      : options(std::move(chosen)),
        scheduler(service),
        callers(service, authenticator, peers),
        events(service, authenticator, options.streams),
        jobs(service, callers, events),
        queues(service, callers),
        clusters(service, callers),
        quotas(service, callers) {}

  const GrpcOptions options;
  SchedulerService& scheduler;
  front::PeerRegistry peers;
  Callers callers;
  EventHub events;
  JobServiceImpl jobs;
  QueueServiceImpl queues;
  ClusterServiceImpl clusters;
  QuotaAdminServiceImpl quotas;
  std::unique_ptr<grpc::Server> server;  // has no port of its own
  std::shared_ptr<LeadHealth> health;
  std::unique_ptr<front::Front> front;
};

GrpcServer::GrpcServer(SchedulerService& service, const auth::Authenticator& authenticator,
                       GrpcOptions options)
    : impl_(std::make_unique<Impl>(service, authenticator, std::move(options))) {}

GrpcServer::~GrpcServer() { Stop(); }

Status GrpcServer::Start() {
  const GrpcOptions& options = impl_->options;
  Status may = net::MayListen("gRPC", options.host, options.front.tls != nullptr);
  if (!may.ok()) return may;
  const auto address = net::ListenAddress(options.host);
  if (!address.ok()) return address.error();
  grpc::EnableDefaultHealthCheckService(true);
  // Using the type links its descriptor: reflection lists the health service, but gRPC's library
  // does not contain the descriptor.
  MUSTER_CHECK(grpc::health::v1::HealthCheckRequest::descriptor() != nullptr);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  SetLimits(&builder);
  builder.RegisterService(&impl_->jobs);
  builder.RegisterService(&impl_->queues);
  builder.RegisterService(&impl_->clusters);
  builder.RegisterService(&impl_->quotas);
  impl_->server = builder.BuildAndStart();
  if (impl_->server == nullptr) return Unavailable("gRPC cannot start");
  impl_->health =
      std::make_shared<LeadHealth>(impl_->scheduler, *impl_->server->GetHealthCheckService());
  impl_->events.AlsoTick(impl_->health);
  // Calls cannot wait for a name service, so their connections do.
  front::FrontOptions front = options.front;
  if (!front.prepare) {
    front.prepare = [&authenticator = impl_->callers.authenticator()](const net::Peer& peer,
                                                                      std::function<void()> ready) {
      authenticator.Prepare(peer, std::move(ready));
    };
  }
  // The front hands each connection over as a descriptor.
  impl_->front = std::make_unique<front::Front>(
      [server = impl_->server.get()](int fd) { grpc::AddInsecureChannelFromFd(server, fd); },
      impl_->peers, std::move(front));
  const Status started = impl_->front->Start(*address, options.port, options.socket);
  if (!started.ok()) {
    Stop();
    return Unavailable("gRPC " + started.error().detail);
  }
  return Done{};
}

void GrpcServer::Stop() {
  if (impl_->server == nullptr) return;
  if (impl_->front != nullptr) impl_->front->StopAccepting();
  impl_->events.Close();
  // Nothing ticks any more.
  impl_->health.reset();
  impl_->server->GetHealthCheckService()->SetServingStatus(false);
  impl_->server->Shutdown(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                       gpr_time_from_seconds(kStopGraceSeconds, GPR_TIMESPAN)));
  impl_->server->Wait();
  if (impl_->front != nullptr) impl_->front->Stop();
  impl_->server.reset();
}

int GrpcServer::port() const { return impl_->front == nullptr ? 0 : impl_->front->port(); }

void GrpcServer::PublishEvents(const std::vector<Event>& events) { impl_->events.Publish(events); }

}  // namespace muster::api
