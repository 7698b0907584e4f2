// A connection without a listener: the client's end closes, half-closes or sends more at each
// moment between two answers.
#include "api/rest/http/connection.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include "schedd/base/limits.h"
#include "schedd/telemetry/metrics.h"

namespace muster::rest {
namespace {

constexpr int kPatienceMs = 60'000;

Response Text(const std::string& body) {
  Response response;
  response.body = body;
  return response;
}

std::string Get(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
}

// The server's end and the client's end of a pair of sockets. /say/{word} answers at once, /kept
// when the test says so; /where and /pool say whether their handler may wait.
class ConnectionTest : public ::testing::Test {
 protected:
  ConnectionTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    client_ = ends[0];
    const SyncHandler say = [](Request& request) { return Text(request.params[0]); };
    const SyncHandler where = [](Request& request) {
      return Text(request.may_wait ? "on the pool" : "on the reading thread");
    };
    const auto may_block = [](const Request& request) { return request.Query("ask") != nullptr; };
    const AsyncHandler keep = [this](Request&, Responder respond) { kept_ = std::move(respond); };
    host_ = std::make_shared<ConnectionHost>(
        RouteTable({{Method::kGet, "/say/{word}", auth::Verb::kGet, "x", 0, Run::kInline, say},
                    {Method::kGet, "/kept", auth::Verb::kGet, "x", 0, Run::kInline, keep},
                    {Method::kGet, "/where", auth::Verb::kGet, "x", 0, Run::kInline, where, false,
                     Access::kService, may_block},
                    {Method::kGet, "/pool", auth::Verb::kGet, "x", 0, Run::kPool, where}}),
        metrics_, 1);
    host_->forget = [](const Connection*) {};
    host_->answered = [] {};
    connection_ = std::make_shared<Connection>(ends[1], host_);
  }
  ~ConnectionTest() override {
    kept_.reset();
    host_->workers.Stop();
    ::close(client_);
  }

  // Reads until the client has got `text`, or, with "", until the server closes; false if the
  // server closes before.
  bool ReadUntil(const std::string& text) {
    while (text.empty() || got_.find(text) == std::string::npos) {
      pollfd waiting{client_, POLLIN, 0};
      if (::poll(&waiting, 1, kPatienceMs) <= 0) return false;
      std::array<char, 4096> bytes{};
      const ssize_t count = ::read(client_, bytes.data(), bytes.size());
      if (count <= 0) return text.empty();
      got_.append(bytes.data(), static_cast<std::size_t>(count));
    }
    return true;
  }

  Metrics metrics_;
  std::shared_ptr<ConnectionHost> host_;
  std::shared_ptr<Connection> connection_;
  std::optional<Responder> kept_;
  std::string got_;
  int client_ = -1;
};

TEST_F(ConnectionTest, AnEndAfterALateAnswer_LosesNoRequestThatWaitsBehindIt) {
  // The pool would take up the next request; it is kept busy until the client's end has closed.
  std::promise<void> ended;
  host_->workers.Post([ready = ended.get_future().share()] { ready.wait(); });
  connection_->OnBytes(Get("/kept") + Get("/say/two") + Get("/say/three"));
  (*kept_)([] { return Text("one"); });
  EXPECT_TRUE(ReadUntil("one"));
  connection_->OnEnd();
  ended.set_value();
  EXPECT_TRUE(ReadUntil("three"));
  EXPECT_LT(got_.find("two"), got_.find("three")) << got_;
  EXPECT_TRUE(ReadUntil("")) << "then it is closed";
}

TEST_F(ConnectionTest, AnEndBeforeALateAnswer_LosesNothing) {
  connection_->OnBytes(Get("/kept") + Get("/say/two"));
  connection_->OnEnd();
  (*kept_)([] { return Text("one"); });
  EXPECT_TRUE(ReadUntil("two"));
  EXPECT_TRUE(ReadUntil(""));
}

TEST_F(ConnectionTest, AnEndWithNothingOrHalfARequest_ClosesAtOnce) {
  for (const std::string sent : {"", "\r", "GET /say/one HT", "GET /say/one HTTP/1.1\r\nHost: "}) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    ::close(std::exchange(client_, ends[0]));
    connection_ = std::make_shared<Connection>(ends[1], host_);
    if (!sent.empty()) connection_->OnBytes(sent);
    connection_->OnEnd();
    EXPECT_TRUE(ReadUntil("")) << sent;
    EXPECT_EQ(got_, "") << sent;
    EXPECT_EQ(host_->held_bytes, 0) << sent;
    EXPECT_EQ(host_->active, 0) << sent;
  }
}

// The connections of one peer share what it holds; /say takes no body, but headers are held too.
TEST_F(ConnectionTest, APeerWithTooManyHalfSentRequests_IsRefused_AndOthersAreNot) {
  const auto greedy = std::make_shared<HeldBytes>(limits::kHalfSentBytesPerPeer);
  const auto modest = std::make_shared<HeldBytes>(0);
  const auto send_half = [this](std::shared_ptr<HeldBytes> held) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    ::close(std::exchange(client_, ends[0]));
    got_.clear();
    connection_ = std::make_shared<Connection>(ends[1], host_, nullptr, std::move(held));
    connection_->OnBytes("GET /say/one HTTP/1.1\r\nHost: ");
  };
  send_half(greedy);
  EXPECT_TRUE(ReadUntil("too many half-sent requests")) << got_;
  EXPECT_TRUE(got_.starts_with("HTTP/1.1 429 Too Many Requests\r\n")) << got_;
  EXPECT_NE(got_.find("Retry-After: "), std::string::npos) << got_;
  connection_->Close();
  EXPECT_EQ(*greedy, limits::kHalfSentBytesPerPeer) << "what it held is given back";

  for (const auto& other : {modest, std::shared_ptr<HeldBytes>()}) {
    send_half(other);
    connection_->OnBytes("localhost\r\n\r\n");
    EXPECT_TRUE(ReadUntil("one")) << got_;
    EXPECT_EQ(host_->held_bytes, 0);
  }
  EXPECT_EQ(*modest, 0);

  // Behind an answer that is on its way nothing can be answered.
  send_half(greedy);
  EXPECT_TRUE(ReadUntil("429"));
  *greedy = 0;
  send_half(greedy);
  connection_->OnBytes("localhost\r\n\r\n" + Get("/kept"));
  EXPECT_TRUE(ReadUntil("one"));
  *greedy = limits::kHalfSentBytesPerPeer;
  connection_->OnBytes("GET /say/two HTTP/1.1\r\n");
  EXPECT_TRUE(ReadUntil("")) << "closed";
}

TEST_F(ConnectionTest, ARequestMayWaitOnThePoolAndNowhereElse) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"/where", "on the reading thread"},
      {"/where?ask=1", "on the pool"},
      {"/pool", "on the pool"}};
  for (const auto& [target, answer] : table) {
    got_.clear();
    connection_->OnBytes(Get(target));
    EXPECT_TRUE(ReadUntil(answer)) << target << ": " << got_;
  }
}

}  // namespace
}  // namespace muster::rest
