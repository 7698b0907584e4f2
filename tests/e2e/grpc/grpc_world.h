// A real gRPC server on a free loopback port over a running engine, and a channel to it.
#pragma once

#include "api/grpc/grpc_server.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "muster/v1/clusters.grpc.pb.h"
#include "muster/v1/jobs.grpc.pb.h"
#include "muster/v1/queues.grpc.pb.h"
#include "muster/v1/quota.grpc.pb.h"
#include "schedd/store/memory/memory_store.h"
#include "tests/support/allow_all.h"
#include "tests/support/builders.h"
#include "tests/support/fake_clock.h"

namespace muster::test {

/// Members that take every order and never report.
class SilentMembers final : public OrderSink {
 public:
  void Ensure(const DispatchKey&, JobPtr, const std::string&) override {}
  void Remove(const DispatchKey&, RemovePolicy) override {}
  void Acknowledge(const DispatchKey&, const RemoteObject&, const std::string&) override {}
  void Confirm(const DispatchKey&, const RemoteObject&, const std::string&) override {}
  void List(const std::string&) override {}
  void Forget() override {}
};

/// A cluster that cannot be reached and whose user lacks permissions.
class FakeProbe final : public MemberProbe {
 public:
  Result<MemberReport> Ask(const MemberDeclaration& member) override {
    const std::lock_guard lock(mutex_);
    asked_ = member;
    MemberReport report;
    report.version = "v1.34.1";
    report.problems = {"it cannot be reached"};
    report.role = "role";
    return report;
  }
  MemberDeclaration asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  // ThreadSanitizer does not see that an answer of gRPC comes after its question.
  std::mutex mutex_;
  MemberDeclaration asked_;
};

inline std::string JobText(const std::string& name, const std::string& queue = "queue",
                           const std::string& cpu = "1") {
  return R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":")" + name +
         R"(","labels":{"kueue.x-k8s.io/queue-name":")" + queue +
         R"("}},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"busybox",)" +
         R"("resources":{"requests":{"cpu":")" + cpu + R"("}}}]}}}})";
}

/// Calls any method with one empty message.
inline grpc::Status CallEmpty(const std::shared_ptr<grpc::Channel>& channel,
                              const std::string& method, grpc::ClientContext* context) {
  grpc::GenericStub stub(channel);
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  grpc::CompletionQueue queue;
  auto call = stub.PrepareCall(context, method, &queue);
  const auto wait = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
  };
  call->StartCall(nullptr);
  wait();
  const grpc::Slice nothing("", 0);
  call->WriteLast(grpc::ByteBuffer(&nothing, 1), {}, nullptr);
  wait();
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  wait();
  grpc::Status status;
  call->Finish(&status, nullptr);
  wait();
  return status;
}

class GrpcServerTest : public ::testing::Test {
 protected:
  explicit GrpcServerTest(EngineOptions options = {}, api::front::FrontOptions front = {})
      : random_(1),
        engine_(store_, clock_, random_, members_, metrics_, std::move(options),
                [this](const std::vector<Event>& events) { Publish(events); }),
        service_(engine_, store_, random_, authorizer_,
                 [this](const std::string&) { return backend_.load(); }),
        server_(std::make_unique<api::GrpcServer>(
            service_, authenticator_,
            api::GrpcOptions{"127.0.0.1", 0, api::StreamCounts(0), front})),
        loop_([this](std::stop_token stop) { engine_.Run(stop); }) {
    while (!engine_.View()->ready) std::this_thread::yield();
    Apply({NamespaceObject("default"), FlavorObject("default"),
           ClusterQueueObject({.name = "cq", .cohort = "all"}), LocalQueueObject("queue", "cq"),
           MemberObject("east", {{"cpu", 64000}})});
    const Status started = server_->Start();
    EXPECT_TRUE(started.ok());
    channel_ = grpc::CreateChannel("127.0.0.1:" + std::to_string(server_->port()),
                                   grpc::InsecureChannelCredentials());
    jobs_ = v1::JobService::NewStub(channel_);
    queues_ = v1::QueueService::NewStub(channel_);
    clusters_ = v1::ClusterService::NewStub(channel_);
    quotas_ = v1::QuotaAdminService::NewStub(channel_);
  }

  ~GrpcServerTest() override {
    server_->Stop();
    loop_.request_stop();
    loop_.join();
    server_.reset();
  }

  void Publish(const std::vector<Event>& events) {
    if (server_started_) server_->PublishEvents(events);
  }

  void Apply(std::vector<ObjectChange> changes) {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    ApplyCommand command;
    command.changes = std::move(changes);
    command.done = [&](Result<std::vector<AppliedObject>> result) {
      EXPECT_TRUE(result.ok());
      std::lock_guard lock(mutex);
      done = true;
      changed.notify_all();
    };
    ASSERT_TRUE(engine_.Post(std::move(command)));
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return done; });
  }

  grpc::Status Submit(const std::string& manifest, v1::SubmitJobResponse* response,
                      grpc::ClientContext* context) {
    v1::SubmitJobRequest request;
    request.set_manifest(manifest);
    return jobs_->SubmitJob(context, request, response);
  }

  std::int64_t MustSubmit(const std::string& manifest) {
    grpc::ClientContext context;
    v1::SubmitJobResponse response;
    const grpc::Status status = Submit(manifest, &response, &context);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.job().id();
  }

  /// One bare call of one message each way, streamed or not; the answer's bytes.
  std::string BareCall(const std::string& method, const std::string& bytes) {
    grpc::GenericStub stub(channel_);
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    auto call = stub.PrepareCall(&context, method, &queue);
    const auto wait = [&queue] {
      void* tag = nullptr;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    };
    call->StartCall(nullptr);
    EXPECT_TRUE(wait());
    const grpc::Slice slice(bytes);
    call->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
    EXPECT_TRUE(wait());
    grpc::ByteBuffer answer;
    call->Read(&answer, nullptr);
    EXPECT_TRUE(wait()) << method;
    grpc::Status status;
    call->Finish(&status, nullptr);
    wait();
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::vector<grpc::Slice> slices;
    EXPECT_TRUE(answer.Dump(&slices).ok());
    std::string out;
    for (const grpc::Slice& part : slices)
      out.append(reinterpret_cast<const char*>(part.begin()), part.size());
    return out;
  }

  FakeClock clock_;
  SeededRandom random_;
  MemoryStore store_;
  SilentMembers members_;
  Metrics metrics_;
  AllowAll authorizer_;
  FixedAuthenticator authenticator_;
  std::atomic<bool> server_started_{false};
  std::atomic<Backend*> backend_{nullptr};
  Engine engine_;
  api::SchedulerService service_;
  std::unique_ptr<api::GrpcServer> server_;
  std::jthread loop_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::JobService::Stub> jobs_;
  std::unique_ptr<v1::QueueService::Stub> queues_;
  std::unique_ptr<v1::ClusterService::Stub> clusters_;
  std::unique_ptr<v1::QuotaAdminService::Stub> quotas_;
};

}  // namespace muster::test
