// Clients that know several servers: where a request goes, how often, and with whose credentials.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

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
using muster::testing::SilentPort;

FakeAnswer Fine(const FakeRequest&) { return {200, R"({"fine":true})"}; }

// What a server got beside the question whether it is there.
std::vector<FakeRequest> Asked(const FakeServer& server) {
  std::vector<FakeRequest> out = server.requests();
  std::erase_if(out, [](const FakeRequest& request) { return request.target == "/livez"; });
  return out;
}

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
  ASSERT_EQ(Asked(leader).size(), 1u);
  const FakeRequest got = Asked(leader).front();
  EXPECT_EQ(got.method + " " + got.target, "POST /v1/namespaces/default/jobs?x=1");
  EXPECT_EQ(got.body, R"({"job":1})");
  EXPECT_EQ(got.Header("authorization"), "Bearer secret");
  // The leader is known from now on.
  ASSERT_TRUE(api.Send(Submission("")).ok());
  EXPECT_EQ(Asked(standby).size(), 1u);
}

TEST(ServerList, ARedirectToAServerThatIsNotListedIsNotFollowed) {
  FakeServer other(Fine);
  FakeServer standby(SendsTo(other.url()));
  const auto answer = ApiClient(List({standby.port()})).Send(Submission("k"));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.failure().status, 307);
  EXPECT_NE(answer.failure().detail.find("not on the list"), std::string::npos);
  EXPECT_TRUE(Asked(other).empty());
}

TEST(ServerList, RedirectsInACircleEnd) {
  std::string second_url;
  FakeServer first([&](const FakeRequest& request) { return SendsTo(second_url)(request); });
  FakeServer second(SendsTo(first.url()));
  second_url = second.url();
  EXPECT_FALSE(ApiClient(List({first.port(), second.port()})).Send(Submission("k")).ok());
  EXPECT_LE(Asked(first).size() + Asked(second).size(), 6u);
}

TEST(ServerList, TheNextServerIsAskedWhenOneCannotBeReachedOrDoesNotLead) {
  const ClosedPort closed;
  FakeServer leaderless(Leaderless);
  FakeServer leader(Fine);
  // A request that may not be sent twice goes on too: nobody has carried it out.
  ApiClient api(List({closed.port(), leaderless.port(), leader.port()}));
  ASSERT_TRUE(api.Send(Submission("")).ok());
  EXPECT_EQ(Asked(leaderless).size(), 1u);
  EXPECT_EQ(Asked(leader).size(), 1u);
  EXPECT_EQ(api.server().port, leader.port());
}

TEST(ServerList, ARequestThatMayHaveBeenCarriedOutGoesOnOnlyUnderItsKey) {
  FakeServer first([](const FakeRequest& request) {
    FakeAnswer answer;
    answer.drop = request.target != "/livez";
    return answer;
  });
  FakeServer second(Fine);
  EXPECT_FALSE(ApiClient(List({first.port(), second.port()})).Send(Submission("")).ok());
  EXPECT_TRUE(Asked(second).empty());
  EXPECT_TRUE(ApiClient(List({first.port(), second.port()})).Send(Submission("k")).ok());
  ASSERT_EQ(Asked(second).size(), 1u);
  EXPECT_EQ(Asked(second).front().Header("idempotency-key"), "k");
}

