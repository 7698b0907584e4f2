#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <deque>
#include <set>

#include "tests/unit/k8s_client/client_world.h"

namespace muster::k8s::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Targets(const TestServer& server) {
  std::vector<std::string> out;
  for (const auto& seen : server.seen()) out.push_back(seen.target);
  return out;
}

// A port of loopback where nothing listens.
int DeadPort() {
  boost::asio::io_context io;
  boost::asio::ip::tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), 0});
  return acceptor.local_endpoint().port();
}

TEST(ApiClient, ARequestArrivesAsItWasMeantAndOneConnectionServesMany) {
  ClientWorld world;
  TestServer server([](const SeenRequest& seen) {
    return Reply{201, "{\"got\":\"" + seen.body + "\"}"};
  });
  MemberAccess access = AccessTo(server);
  access.base_path = "/k8s/c-1";
  access.token.data = "sesame";
  const auto client = world.Client(access);
  for (int i = 0; i < 20; ++i) {
    const auto answer = Answer(*client, Post("/api/v1/pods?dryRun=All", "x")).Get();
    ASSERT_TRUE(answer) << answer.error().detail;
    EXPECT_EQ(answer->status, 201);
    EXPECT_EQ(answer->body, "{\"got\":\"x\"}");
  }
  EXPECT_EQ(server.accepted(), 1);
  const SeenRequest first = server.seen().front();
  EXPECT_EQ(first.method, "POST");
  EXPECT_EQ(first.target, "/k8s/c-1/api/v1/pods?dryRun=All");
  EXPECT_EQ(first.authorization, "Bearer sesame");
  EXPECT_EQ(first.content_type, "application/json");
  EXPECT_EQ(first.host, "127.0.0.1:" + std::to_string(server.port()));
}

TEST(ApiClient, AnyStatusIsAResponse) {
  ClientWorld world;
  TestServer server([](const SeenRequest& seen) {
    return Reply{std::stoi(seen.target.substr(1)), "why"};
  });
  const auto client = world.Client(AccessTo(server));
  for (const int status : {200, 400, 401, 403, 404, 409, 410, 422, 500, 502, 503, 504}) {
    const auto answer = Answer(*client, Get("/" + std::to_string(status))).Get();
    ASSERT_TRUE(answer) << status;
    EXPECT_EQ(answer->status, status);
    EXPECT_EQ(answer->body, "why");
  }
  EXPECT_EQ(server.count(), 12u);
  EXPECT_TRUE(client->Health().reachable);
}

TEST(ApiClient, ConnectionsAreBounded) {
  ClientWorld world;
  Latch latch;
  TestServer server([&](const SeenRequest&) {
    latch.Wait();
    return Reply{};
  });
  const auto client = world.Client(AccessTo(server), {.connections = 3});
  std::deque<Answer> answers;
  for (int i = 0; i < 30; ++i) answers.emplace_back(*client, Get("/x"));
  EXPECT_TRUE(Eventually([&] { return server.count() == 3; }));
  latch.Open();
  for (const auto& answer : answers) EXPECT_EQ(answer.Status(), 200);
  EXPECT_EQ(server.accepted(), 3);
}

TEST(ApiClient, ReleasesGoBeforeCreatesBeforeReadsBeforeLists) {
  ClientWorld world;
  Latch latch;
  TestServer server([&](const SeenRequest& seen) {
    if (seen.target == "/first") latch.Wait();
    return Reply{};
  });
  const auto client = world.Client(AccessTo(server), {.connections = 1});
  std::deque<Answer> answers;
  answers.emplace_back(*client, Get("/first"));
  ASSERT_TRUE(Eventually([&] { return server.count() == 1; }));
  answers.emplace_back(*client, Get("/list", Urgency::kList));
  answers.emplace_back(*client, Get("/read", Urgency::kRead));
  answers.emplace_back(*client, Get("/create", Urgency::kCreate));
  answers.emplace_back(*client, Get("/release", Urgency::kRelease));
  latch.Open();
  for (const auto& answer : answers) EXPECT_EQ(answer.Status(), 200);
  EXPECT_THAT(Targets(server), ElementsAre("/first", "/release", "/create", "/read", "/list"));
}

