#include "api/grpc/grpc_server.h"

#include <grpc/support/time.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>

#include <utility>

#include "api/grpc/admin_services.h"
#include "api/grpc/event_hub.h"
#include "api/grpc/job_service.h"
#include "grpc/health/v1/health.pb.h"
#include "schedd/base/check.h"
#include "schedd/base/limits.h"

namespace muster::api {
namespace {

constexpr const char* kServices[] = {"muster.v1.JobService", "muster.v1.QueueService",
                                     "muster.v1.ClusterService", "muster.v1.QuotaAdminService"};
/// One connection's open calls. gRPC 1.51 predates the hardening against clients that open and
/// reset streams without end, so the bound is low and the memory quota below is hard.
constexpr int kStreamsPerConnection = 256;
constexpr std::size_t kMemoryBytes = 256 << 20;
constexpr int kPingIntervalMs =
    10'000;  // clients may not ping more often; two strikes end the connection
constexpr int kIdlePingMs = 60'000;  // a peer that vanished is noticed
constexpr int kPingTimeoutMs = 20'000;
constexpr int kStopGraceSeconds = 5;

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host == "127.0.0.1";
}

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
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT,
                              0);  // a port in use is an error, not shared
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
  std::unique_ptr<grpc::Server> server;
  int port = 0;
};

GrpcServer::GrpcServer(SchedulerService& service, GrpcOptions options)
    : impl_(std::make_unique<Impl>(service, std::move(options))) {}

GrpcServer::~GrpcServer() { Stop(); }

Status GrpcServer::Start() {
  const GrpcOptions& options = impl_->options;
  if (!IsLoopback(options.host)) {
    return InvalidField("grpc", "listens on loopback only until authentication is set up; \"" +
                                    options.host + "\" is not a loopback address");
  }
  const std::string host = options.host == "::1" ? "[::1]" : options.host;
  const std::string address = host + ":" + std::to_string(options.port);
  grpc::EnableDefaultHealthCheckService(true);
  // Links the descriptor of the health service, which reflection lists but gRPC does not carry.
  MUSTER_CHECK(grpc::health::v1::HealthCheckRequest::descriptor() != nullptr);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  SetLimits(&builder);
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &impl_->port);
  builder.RegisterService(&impl_->jobs);
  builder.RegisterService(&impl_->queues);
  builder.RegisterService(&impl_->clusters);
  builder.RegisterService(&impl_->quotas);
  impl_->server = builder.BuildAndStart();
  if (impl_->server == nullptr || impl_->port == 0) {
    impl_->server.reset();
    return Unavailable("gRPC cannot listen on " + address + ": is the port in use?");
  }
  grpc::HealthCheckServiceInterface* health = impl_->server->GetHealthCheckService();
  for (const char* name : kServices) health->SetServingStatus(name, true);
  return Done{};
}

void GrpcServer::Stop() {
  if (impl_->server == nullptr) return;
  impl_->server->GetHealthCheckService()->SetServingStatus(false);
  impl_->events.Close();
  impl_->server->Shutdown(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                       gpr_time_from_seconds(kStopGraceSeconds, GPR_TIMESPAN)));
  impl_->server->Wait();
  impl_->server.reset();
}

int GrpcServer::port() const { return impl_->port; }

void GrpcServer::PublishEvents(const std::vector<Event>& events) { impl_->events.Publish(events); }

}  // namespace muster::api
