// gRPC before the daemon is ready: every method of muster.v1 is UNAVAILABLE with the reason. The
// methods come from the descriptors, so that a new method is a case too.
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace muster::test