TEST(ApiClient, ListsLeaveConnectionsToWhatIsUrgent) {
  ClientWorld world;
  Latch latch;
  TestServer server([&](const SeenRequest& seen) {
    if (seen.target == "/list") latch.Wait();
    return Reply{};
  });
  const auto client = world.Client(AccessTo(server), {.connections = 3});
  std::deque<Answer> lists;
  for (int i = 0; i < 5; ++i) lists.emplace_back(*client, Get("/list", Urgency::kList));
  EXPECT_EQ(Answer(*client, Get("/release", Urgency::kRelease)).Status(), 200);
  EXPECT_EQ(Answer(*client, Get("/read")).Status(), 200);
  latch.Open();
  for (const auto& list : lists) EXPECT_EQ(list.Status(), 200);
}

TEST(ApiClient, AMemberThatCannotBeConnectedHasSurelyDoneNothing) {
  ClientWorld world;
  MemberAccess access;
  access.tls = false;
  access.host = "127.0.0.1";
  access.port = std::to_string(DeadPort());
  const auto client = world.Client(access);
  const Answer answer(*client, Post("/x"));
  EXPECT_EQ(answer.GetCode(), Code::kUnavailable);
  EXPECT_EQ(answer.Sentence(),
            "member east: cannot connect to 127.0.0.1:" + access.port + ": Connection refused");
}

TEST(ApiClient, AHostWithoutAnAddressIsUnavailable) {
  ClientWorld world;
  MemberAccess access;
  access.tls = false;
  access.host = "no-such-host.invalid";
  access.port = "6443";
  const auto client = world.Client(access);
  const Answer answer(*client, Get("/x"));
  EXPECT_EQ(answer.GetCode(), Code::kUnavailable);
  EXPECT_THAT(answer.Sentence(),
              HasSubstr("member east: its host name no-such-host.invalid is not found"));
}

TEST(ApiClient, WhatWasSentAndNotAnsweredMayHaveHappened) {
  ClientWorld world;
  TestServer server([](const SeenRequest& seen) {
    Reply reply{201, "{\"metadata\":{}}"};
    reply.drop = seen.target == "/drop";
    reply.cut_after = seen.target == "/cut" ? 25 : 0;
    return reply;
  });
  const auto client = world.Client(AccessTo(server));
  EXPECT_EQ(Answer(*client, Post("/drop")).GetCode(), Code::kUnknown);
  EXPECT_EQ(Answer(*client, Post("/cut")).GetCode(), Code::kUnknown);
  EXPECT_EQ(server.count(), 2u);  // neither was repeated
}

TEST(ApiClient, AConnectionThatDiedIdleCostsNothing) {
  ClientWorld world;
  TestServer server([](const SeenRequest&) {
    Reply reply;
    reply.close_after = true;  // though the answer said that it would stay open
    return reply;
  });
  const auto client = world.Client(AccessTo(server));
  for (int i = 0; i < 30; ++i) EXPECT_EQ(Answer(*client, Get("/x")).Status(), 200) << i;
  EXPECT_TRUE(client->Health().reachable);
}

