#include "clients/lib/http_client.h"

#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "clients/lib/api_client.h"
#include "clients/lib/job_wait.h"
#include "tests/unit/clients/fake_server.h"
#include "tests/unit/clients/job_samples.h"

namespace muster::client {
namespace {

using testing::FakeAnswer;
using testing::FakeRequest;
using testing::FakeServer;

Settings For(const FakeServer& server) {
  Settings out;
  out.server.port = server.port();
  out.as_user = "alice";
  return out;
}

// Answers one request on a Unix socket, in pieces: each one is sent when the client has read what
// was sent before, so that none of them meet in one read.
class ServerOfPieces {
 public:
  explicit ServerOfPieces(std::vector<std::string> pieces) {
    char name[] = "/tmp/muster-pieces-XXXXXX";
    directory_ = ::mkdtemp(name);
    at.unix_path = directory_ + "/s.sock";
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    at.unix_path.copy(address.sun_path, at.unix_path.size());
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listener_, 1);
    thread_ = std::thread([this, pieces = std::move(pieces)] { Serve(pieces); });
  }
  ~ServerOfPieces() {
    thread_.join();
    ::close(listener_);
    ::unlink(at.unix_path.c_str());
    ::rmdir(directory_.c_str());
  }
  ServerOfPieces(const ServerOfPieces&) = delete;
  ServerOfPieces& operator=(const ServerOfPieces&) = delete;

  Endpoint at;

 private:
  void Serve(const std::vector<std::string>& pieces) const {
    const int fd = ::accept(listener_, nullptr, nullptr);
    char request[4096];
    (void)!::recv(fd, request, sizeof request, 0);
    for (const std::string& piece : pieces) {
      ::send(fd, piece.data(), piece.size(), MSG_NOSIGNAL);
      for (int unread = 1; unread != 0 && ::ioctl(fd, SIOCOUTQ, &unread) == 0;) ::usleep(1000);
    }
    ::close(fd);
  }

