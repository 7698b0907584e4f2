// gRPC before the daemon is ready: every method of muster.v1 is UNAVAILABLE with the reason. The
// methods come from the descriptors, so that a new method is a case too.
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "grpc/health/v1/health.grpc.pb.h"
#include "schedd/base/lease.h"
#include "tests/e2e/grpc/grpc_world.h"

namespace muster::test {
namespace {

struct WaitingGrpc {
  WaitingGrpc()
      : random(1),
        engine(store, clock, random, members, metrics, {}, {}),
        service(engine, store, random, authorizer, {}),
        server(service, authenticator, api::GrpcOptions{"127.0.0.1", 0}) {
    EXPECT_TRUE(server.Start().ok());
    channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(server.port()),
                                  grpc::InsecureChannelCredentials());
  }
  ~WaitingGrpc() { server.Stop(); }

  MemoryStore store;
  FakeClock clock;
  SeededRandom random;
  SilentMembers members;
  Metrics metrics;
  AllowAll authorizer;
  FixedAuthenticator authenticator;
  Engine engine;
  api::SchedulerService service;
  api::GrpcServer server;
  std::shared_ptr<grpc::Channel> channel;
};

TEST(GrpcReadiness, BeforeTheDaemonIsReadyEveryMethodIsUnavailableWithTheReason) {
  WaitingGrpc world;
  const google::protobuf::FileDescriptor* files[] = {
      v1::GetJobRequest::descriptor()->file(), v1::ApplyRequest::descriptor()->file(),
      v1::AddClusterRequest::descriptor()->file(), v1::SetQuotaRequest::descriptor()->file()};
  int methods = 0;
  for (const auto* file : files) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        const auto* method = file->service(s)->method(m);
        const std::string path = "/" + file->service(s)->full_name() + "/" + method->name();
        grpc::ClientContext context;
        const grpc::Status status = CallEmpty(world.channel, path, &context);
        EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << path;
        EXPECT_EQ(status.error_message(), "the scheduler is not ready: recovery has not run yet")
            << path;
        EXPECT_GT(context.GetServerTrailingMetadata().count("retry-after-ms"), 0U) << path;
        ++methods;
      }
    }
  }
  EXPECT_GE(methods, 20);
}

// The health of one service, as grpc.health.v1 has it.
grpc::health::v1::HealthCheckResponse::ServingStatus HealthOf(
    const std::shared_ptr<grpc::Channel>& channel, const std::string& service) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service);
  grpc::health::v1::HealthCheckResponse response;
  EXPECT_TRUE(grpc::health::v1::Health::NewStub(channel)->Check(&context, request, &response).ok());
  return response.status();
}

