#include "api/grpc/grpc_server.h"

#include <grpc/support/time.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_posix.h>

#include <utility>

#include "api/grpc/admin_services.h"
#include "api/grpc/event_hub.h"
#include "api/grpc/job_service.h"
#include "api/net/acceptor.h"
#include "grpc/health/v1/health.pb.h"
#include "schedd/base/check.h"
#include "schedd/base/limits.h"

namespace muster::api {
namespace {

constexpr const char* kServices[] = {"muster.v1.JobService", "muster.v1.QueueService",
                                     "muster.v1.ClusterService", "muster.v1.QuotaAdminService"};
/// One connection's open calls. What gRPC 1.51 itself does not bound, the front does.
constexpr int kStreamsPerConnection = 256;
constexpr std::size_t kMemoryBytes = 256 << 20;
constexpr int kPingIntervalMs =
    10'000;  // clients may not ping more often; two strikes end the connection
constexpr int kIdlePingMs = 60'000;  // a peer that vanished is noticed
constexpr int kPingTimeoutMs = 20'000;
constexpr int kStopGraceSeconds = 5;

void SetLimits(grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(static_cast<int>(limits::kRequestBytes));
  builder->SetMaxSendMessageSize(-1);  // what is sent is bounded by pages
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
  Impl(SchedulerService& service, GrpcOptions chosen)
      : options(std::move(chosen)),
        events(service),
        jobs(service, events),
        queues(service),
        clusters(service),
        quotas(service) {}

  const GrpcOptions options;
  EventHub events;
  JobServiceImpl jobs;
  QueueServiceImpl queues;
  ClusterServiceImpl clusters;
  QuotaAdminServiceImpl quotas;
  std::unique_ptr<grpc::Server> server;  // has no port of its own
  std::unique_ptr<front::Front> front;
};

GrpcServer::GrpcServer(SchedulerService& service, GrpcOptions options)
    : impl_(std::make_unique<Impl>(service, std::move(options))) {}

GrpcServer::~GrpcServer() { Stop(); }

Status GrpcServer::Start() {
  const GrpcOptions& options = impl_->options;
  const std::string address = net::LoopbackAddress(options.host);
  if (address.empty()) {
    return InvalidField("grpc", "listens on loopback only until authentication is set up; \"" +
                                    options.host + "\" is not a loopback address");
  }
  grpc::EnableDefaultHealthCheckService(true);
  // Links the descriptor of the health service, which reflection lists but gRPC does not carry.
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
  impl_->front = std::make_unique<front::Front>(
      [server = impl_->server.get()](int fd) { grpc::AddInsecureChannelFromFd(server, fd); },
      options.front);
  const Status started = impl_->front->Start(address, options.port);
  if (!started.ok()) {
    Stop();
    return Unavailable("gRPC " + started.error().detail);
  }
  grpc::HealthCheckServiceInterface* health = impl_->server->GetHealthCheckService();
  for (const char* name : kServices) health->SetServingStatus(name, true);
  return Done{};
}

void GrpcServer::Stop() {
  if (impl_->server == nullptr) return;
  if (impl_->front != nullptr) impl_->front->StopAccepting();
  impl_->server->GetHealthCheckService()->SetServingStatus(false);
  impl_->events.Close();
  impl_->server->Shutdown(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                       gpr_time_from_seconds(kStopGraceSeconds, GPR_TIMESPAN)));
  impl_->server->Wait();
  if (impl_->front != nullptr) impl_->front->Stop();
  impl_->server.reset();
}

int GrpcServer::port() const { return impl_->front == nullptr ? 0 : impl_->front->port(); }

void GrpcServer::PublishEvents(const std::vector<Event>& events) { impl_->events.Publish(events); }

}  // namespace muster::api