  std::string directory_;
  int listener_ = -1;
  std::thread thread_;
};

TEST(HttpClient, ReadsChunkedBodiesThatComeByteByByte) {
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const auto& [wire, body] :
       {std::pair<std::string, std::string>("0\r\n\r\n", ""), {"1\r\nx\r\n0\r\n\r\n", "x"}}) {
    for (const bool streams : {false, true}) {
      std::vector<std::string> pieces = {head};
      for (const char c : wire) pieces.emplace_back(1, c);
      const ServerOfPieces server(pieces);
      std::string read;
      const BodySink sink = [&read](std::string_view part) { return read += part, true; };
      HttpClient client(server.at);
      const auto answer = client.Send({"GET", "/"}, NowMs() + 60'000, streams ? &sink : nullptr);
      ASSERT_TRUE(answer.ok()) << answer.failure().detail;
      EXPECT_EQ(streams ? read : answer->body, body);
    }
  }
}

TEST(HttpClient, KeepsOneConnectionAndReadsWholeAnswers) {
  FakeServer server([](const FakeRequest& request) {
    return FakeAnswer{200, "you asked " + request.target, "text/plain"};
  });
  HttpClient client(For(server).server);
  for (int i = 0; i < 3; ++i) {
    const auto answer = client.Send({"GET", "/a" + std::to_string(i)}, NowMs() + 60'000);
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->body, "you asked /a" + std::to_string(i));
    EXPECT_EQ(answer->content_type, "text/plain");
  }
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST(HttpClient, OpensABrokenKeepAliveConnectionAgain_WhenTheRequestMayBeRepeated) {
  std::atomic<int> seen = 0;
  FakeServer server([&](const FakeRequest&) {
    FakeAnswer out{200, "ok"};
    out.close = ++seen == 1;  // as a server does that times idle connections out
    return out;
  });
  HttpClient client(For(server).server);
  HttpRequest request{"GET", "/"};
  request.repeatable = true;
  ASSERT_TRUE(client.Send(request, NowMs() + 60'000).ok());
  const auto second = client.Send(request, NowMs() + 60'000);
  ASSERT_TRUE(second.ok()) << second.failure().detail;
}

TEST(HttpClient, NeverRepeatsAnUnrepeatableRequest) {
  FakeServer server([](const FakeRequest&) {
    FakeAnswer out;
    out.drop = true;
    return out;
  });
  HttpClient client(For(server).server);
  const auto answer = client.Send({"POST", "/", "x"}, NowMs() + 60'000);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.failure().kind, Failure::Kind::kUnreachable);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST(HttpClient, TellsAnAbsentServerFromASlowOne) {
  const testing::ClosedPort closed;
  Endpoint nobody;
  nobody.port = closed.port();
  const auto away = HttpClient(nobody).Send({"GET", "/"}, NowMs() + 60'000);
  ASSERT_FALSE(away.ok());
  EXPECT_EQ(away.failure().kind, Failure::Kind::kUnreachable);
  EXPECT_EQ(ExitCodeOf(away.failure()), 3);

  FakeServer silent([](const FakeRequest&) {
    FakeAnswer out;
    out.stream = true;
    return out;
  });
  const BodySink sink = [](std::string_view) { return true; };
  const auto slow = HttpClient(For(silent).server).Send({"GET", "/"}, NowMs() + 100, &sink);
  ASSERT_FALSE(slow.ok());
  EXPECT_EQ(slow.failure().kind, Failure::Kind::kTimedOut);
}

TEST(HttpClient, HandsAStreamOnInPartsAndStopsWhenTold) {
  FakeServer server([](const FakeRequest&) {
    FakeAnswer out{200, std::string(300'000, 'x')};
    out.stream = true;
    return out;
  });
  std::size_t got = 0;
  bool began = false;
  const BodySink sink = [&](std::string_view part) {
    began = began || part.empty();
    got += part.size();
    return got < 300'000;
  };
  ASSERT_TRUE(HttpClient(For(server).server).Send({"GET", "/"}, NowMs() + 60'000, &sink).ok());
  EXPECT_TRUE(began) << "the sink hears of the answer before its first byte";
  EXPECT_EQ(got, 300'000u);
}

TEST(HttpClient, CallsGarbageABadAnswer) {
  FakeServer server([](const FakeRequest&) {
    FakeAnswer out;
    out.extra_headers = "Content Length : 3\r\n";
    return out;
  });
  const auto answer = HttpClient(For(server).server).Send({"GET", "/"}, NowMs() + 60'000);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.failure().kind, Failure::Kind::kBadAnswer);
}

TEST(HttpClient, KeepsNoAnswerThatIsLongerThanItsBound) {
  FakeServer server([](const FakeRequest& request) {
    FakeAnswer out{request.target == "/refused" ? 500 : 200, std::string(100'000, 'x')};
    out.stream = request.target == "/chunks";
    return out;
  });
  HttpClient client(For(server).server);
  for (const char* target : {"/whole", "/chunks", "/refused"}) {
    HttpRequest request{"GET", target};
    request.answer_bytes = 99'999;
    const auto answer = client.Send(request, NowMs() + 60'000);
    ASSERT_FALSE(answer.ok()) << target;
    EXPECT_EQ(answer.failure().kind, Failure::Kind::kBadAnswer) << target;
    EXPECT_NE(answer.failure().detail.find("99999 bytes"), std::string::npos) << target;
  }
  HttpRequest fits{"GET", "/whole"};
  fits.answer_bytes = 100'000;
  ASSERT_TRUE(client.Send(fits, NowMs() + 60'000).ok());
}

TEST(ApiClient, FollowsNoRedirect_SoATokenStaysWithItsServer) {
  FakeServer other([](const FakeRequest&) { return FakeAnswer{200, "{}"}; });
  FakeServer server([&](const FakeRequest&) {
    FakeAnswer out{307, ""};
    out.extra_headers = "Location: " + other.url() + "/v1/x\r\n";
    return out;
  });
  Settings settings = For(server);
  settings.token = "s3cret";
  ApiClient api(settings);
  const auto answer = api.Get("/v1/x");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.failure().status, 307);
  EXPECT_TRUE(other.requests().empty());
}

TEST(ApiClient, EndsAListWhosePagesGoInACircle) {
  FakeServer server([](const FakeRequest&) {
    return FakeAnswer{200, R"({"items":[1],"next_page_token":"t"})"};
  });
  ApiClient api(For(server));
  const auto all = api.ListAll("/v1/jobs", Query());
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.failure().kind, Failure::Kind::kBadAnswer);
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST(ApiClient, SendsWhoAsksTheTokenAndTheKey) {
  FakeServer server([](const FakeRequest&) { return FakeAnswer{200, "{}"}; });
  Settings settings = For(server);
  settings.token = "s3cret";
  ApiClient api(settings);
  ASSERT_TRUE(api.Send({"POST", "/v1/x", "{\"a\":1}", "key-1"}).ok());
  const FakeRequest request = server.requests().at(0);
  EXPECT_EQ(request.Header("impersonate-user"), "alice");
  EXPECT_EQ(request.Header("authorization"), "Bearer s3cret");
  EXPECT_EQ(request.Header("idempotency-key"), "key-1");
  EXPECT_EQ(request.Header("content-type"), "application/json");
  EXPECT_EQ(request.body, "{\"a\":1}");
}

TEST(ApiClient, SubmitsAgainWithTheSameKey_WhenTheAnswerWasLost) {
  std::atomic<int> seen = 0;
  FakeServer server([&](const FakeRequest&) {
    FakeAnswer out{201, "{\"id\":7}"};
    out.drop = ++seen == 1;
    return out;
  });
  ApiClient api(For(server));
  const auto answer = api.Send({"POST", "/v1/namespaces/default/jobs", "{}", "key-2"});
  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(server.requests().size(), 2u);
  EXPECT_EQ(server.requests()[0].Header("idempotency-key"),
            server.requests()[1].Header("idempotency-key"));
}

TEST(ApiClient, ReadsProblemsAndKubernetesStatuses) {
  const Failure problem = FailureOf(
      {422, "application/problem+json",
       R"({"title":"Bad","detail":"spec.x: wrong","errors":[{"field":"spec.x","message":"wrong"}]})",
       4});
  EXPECT_EQ(problem.detail, "spec.x: wrong");
  EXPECT_EQ(problem.retry_after_s, 4);
  ASSERT_EQ(problem.fields.size(), 1u);
  EXPECT_EQ(problem.fields[0], (FieldError{"spec.x", "wrong"}));
  const Failure status = FailureOf(
      {409, "application/json",
       R"({"kind":"Status","message":"stale","details":{"causes":[{"field":"metadata.resourceVersion","message":"old"}]}})",
       0});
  EXPECT_EQ(status.detail, "stale");
  EXPECT_EQ(status.fields.at(0).field, "metadata.resourceVersion");
  EXPECT_EQ(FailureOf({500, "text/plain", "oops\n", 0}).detail, "oops");
  EXPECT_EQ(FailureOf({502, "", "", 0}).detail, "the server answered with status 502");
}

TEST(ApiClient, FollowsPagesToTheEnd) {
  FakeServer server([](const FakeRequest& request) {
    const bool second = request.target.find("page_token=t%2F1") != std::string::npos;
    return FakeAnswer{200,
                      second ? R"({"items":[3]})" : R"({"items":[1,2],"next_page_token":"t/1"})"};
  });
  ApiClient api(For(server));
  const auto all = api.ListAll("/v1/jobs", Query().Add("queue", "a b").Add("user", ""));
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->size(), 3u);
  EXPECT_EQ(server.requests()[0].target, "/v1/jobs?queue=a%20b");
}

TEST(WaitForJobs, ReturnsAtOnceWhenAllHaveEnded_ThoughNoEventComes) {
  FakeServer server([](const FakeRequest& request) {
    FakeAnswer out{200, testing::ViewOf({.state = "Succeeded", .exit_code = "0"})};
    if (request.target.starts_with("/v1/events")) {
      out.body.clear();
      out.stream = true;
    }
    return out;
  });
  ApiClient api(For(server));
  const auto jobs =
      WaitForJobs(api, {1}, NowMs() + 60'000, [](const JobView& job) { return job.ended(); });
  ASSERT_TRUE(jobs.ok()) << jobs.failure().detail;
  EXPECT_EQ(jobs->at(0).exit_code, 0);
}

TEST(WaitForJobs, LooksAgainWhenAnEventNamesTheJob_AndNotForOthers) {
  std::atomic<int> looks = 0;
  FakeServer server([&](const FakeRequest& request) {
    FakeAnswer out;
    if (request.target.starts_with("/v1/events")) {
      out.stream = true;
      out.body =
          "id: 5\ndata: {\"seq\":5,\"job\":99,\"type\":\"JobStarted\"}\n\nid: 6\ndata: "
          "{\"seq\":6,\"job\":1,\"type\":\"JobEnded\"}\n\n";
    } else {
      out.body = testing::ViewOf(
          {.state = ++looks == 1 ? "Running" : "Failed", .exit_code = looks == 1 ? "null" : "3"});
    }
    return out;
  });
  ApiClient api(For(server));
  const auto jobs =
      WaitForJobs(api, {1}, NowMs() + 60'000, [](const JobView& job) { return job.ended(); });
  ASSERT_TRUE(jobs.ok()) << jobs.failure().detail;
  EXPECT_EQ(jobs->at(0).state, "Failed");
  EXPECT_EQ(looks, 2);
}

TEST(WaitForJobs, TimesOutAtItsDeadline) {
  FakeServer server([](const FakeRequest& request) {
    FakeAnswer out{200, testing::ViewOf({.state = "Running"})};
    out.stream = request.target.starts_with("/v1/events");
    if (out.stream) out.body.clear();
    return out;
  });
  ApiClient api(For(server));
  const auto jobs =
      WaitForJobs(api, {1}, NowMs() + 150, [](const JobView& job) { return job.ended(); });
  ASSERT_FALSE(jobs.ok());
  EXPECT_EQ(jobs.failure().kind, Failure::Kind::kTimedOut);
}

}  // namespace
}  // namespace muster::client