TEST(ServerList, AFollowerOfEventsGoesOnAtTheNextServerAfterTheLastEvent) {
  int asked = 0;
  FakeServer first([&asked](const FakeRequest& request) {
    if (request.target == "/livez") return Fine(request);
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
  ASSERT_EQ(Asked(second).size(), 1u);
  EXPECT_EQ(Asked(second).front().target, "/v1/events?since=7");
}

// A directory of its own, with the path of a file in it that is not there yet.
class AwayFileInTmp {
 public:
  AwayFileInTmp() {
    char name[] = "/tmp/muster-away-XXXXXX";
    directory_ = ::mkdtemp(name);
    path = directory_ + "/muster/away-servers";
  }
  ~AwayFileInTmp() { std::filesystem::remove_all(directory_); }
  AwayFileInTmp(const AwayFileInTmp&) = delete;
  AwayFileInTmp& operator=(const AwayFileInTmp&) = delete;
  void Put(const std::string& text) const {
    std::filesystem::create_directories(directory_ + "/muster");
    std::ofstream(path) << text;
    ::chmod(path.c_str(), 0600);
  }
  std::string Text() const {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string path;

 private:
  std::string directory_;
};

Settings List(std::initializer_list<int> ports, const std::string& away_file) {
  Settings out = List(ports);
  out.away_file = away_file;
  return out;
}

TEST(ServerList, AStoppedServerGetsNoWriteAndTheNextOneDoes) {
  const SilentPort stopped;
  FakeServer leader(Fine);
  ApiClient api(List({stopped.port(), leader.port()}));
  // Without a key: it could not be sent elsewhere if the stopped one had it.
  ASSERT_TRUE(api.Send(Submission("")).ok());
  EXPECT_EQ(Asked(leader).size(), 1u);
  EXPECT_EQ(api.server().port, leader.port());
}

TEST(ServerList, ServersThatAreAllStoppedAreTimeOutsAndGetNothing) {
  const SilentPort one, two;
  const auto answer = ApiClient(List({one.port(), two.port()})).Send(Submission(""));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.failure().kind, Failure::Kind::kTimedOut);
  EXPECT_TRUE(answer.failure().not_sent);
}

TEST(ServerList, AnOnlyServerThatIsStoppedIsNotWaitedForUntilTheDeadline) {
  const SilentPort stopped;
  Call read{"GET", "/v1/jobs"};
  read.deadline_ms = NowMs() + 60'000;
  const auto answer = ApiClient(List({stopped.port()})).Send(read);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.failure().kind, Failure::Kind::kTimedOut);
  EXPECT_GT(read.deadline_ms - NowMs(), 20'000);
}

TEST(ServerList, AnOnlyServerThatIsSlowIsWaitedFor) {
  std::atomic<int> questions = 0;
  FakeServer slow([&questions](const FakeRequest& request) {
    if (request.target == "/livez") ++questions;
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (request.target != "/livez" && questions < 2 &&
           std::chrono::steady_clock::now() < give_up) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return Fine(request);
  });
  const std::int64_t began = NowMs();
  ASSERT_TRUE(ApiClient(List({slow.port()})).Get("/v1/jobs").ok());
  EXPECT_EQ(Asked(slow).size(), 1u) << "the read is not sent again";
  EXPECT_GE(questions, 2) << "the question is asked after each silence";
  EXPECT_GE(NowMs() - began, 2 * limits::kSilentMs) << "and not before";
}

TEST(ServerList, AServerIsAskedOnceWhetherItIsThere) {
  FakeServer leader(Fine);
  const ClosedPort closed;
  ApiClient api(List({leader.port(), closed.port()}));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(api.Send(Submission("")).ok());
  EXPECT_EQ(leader.requests().size(), 4u);
  // A single server is not asked: there is no other to go to.
  FakeServer alone(Fine);
  ASSERT_TRUE(ApiClient(List({alone.port()})).Send(Submission("")).ok());
  EXPECT_EQ(alone.requests().size(), 1u);
}

TEST(ServerList, WhileTheLeaderThatIsNamedIsAwayARequestWaitsForAnother) {
  const ClosedPort killed;
  std::string dead = "http://127.0.0.1:" + std::to_string(killed.port());
  std::atomic<int> asked = 0;
  FakeServer standby([&](const FakeRequest& request) {
    if (request.target == "/livez" || ++asked > 2) return Fine(request);
    return SendsTo(dead)(request);
  });
  ASSERT_TRUE(ApiClient(List({killed.port(), standby.port()})).Send(Submission("")).ok());
  EXPECT_EQ(asked, 3);
}

TEST(ServerList, TheNextCommandAsksAServerThatDidNotAnswerLast) {
  const AwayFileInTmp away;
  const SilentPort stopped;
  FakeServer leader(Fine);
  const Settings settings = List({stopped.port(), leader.port()}, away.path);
  ASSERT_TRUE(ApiClient(settings).Send(Submission("")).ok());
  struct stat info {};
  ASSERT_EQ(::stat(away.path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(ApiClient(settings).server().port, leader.port());
}

TEST(ServerList, AServerThatIsBackIsNoLongerAway) {
  const AwayFileInTmp away;
  FakeServer leader(Fine);
  FakeServer standby(SendsTo(leader.url()));
  const std::string now = std::to_string(::time(nullptr));
  away.Put(now + " " + leader.url() + "\n");
  const Settings settings = List({leader.port(), standby.port()}, away.path);
  EXPECT_EQ(ApiClient(settings).server().port, standby.port());
  ASSERT_TRUE(ApiClient(settings).Send(Submission("")).ok());
  EXPECT_EQ(away.Text(), "");
  EXPECT_EQ(ApiClient(settings).server().port, leader.port());
}

TEST(ServerList, WhatTheFileOfAwayServersSaysIsBelievedForAWhileAndOnlyFromItsUser) {
  const AwayFileInTmp away;
  Settings settings = List({1, 2}, away.path);
  const auto first = [&settings] { return ApiClient(settings).server().port; };
  const std::int64_t now = ::time(nullptr);
  const auto line = [](std::int64_t at, int port) {
    return std::to_string(at) + " http://127.0.0.1:" + std::to_string(port) + "\n";
  };
  EXPECT_EQ(first(), 1) << "no file";
  away.Put(line(now, 1));
  EXPECT_EQ(first(), 2);
  away.Put(line(now, 1) + line(now, 2));
  EXPECT_EQ(first(), 1) << "all are away";
  for (const std::int64_t at : {now - 3600, now + 3600}) {
    away.Put(line(at, 1));
    EXPECT_EQ(first(), 1) << "too old, or of a clock that was set back";
  }
  away.Put("rubbish\n\n12\n99999999999999999999 x\n" + line(now, 1));
  EXPECT_EQ(first(), 2);
  ::chmod(away.path.c_str(), 0622);
  EXPECT_EQ(first(), 1) << "others may write it";
  away.Put(line(now, 1));
  std::filesystem::create_symlink(away.path, away.path + ".link");
  settings.away_file = away.path + ".link";
  EXPECT_EQ(first(), 1) << "a link";
}

TEST(ServerList, AFileThatCannotBeWrittenIsNoError) {
  const SilentPort stopped;
  FakeServer leader(Fine);
  for (const char* file : {"/proc/muster/away-servers", "relative", "/dev/null/x"}) {
    EXPECT_TRUE(ApiClient(List({stopped.port(), leader.port()}, file)).Send(Submission("")).ok());
    EXPECT_FALSE(std::filesystem::exists("relative"));
  }
}

TEST(ServerList, AnOldAnswerIsToldToBeOldOnce) {
  std::string age = "9.999";
  const FakeServer server([&age](const FakeRequest&) {
    FakeAnswer answer{200, "{}"};
    answer.extra_headers = "Muster-Copy-Age: " + age + "\r\n";
    return answer;
  });
  std::vector<std::string> told;
  Settings settings = List({server.port()});
  settings.warn = [&told](const std::string& text) { told.push_back(text); };
  ApiClient client(settings);
  EXPECT_TRUE(client.Get("/v1/jobs").ok());
  EXPECT_TRUE(told.empty()) << "a copy is a little old";
  age = "12.345";
  EXPECT_TRUE(client.Get("/v1/jobs").ok());
  EXPECT_TRUE(client.Get("/v1/jobs").ok());
  EXPECT_EQ(told, std::vector<std::string>{"this is what was known 12 s ago: the server does not "
                                           "lead, or its database is away"});
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