TEST(ApiClient, AnIdleConnectionIsClosedAfterAWhile) {
  ClientWorld world;
  TestServer server([](const SeenRequest&) { return Reply{}; });
  const auto client = world.Client(AccessTo(server));
  EXPECT_EQ(Answer(*client, Get("/x")).Status(), 200);
  world.Advance(29'000);
  EXPECT_EQ(Answer(*client, Get("/x")).Status(), 200);
  EXPECT_EQ(server.accepted(), 1);
  world.Advance(31'000);
  EXPECT_EQ(Answer(*client, Get("/x")).Status(), 200);
  EXPECT_EQ(server.accepted(), 2);
}

TEST(ApiClient, AReusedConnectionThatDropsAReadIsReplacedAndOneThatDropsAWriteIsNot) {
  ClientWorld world;
  std::atomic<int> requests{0};
  TestServer server([&](const SeenRequest&) {
    Reply reply;
    const int n = ++requests;
    reply.drop = n == 2 || n == 4;  // the second request of a connection
    return reply;
  });
  const auto client = world.Client(AccessTo(server), {.connections = 1});
  EXPECT_EQ(Answer(*client, Get("/a")).Status(), 200);               // 1
  EXPECT_EQ(Answer(*client, Get("/b")).Status(), 200);               // 2, 3
  EXPECT_EQ(Answer(*client, Post("/c")).GetCode(), Code::kUnknown);  // 4
  EXPECT_THAT(Targets(server), ElementsAre("/a", "/b", "/b", "/c"));
}

TEST(ApiClient, TimeOutsTellWhatMayHaveHappened) {
  ClientWorld world;
  Latch latch;
  TestServer server([&](const SeenRequest&) {
    latch.Wait();
    return Reply{};
  });
  const auto client = world.Client(AccessTo(server), {.connections = 1});
  const Answer sent(*client, Post("/sent"));
  ASSERT_TRUE(Eventually([&] { return server.count() == 1; }));
  ApiRequest short_one = Post("/waits");
  short_one.timeout_ms = 5000;
  const Answer waits(*client, short_one);
  ASSERT_TRUE(world.AdvanceUntil([&] { return sent.here() && waits.here(); }));
  EXPECT_EQ(sent.GetCode(), Code::kUnknown);
  EXPECT_EQ(sent.Sentence(), "member east: it did not answer within 30 s");
  EXPECT_EQ(waits.GetCode(), Code::kUnavailable);
  EXPECT_EQ(waits.Sentence(), "member east: no connection was free within 5 s");
  latch.Open();
  EXPECT_EQ(Answer(*client, Get("/again")).Status(), 200);
}

TEST(ApiClient, AServerThatNeverShakesHandsIsUnavailable) {
  ClientWorld world;
  boost::asio::io_context io;
  // Connections are accepted; nobody answers on them.
  boost::asio::ip::tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), 0});
  MemberAccess access;
  access.host = "127.0.0.1";
  access.port = std::to_string(acceptor.local_endpoint().port());
  const auto client = world.Client(access);
  const Answer answer(*client, Post("/x"));
  const auto socket = acceptor.accept();
  ASSERT_TRUE(world.AdvanceUntil([&] { return answer.here(); }, 1000));
  EXPECT_EQ(answer.GetCode(), Code::kUnavailable);
  EXPECT_EQ(answer.Sentence(),
            "member east: 127.0.0.1:" + access.port + " did not accept a connection within 10 s");
}

TEST(ApiClient, TooManyRequestsIsWaitedForAndRepeated) {
  ClientWorld world;
  std::atomic<int> requests{0};
  TestServer server([&](const SeenRequest& seen) {
    const int n = ++requests;
    if (n == 1) return Reply{429, "", {{"Retry-After", "2"}}};
    if (n == 2) return Reply{503, "", {{"Retry-After", "1"}}};
    return Reply{200, seen.body};
  });
  const auto client = world.Client(AccessTo(server));
  const Answer answer(*client, Post("/x", "body"));
  ASSERT_TRUE(world.AdvanceUntil([&] { return answer.here(); }));
  ASSERT_EQ(answer.Status(), 200);
  EXPECT_EQ(answer.Get()->body, "body");
  EXPECT_EQ(server.count(), 3u);
  // Never sooner than it was asked to wait.
  EXPECT_GE(world.clock.Now() - Monotonic{kNanosPerSecond}, 3 * kNanosPerSecond);
}

TEST(ApiClient, TooManyRequestsHoldsTheOthersToo) {
  ClientWorld world;
  TestServer server([](const SeenRequest& seen) {
    return seen.target == "/busy" ? Reply{429, "", {{"Retry-After", "5"}}} : Reply{};
  });
  const auto client = world.Client(AccessTo(server));
  ApiRequest busy = Get("/busy");
  busy.timeout_ms = 1000;  // less than it is told to wait: the answer is the 429 itself
  const Answer answer(*client, busy);
  EXPECT_EQ(answer.Status(), 429);
  EXPECT_EQ(answer.Get()->retry_after_ms, 5000);
  const Answer other(*client, Get("/other"));
  world.Advance(4000);
  EXPECT_FALSE(other.here());
  EXPECT_EQ(server.count(), 1u);
  ASSERT_TRUE(world.AdvanceUntil([&] { return other.here(); }));
  EXPECT_EQ(other.Status(), 200);
}