TEST(GrpcReadiness, ADaemonThatDoesNotLeadNamesTheLeaderAndIsNotServing) {
  WaitingGrpc world;
  LeaseBoard lease{world.clock, nullptr};
  lease.SetSelf({"own", "here", "http://here.example:1", 5000, false, {}});
  world.service.SetLease(&lease);
  const auto leader_told = [&world] {
    grpc::ClientContext context;
    EXPECT_EQ(CallEmpty(world.channel, "/muster.v1.JobService/CancelJob", &context).error_code(),
              grpc::StatusCode::UNAVAILABLE);
    const auto found = context.GetServerTrailingMetadata().find("muster-leader");
    return found == context.GetServerTrailingMetadata().end()
               ? std::string("absent")
               : std::string(found->second.data(), found->second.size());
  };
  EXPECT_EQ(leader_told(), "none");
  LeaseRow row;
  row.epoch.value = 3;
  row.id = "other";
  row.holder = "there";
  row.left_ms = row.ttl_ms = 5000;
  for (const auto& [address, told] :
       {std::pair("https://leader.example:8686", "https://leader.example:8686"),
        std::pair("", "none"), std::pair("bad\naddress", "none")}) {
    row.address = address;
    lease.Saw(row);
    EXPECT_EQ(leader_told(), told);
  }
  using grpc::health::v1::HealthCheckResponse;
  EXPECT_EQ(HealthOf(world.channel, "muster.v1.JobService"), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(HealthOf(world.channel, ""), HealthCheckResponse::SERVING) << "the process is up";
}

// A watch of events that has begun. The engine runs already.
std::unique_ptr<grpc::ClientReader<v1::Event>> OpenWatch(WaitingGrpc& world,
                                                         grpc::ClientContext* context) {
  while (!world.engine.View()->ready) std::this_thread::yield();
  const auto jobs = v1::JobService::NewStub(world.channel);
  auto watch = jobs->WatchEvents(context, v1::WatchEventsRequest());
  watch->WaitForInitialMetadata();
  return watch;
}

TEST(GrpcReadiness, AWatchThatEndsWithTheLeadNamesTheLeader) {
  WaitingGrpc world;
  LeaseBoard lease{world.clock, nullptr};
  lease.SetSelf({"own", "here", "http://here.example:1", 5000, false, {}});
  world.service.SetLease(&lease);
  std::jthread loop([&world](std::stop_token stop) { world.engine.Run(stop); });
  grpc::ClientContext context;
  const auto watch = OpenWatch(world, &context);
  LeaseRow row;
  row.epoch.value = 3;
  row.id = "other";
  row.address = "https://leader.example:8686";
  row.left_ms = row.ttl_ms = 5000;
  lease.Saw(row);
  world.server.Stop();
  v1::Event event;
  EXPECT_FALSE(watch->Read(&event));
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  const auto found = context.GetServerTrailingMetadata().find("muster-leader");
  ASSERT_NE(found, context.GetServerTrailingMetadata().end());
  EXPECT_EQ(std::string(found->second.data(), found->second.size()), row.address);
}

TEST(GrpcReadiness, AWatchEndsWhenItsDaemonHasBegunToLeadAnew) {
  WaitingGrpc world;
  LeaseBoard lease{world.clock, nullptr};
  lease.SetSelf({"own", "here", "http://here.example:1", 5000, true, {}});
  world.service.SetLease(&lease);
  LeaseRow row;
  row.epoch.value = 1;
  lease.Took({}, row);
  std::jthread loop([&world](std::stop_token stop) { world.engine.Run(stop); });
  grpc::ClientContext context;
  const auto watch = OpenWatch(world, &context);
  row.epoch.value = 2;
  lease.Took({}, row);
  v1::Event event;
  EXPECT_FALSE(watch->Read(&event));
  const grpc::Status ended = watch->Finish();
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_NE(ended.error_message().find("a new lead has begun"), std::string::npos)
      << ended.error_message();
  world.server.Stop();
}

TEST(GrpcReadiness, HealthFollowsTheLead) {
  WaitingGrpc world;
  using grpc::health::v1::HealthCheckResponse;
  EXPECT_EQ(HealthOf(world.channel, "muster.v1.QueueService"), HealthCheckResponse::NOT_SERVING);
  std::jthread loop([&world](std::stop_token stop) { world.engine.Run(stop); });
  while (HealthOf(world.channel, "muster.v1.QueueService") != HealthCheckResponse::SERVING)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  world.server.Stop();
}

// As docs/guide/high-availability.md has it.
TEST(GrpcReadiness, AClientThatChecksHealthGoesToTheLeaderByItself) {
  WaitingGrpc standby, leader;
  std::jthread loop([&leader](std::stop_token stop) { leader.engine.Run(stop); });
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON(
      R"({"loadBalancingConfig": [{"round_robin": {}}],)"
      R"( "healthCheckConfig": {"serviceName": "muster.v1.JobService"}})");
  const auto both =
      grpc::CreateCustomChannel("ipv4:127.0.0.1:" + std::to_string(standby.server.port()) +
                                    ",127.0.0.1:" + std::to_string(leader.server.port()),
                                grpc::InsecureChannelCredentials(), arguments);
  for (int i = 0; i < 10; ++i) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    const grpc::Status status = CallEmpty(both, "/muster.v1.JobService/ListJobs", &context);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  leader.server.Stop();
}

}  // namespace
}  // namespace muster::test
