// Clients that know several servers: where a request goes, how often, and with whose credentials.
#include <gtest/gtest.h>

#include "clients/lib/api_client.h"
#include "clients/lib/event_stream.h"
#include "tests/unit/clients/fake_server.h"

namespace muster::client {
namespace {

using muster::testing::ClosedPort;
using muster::testing::FakeAnswer;
using muster::testing::FakeRequest;
using muster::testing::FakeServer;
using muster::testing::Problem;

FakeAnswer Fine(const FakeRequest&) { return {200, R"({"fine":true})"}; }

FakeAnswer Leaderless(const FakeRequest&) {
  FakeAnswer answer = Problem(503, "nobody leads");
  answer.extra_headers = "Retry-After: 1\r\nMuster-Leader: none\r\n";
  return answer;
}

FakeServer::Handler SendsTo(std::string url) {
  return [url = std::move(url)](const FakeRequest& request) {
    FakeAnswer answer = Problem(307, "the leader is at " + url);
    answer.extra_headers = "Location: " + url + request.target + "\r\n";
    return answer;
  };
}

Settings List(std::initializer_list<int> ports) {
  Settings out;
  out.token = "secret";
  for (const int port : ports) {
    Endpoint one;
    one.port = port;
    out.more_servers.push_back(one);
  }
  out.server = out.more_servers.front();
  out.more_servers.erase(out.more_servers.begin());
  return out;
}

Call Submission(const std::string& key) {
  Call call{"POST", "/v1/namespaces/default/jobs?x=1", R"({"job":1})"};
  call.idempotency_key = key;
  return call;
}

TEST(ServerList, ARedirectIsFollowedWithMethodBodyQueryAndToken) {
  FakeServer leader(Fine);
  FakeServer standby(SendsTo(leader.url()));
  ApiClient api(List({standby.port(), leader.port()}));
  ASSERT_TRUE(api.Send(Submission("")).ok());
  ASSERT_EQ(leader.requests().size(), 1u);
  const FakeRequest got = leader.requests().front();
  EXPECT_EQ(got.method + " " + got.target, "POST /v1/namespaces/default/jobs?x=1");
  EXPECT_EQ(got.body, R"({"job":1})");
  EXPECT_EQ(got.Header("authorization"), "Bearer secret");
  // The leader is known from now on.
  ASSERT_TRUE(api.Send(Submission("")).ok());
  EXPECT_EQ(standby.requests().size(), 1u);
}

TEST(ServerList, ARedirectToAServerThatIsNotListedIsNotFollowed) {
  FakeServer other(Fine);
  FakeServer standby(SendsTo(other.url()));
  const auto answer = ApiClient(List({standby.port()})).Send(Submission("k"));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.failure().status, 307);
  EXPECT_NE(answer.failure().detail.find("not on the list"), std::string::npos);
  EXPECT_TRUE(other.requests().empty());
}

TEST(ServerList, RedirectsInACircleEnd) {
  std::string second_url;
  FakeServer first([&](const FakeRequest& request) { return SendsTo(second_url)(request); });
  FakeServer second(SendsTo(first.url()));
  second_url = second.url();
  EXPECT_FALSE(ApiClient(List({first.port(), second.port()})).Send(Submission("k")).ok());
  EXPECT_LE(first.requests().size() + second.requests().size(), 6u);
}

TEST(ServerList, TheNextServerIsAskedWhenOneCannotBeReachedOrDoesNotLead) {
  const ClosedPort closed;
  FakeServer leaderless(Leaderless);
  FakeServer leader(Fine);
  // A request that may not be sent twice goes on too: nobody has carried it out.
  ApiClient api(List({closed.port(), leaderless.port(), leader.port()}));
  ASSERT_TRUE(api.Send(Submission("")).ok());
  EXPECT_EQ(leaderless.requests().size(), 1u);
  EXPECT_EQ(leader.requests().size(), 1u);
  EXPECT_EQ(api.server().port, leader.port());
}

TEST(ServerList, ARequestThatMayHaveBeenCarriedOutGoesOnOnlyUnderItsKey) {
  FakeServer first([](const FakeRequest&) {
    FakeAnswer answer;
    answer.drop = true;
    return answer;
  });
  FakeServer second(Fine);
  EXPECT_FALSE(ApiClient(List({first.port(), second.port()})).Send(Submission("")).ok());
  EXPECT_TRUE(second.requests().empty());
  EXPECT_TRUE(ApiClient(List({first.port(), second.port()})).Send(Submission("k")).ok());
  ASSERT_EQ(second.requests().size(), 1u);
  EXPECT_EQ(second.requests().front().Header("idempotency-key"), "k");
}

TEST(ServerList, AFollowerOfEventsGoesOnAtTheNextServerAfterTheLastEvent) {
  int asked = 0;
  FakeServer first([&asked](const FakeRequest& request) {
    if (++asked > 1) return Leaderless(request);
    FakeAnswer answer{200, "id: 7\ndata: {\"seq\":7,\"job\":1}\n\n", "text/event-stream"};
    answer.close = true;
    return answer;
  });
  FakeServer second([](const FakeRequest&) {
    return FakeAnswer{200, "id: 8\ndata: {\"seq\":8,\"job\":1}\n\n", "text/event-stream"};
  });
  ApiClient api(List({first.port(), second.port()}));
  std::vector<std::int64_t> seen;
  const EventHandlers handlers{[] { return true; },
                               [&](const JobEventNote& note) {
    seen.push_back(note.seq);
    return note.seq != 8;
                               }};
  ASSERT_TRUE(FollowEvents(api, NowMs() + 60'000, handlers).ok());
  EXPECT_EQ(seen, (std::vector<std::int64_t>{7, 8}));
  ASSERT_EQ(second.requests().size(), 1u);
  EXPECT_EQ(second.requests().front().target, "/v1/events?since=7");
}

TEST(ServerList, IsReadFromItsText) {
  const auto list = ParseServerList("https://a.example:1,unix:/run/m.sock,127.0.0.1:9");
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->size(), 3u);
  EXPECT_EQ((*list)[0].ToString(), "https://a.example:1");
  EXPECT_EQ((*list)[1].ToString(), "unix:/run/m.sock");
  EXPECT_EQ((*list)[2].ToString(), "http://127.0.0.1:9");
  for (const char* bad : {"", ",", "a:1,", ",a:1", "a:1,,b:2", "a:1,ftp://b"})
    EXPECT_FALSE(ParseServerList(bad).ok()) << bad;
  const auto settings = [](const char* url) {
    return LoadSettings(
        {},
        [url](const char* name) -> std::string {
          return name == std::string("MUSTER_URL")     ? url
                 : name == std::string("MUSTER_TOKEN") ? "t"
                                                       : "";
        },
        "");
  };
  EXPECT_TRUE(settings("https://a.example,https://b.example").ok());
  EXPECT_FALSE(settings("https://a.example,http://b.example").ok())
      << "a token in plain text to the second one";
}

}  // namespace
}  // namespace muster::client