TEST(ApiClient, AServiceThatIsAwayWithoutSayingForHowLongIsAResponse) {
  ClientWorld world;
  TestServer server([](const SeenRequest&) { return Reply{503, "away"}; });
  const auto client = world.Client(AccessTo(server));
  EXPECT_EQ(Answer(*client, Post("/x")).Status(), 503);
  EXPECT_EQ(server.count(), 1u);
}

TEST(ApiClient, TheQueueIsBounded) {
  ClientWorld world;
  Latch latch;
  TestServer server([&](const SeenRequest&) {
    latch.Wait();
    return Reply{};
  });
  const auto client = world.Client(AccessTo(server), {.connections = 1, .waiting = 3});
  std::deque<Answer> answers;
  for (int i = 0; i < 3; ++i) answers.emplace_back(*client, Get("/x"));
  const Answer refused(*client, Get("/y"));
  EXPECT_EQ(refused.GetCode(), Code::kResourceExhausted);
  EXPECT_GT(refused.Get().error().retry_after_ms, 0);
  latch.Open();
  for (const auto& answer : answers) EXPECT_EQ(answer.Status(), 200);
  EXPECT_EQ(Answer(*client, Get("/z")).Status(), 200);
}

TEST(ApiClient, AMemberThatIsAwayIsOnlyProbedUntilItIsBack) {
  ClientWorld world;
  std::mutex mutex;
  std::vector<ApiHealth> told;
  const int port = DeadPort();
  MemberAccess access;
  access.tls = false;
  access.host = "127.0.0.1";
  access.port = std::to_string(port);
  const auto client =
      world.Client(access, {.failures_to_open = 3, .on_health = [&](const ApiHealth& health) {
                              std::lock_guard lock(mutex);
                              told.push_back(health);
                            }});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Answer(*client, Get("/x")).GetCode(), Code::kUnavailable);
  ASSERT_TRUE(Eventually([&] { return !client->Health().reachable; }));
  EXPECT_EQ(client->Health().trouble,
            "member east: cannot connect to 127.0.0.1:" + access.port + ": Connection refused");
  EXPECT_EQ(client->Health().code, Code::kUnavailable);

  // It is there again, and not ready at first.
  std::atomic<bool> ready{false};
  TestServer server(
      [&](const SeenRequest&) {
    return Reply{ready ? 200 : 500, ""};
      },
      std::nullopt, port);
  const Answer refused(*client, Post("/not-sent"));
  EXPECT_EQ(refused.GetCode(), Code::kUnavailable);
  ASSERT_TRUE(world.AdvanceUntil([&] { return server.count() >= 2; }));
  EXPECT_FALSE(client->Health().reachable);
  ready = true;
  ASSERT_TRUE(world.AdvanceUntil([&] { return client->Health().reachable; }));
  for (const auto& target : Targets(server)) EXPECT_EQ(target, "/readyz");
  EXPECT_EQ(Answer(*client, Get("/x")).Status(), 200);
  client->Stop();
  std::lock_guard lock(mutex);
  ASSERT_GE(told.size(), 2u);
  EXPECT_FALSE(told.front().reachable);
  EXPECT_TRUE(told.back().reachable);
}

TEST(ApiClient, ASlowMemberDoesNotDelayAnother) {
  ClientWorld world;  // one thread for both
  Latch latch;
  TestServer slow([&](const SeenRequest&) {
    latch.Wait();
    return Reply{};
  });
  TestServer quick([](const SeenRequest&) { return Reply{}; });
  const auto slow_client = world.Client(AccessTo(slow), {.member = "slow", .connections = 2});
  const auto quick_client = world.Client(AccessTo(quick), {.member = "quick"});
  std::deque<Answer> stuck;
  for (int i = 0; i < 10; ++i) stuck.emplace_back(*slow_client, Get("/x"));
  ASSERT_TRUE(Eventually([&] { return slow.count() == 2; }));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(Answer(*quick_client, Get("/x")).Status(), 200);
  EXPECT_FALSE(stuck.front().here());
  latch.Open();
  for (const auto& answer : stuck) EXPECT_EQ(answer.Status(), 200);
}

