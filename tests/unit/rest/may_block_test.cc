// Finding out who asks may take seconds, where a name service or a provider is slow. The threads
// that read connections must not be held by that.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "api/rest/routes.h"
#include "tests/unit/rest/waiting_world.h"

namespace muster::test {
namespace {

// Answers a credential of the kind "Slow" only once it is told to.
class SlowAuthenticator final : public auth::Authenticator {
 public:
  Result<auth::Principal> Authenticate(const auth::Evidence& evidence) const override {
    if (evidence.authorization->empty()) return Tester();
    std::unique_lock lock(mutex_);
    ++held_;
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::seconds(60), [this] { return over_; });
    return Tester();
  }
  Status StillGood(const auth::Principal&) const override { return Done{}; }
  bool MayBlock(const auth::Authorization& authorization, const net::Peer*) const override {
    return !authorization.empty();
  }
  // Until so many requests are held.
  void AwaitHeld(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(60), [&] { return held_ >= count; });
    EXPECT_GE(held_, count);
  }
  void Release() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable int held_ = 0;
  bool over_ = false;
};

TEST(MayBlock, IsAskedForEveryRouteThatRunsWhereConnectionsAreRead) {
  SlowAuthenticator slow;
  WaitingWorld world(&slow);
  rest::Request known, unknown;
  unknown.authorization = "Slow x";
  int inlined = 0;
  for (const rest::Route& route : rest::MusterRoutes(world.context)) {
    const std::string way = std::string(rest::MethodName(route.method)) + " " + route.pattern;
    const bool asks = route.run == rest::Run::kInline && route.access != rest::Access::kPublic;
    ASSERT_EQ(route.may_block != nullptr, asks) << way;
    if (!asks) continue;
    ++inlined;
    EXPECT_TRUE(route.may_block(unknown)) << way;
    EXPECT_FALSE(route.may_block(known)) << way;
  }
  EXPECT_GE(inlined, 5);
}

TEST(MayBlock, SubmissionsThatReadTheStore_RunOnThePool) {
  SlowAuthenticator slow;
  WaitingWorld world(&slow);
  const auto routes = rest::MusterRoutes(world.context);
  const auto submit = std::find_if(routes.begin(), routes.end(), [](const rest::Route& route) {
    return route.pattern == "/v1/namespaces/{namespace}/jobs" &&
           route.method == rest::Method::kPost;
  });
  ASSERT_NE(submit, routes.end());
  const auto blocks = [&](const std::string& body, bool dry = false) {
    rest::Request request;
    request.body = body;
    if (dry) request.query.emplace_back("dryRun", "true");
    return submit->may_block(request);
  };
  EXPECT_FALSE(blocks(R"({"script":"#!/bin/sh\n#SBATCH -n2\ntrue\n"})"));
  EXPECT_TRUE(blocks(R"({"script":"#!/bin/sh\ntrue\n"})", true));
  EXPECT_TRUE(blocks(R"({"script":"#!/bin/sh\ntrue\n","dependency":"afterok:7"})"));
  EXPECT_TRUE(blocks(R"({"script":"#!/bin/sh\n#SBATCH -d afterok:7\ntrue\n"})"));
  EXPECT_TRUE(blocks(R"({"script":"#!/bin/sh\n#SBATCH --depend=afterok:7\ntrue\n"})"));
}

TEST(MayBlock, RequestsThatWaitForTheirSender_HoldNoThreadThatReadsConnections) {
  SlowAuthenticator slow;
  WaitingWorld world(&slow);
  // More than there are threads that read.
  constexpr int kHeld = 4;
  std::vector<std::unique_ptr<RawClient>> held;
  for (int i = 0; i < kHeld; ++i) {
    held.push_back(std::make_unique<RawClient>(world.server.port()));
    held.back()->Send("GET /version HTTP/1.1\r\nHost: localhost\r\nAuthorization: Slow x\r\n\r\n");
  }
  slow.AwaitHeld(kHeld);
  for (int i = 0; i < 2 * kHeld; ++i) {
    EXPECT_EQ(world.Ask("GET", "/livez").status, 200);
    EXPECT_EQ(world.Ask("GET", "/version").status, 200) << "whose sender is known at once";
  }
  slow.Release();
  for (const auto& client : held) EXPECT_EQ(client->Read().status, 200);
}

}  // namespace
}  // namespace muster::test