TEST(ApiClient, WhatIsNoRequestIsNotSent) {
  ClientWorld world;
  TestServer server([](const SeenRequest&) { return Reply{}; });
  const auto client = world.Client(AccessTo(server));
  ApiRequest folded = Post("/x");
  folded.content_type = "a\r\nX: y";
  for (const auto& request :
       {Get("x"), Get(""), Get("/a b"), Get("/a\r\nHost: b"), ApiRequest{"BREW", "/x"}, folded})
    EXPECT_EQ(Answer(*client, request).GetCode(), Code::kInvalidArgument);
  EXPECT_EQ(server.count(), 0u);
}

TEST(ApiClient, StopAnswersEverythingAndNothingComesAfter) {
  ClientWorld world;
  Latch latch;
  TestServer server([&](const SeenRequest&) {
    latch.Wait();
    return Reply{};
  });
  const auto client = world.Client(AccessTo(server), {.connections = 1});
  const Answer sent(*client, Post("/sent"));
  ASSERT_TRUE(Eventually([&] { return server.count() == 1; }));
  const Answer waits(*client, Post("/waits"));
  client->Stop();
  ASSERT_TRUE(sent.here());
  ASSERT_TRUE(waits.here());
  EXPECT_EQ(sent.GetCode(), Code::kUnknown);
  EXPECT_EQ(waits.GetCode(), Code::kUnavailable);
  EXPECT_EQ(Answer(*client, Get("/late")).GetCode(), Code::kUnavailable);
  EXPECT_FALSE(client->Post([] {}));
  latch.Open();
}

TEST(ApiClient, CallbacksOfOneClientNeverOverlap) {
  FakeClock clock;
  ManualTimers timers(clock);
  SeededRandom random(1);
  IoThreads io(4);
  TestServer server([](const SeenRequest&) { return Reply{}; });
  ApiClientOptions options;
  options.member = "east";
  const auto client = MakeApiClient({clock, timers, random, io}, AccessTo(server), options);
  std::atomic<int> inside{0}, overlaps{0}, done{0}, off_strand{0};
  for (int i = 0; i < 500; ++i) {
    client->Send(Get("/x"), [&](const Result<ApiResponse>&) {
      if (++inside > 1) ++overlaps;
      if (!client->OnStrand()) ++off_strand;
      std::this_thread::yield();
      --inside;
      ++done;
    });
  }
  EXPECT_TRUE(Eventually([&] { return done == 500; }));
  EXPECT_EQ(overlaps, 0);
  EXPECT_EQ(off_strand, 0);
  EXPECT_FALSE(client->OnStrand());
}

// --- the lead

class LeadTest : public ::testing::Test {
 protected:
  LeadTest() { lead->Begin(Epoch{1}, world.clock.Now(), world.clock.Now()); }
  std::unique_ptr<ApiClient> Client(const TestServer& server, ApiClientOptions options = {}) {
    options.lead = lead;
    return world.Client(AccessTo(server), std::move(options));
  }
  ClientWorld world;
  std::shared_ptr<LeadTerm> lead = std::make_shared<LeadTerm>(world.clock, 2 * kNanosPerSecond);
};

TEST_F(LeadTest, WhatWaitedForAConnectionWhileTheProcessWasStopped_IsNotWritten) {
  Latch latch;
  TestServer server([&](const SeenRequest& seen) {
    if (seen.target == "/first") latch.Wait();
    return Reply{};
  });
  const auto client = Client(server, {.connections = 1});
  const Answer first(*client, Post("/first"));
  ASSERT_TRUE(Eventually([&] { return server.count() == 1; }));
  const Answer create(*client, Post("/create")), read(*client, Get("/read"));
  world.clock.Advance(10'000);  // stopped: no timer has fired
  latch.Open();
  EXPECT_EQ(first.Status(), 200) << "it was on its way";
  EXPECT_EQ(read.Status(), 200) << "reading is everybody's";
  EXPECT_THAT(Targets(server), ElementsAre("/first", "/read"));
  EXPECT_FALSE(create.here());
  lead->End();  // its next commit was refused
  EXPECT_TRUE(world.AdvanceUntil([&] { return create.here(); }));
  EXPECT_EQ(create.GetCode(), Code::kUnavailable);
  EXPECT_THAT(create.Sentence(), HasSubstr("this daemon does not lead any more"));
  EXPECT_THAT(Targets(server), ElementsAre("/first", "/read"));
}

TEST_F(LeadTest, ItIsWrittenWhenTheDatabaseConfirmsTheLeadAgain) {
  TestServer server([](const SeenRequest&) { return Reply{201}; });
  const auto client = Client(server);
  world.clock.Advance(10'000);
  const Answer create(*client, Post("/create"));
  EXPECT_EQ(Answer(*client, Get("/read")).Status(), 201) << "reading waits for nobody";
  EXPECT_FALSE(create.here());
  EXPECT_TRUE(lead->Wanted());
  lead->Renew(Epoch{1}, world.clock.Now());
  EXPECT_TRUE(world.AdvanceUntil([&] { return create.here(); }, 10));
  EXPECT_EQ(create.Status(), 201);
}

TEST_F(LeadTest, WhatTheMemberAskedToRepeatIsNotRepeatedByWhoLeadsNoMore) {
  TestServer server([](const SeenRequest&) { return Reply{429, "", {{"Retry-After", "1"}}}; });
  const auto client = Client(server);
  const Answer create(*client, Post("/create"));
  ASSERT_TRUE(Eventually([&] { return server.count() == 1; }));
  lead->End();
  lead->Begin(Epoch{3}, world.clock.Now(), world.clock.Now());  // leads again, under another epoch
  EXPECT_TRUE(world.AdvanceUntil([&] { return create.here(); }));
  EXPECT_EQ(create.GetCode(), Code::kUnavailable);
  EXPECT_EQ(server.count(), 1u);
}

TEST_F(LeadTest, WhatWasBeingConnectedWhileTheProcessWasStopped_IsNotWritten) {
  TestServer server([](const SeenRequest&) { return Reply{201}; });
  const auto client = Client(server);
  // The stop is behind the beginning of the connection and before its end: all of it is on this
  // strand, which waits until both are in its queue.
  Latch begin, latch;
  ASSERT_TRUE(client->Post([&] { begin.Wait(); }));
  const Answer create(*client, Post("/create"));
  std::atomic<bool> stopped{false};
  ASSERT_TRUE(client->Post([&] {
    stopped = true;
    latch.Wait();
  }));
  begin.Open();
  ASSERT_TRUE(Eventually([&] { return stopped.load(); }));
  world.clock.Advance(5'000);
  latch.Open();
  EXPECT_EQ(Answer(*client, Get("/read")).Status(), 201);
  EXPECT_FALSE(create.here());
  lead->End();
  EXPECT_TRUE(world.AdvanceUntil([&] { return create.here(); }));
  EXPECT_EQ(create.GetCode(), Code::kUnavailable);
  EXPECT_THAT(Targets(server), ElementsAre("/read"));
}

TEST_F(LeadTest, AnOrdersOwnPermitCounts_NotTheLeadOfTheMomentItIsSent) {
  TestServer server([](const SeenRequest&) { return Reply{201}; });
  const auto client = Client(server);
  ApiRequest create = Post("/create");
  create.permit = lead->Current();
  lead->End();
  lead->Begin(Epoch{2}, world.clock.Now(), world.clock.Now());
  EXPECT_EQ(Answer(*client, create).GetCode(), Code::kUnavailable);
  EXPECT_EQ(Answer(*client, Post("/create")).Status(), 201);
  EXPECT_EQ(server.count(), 1u);
}

TEST_F(LeadTest, AStopAnswersWhatWaitsForTheLead) {
  TestServer server([](const SeenRequest&) { return Reply{201}; });
  const auto client = Client(server);
  world.clock.Advance(10'000);
  const Answer create(*client, Post("/create"));
  EXPECT_EQ(Answer(*client, Get("/read")).Status(), 201);
  client->Stop();
  EXPECT_EQ(create.GetCode(), Code::kUnavailable);
}

}  // namespace
}  // namespace muster::k8s::test
