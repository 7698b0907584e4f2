#include "clients/lib/tls_client.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "api/net/tls/tls_filter.h"
#include "tests/unit/k8s_client/test_certificates.h"

namespace muster::client {
namespace {

using k8s::test::Authority;
using k8s::test::Identity;

// Answers "ping" with "pong" over one end of a socket pair, with the server's own filter.
class PongServer {
 public:
  PongServer(int fd, const Identity& identity, const std::string& client_ca) {
    auto made =
        net::TlsContext::Make({identity.certificate_pem, identity.key_pem, client_ca, "", {}});
    EXPECT_TRUE(made.ok()) << made.error().detail;
    thread_ = std::thread([fd, context = *made] {
      net::TlsFilter filter(context, "http/1.1", false);
      char bytes[4096];
      for (ssize_t n = 0; (n = ::recv(fd, bytes, sizeof bytes, 0)) > 0;) {
        std::string plain;
        filter.Receive({bytes, static_cast<std::size_t>(n)}, &plain);
        if (plain == "ping") filter.Encrypt("pong");
        const std::string wire(filter.wire());
        filter.Sent(wire.size());
        ::send(fd, wire.data(), wire.size(), MSG_NOSIGNAL);
        if (filter.state() == net::TlsFilter::State::kFailed) break;
      }
      ::close(fd);
    });
  }
  ~PongServer() { thread_.join(); }

 private:
  std::thread thread_;
};

class TlsClientTest : public ::testing::Test {
 protected:
  TlsClientTest() : ca_file_(::testing::TempDir() + "muster-tls-ca-" + std::to_string(::getpid())) {
    std::ofstream(ca_file_) << site_.certificate_pem();
  }
  ~TlsClientTest() override { ::unlink(ca_file_.c_str()); }

  // "pong", or why there is none.
  std::string Ask(const Identity& server, const std::string& host, TlsSettings settings,
                  const std::string& client_ca = "") {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    PongServer pong(ends[1], server, client_ca);
    SocketStream socket(ends[0]);
    socket.set_deadline(NowMs() + 60'000);
    bool timed_out = false;
    auto opened = OpenTls(socket, settings, host, &timed_out);
    if (!opened.ok()) return opened.error().detail;
    TlsStream& tls = **opened;
    TlsStream::ErrorCode ec;
    tls.Write("ping", 4, ec);
    char answer[16];
    const std::size_t n = tls.Read(answer, sizeof answer, ec);
    return ec ? tls.problem() : std::string(answer, n);
  }
  TlsSettings Trusting() const {
    TlsSettings out;
    out.ca_file = ca_file_;
    return out;
  }
  const Authority site_{"site"}, people_{"people"}, strangers_{"strangers"};
  const std::string ca_file_;
};

constexpr char kNames[] = "DNS:batch.example,IP:10.0.0.1,IP:::1";

TEST_F(TlsClientTest, TheServerMustBeTheOneThatWasAskedFor) {
  const Identity good = site_.Issue("x", kNames);
  for (const char* host : {"batch.example", "10.0.0.1", "::1"})
    EXPECT_EQ(Ask(good, host, Trusting()), "pong") << host;
  EXPECT_EQ(Ask(good, "other.example", Trusting()), "its certificate is not for other.example");
  EXPECT_EQ(Ask(good, "10.0.0.2", Trusting()), "its certificate is not for 10.0.0.2");
  EXPECT_NE(
      Ask(strangers_.Issue("x", kNames), "batch.example", Trusting()).find("unknown authority"),
      std::string::npos);
  EXPECT_NE(Ask(good, "batch.example", {}).find("unknown authority"), std::string::npos);
  EXPECT_EQ(Ask(site_.Issue("x", kNames, 3600, 7200), "batch.example", Trusting()),
            "its certificate is not valid yet");
  TlsSettings careless;
  careless.skip_verify = true;
  EXPECT_EQ(Ask(strangers_.Issue("x", kNames), "other.example", careless), "pong");
}

TEST_F(TlsClientTest, ItsOwnCertificateIsTakenOrRefusedByTheServer) {
  const Identity server = site_.Issue("x", kNames);
  TlsSettings settings = Trusting();
  const auto show = [&](const Identity& identity) {
    settings.certificate_pem = identity.certificate_pem;
    settings.key_pem = identity.key_pem;
    return Ask(server, "batch.example", settings, people_.certificate_pem());
  };
  EXPECT_EQ(show(people_.Issue("alice", "")), "pong");
  EXPECT_EQ(show(strangers_.Issue("alice", "")), "it refuses the client certificate");
}

TEST_F(TlsClientTest, APortWithoutTlsIsNamed) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  const std::string answer = "HTTP/1.1 400 Bad Request\r\n\r\n";
  ASSERT_GT(::send(ends[1], answer.data(), answer.size(), MSG_NOSIGNAL), 0);
  SocketStream socket(ends[0]);
  socket.set_deadline(NowMs() + 60'000);
  bool timed_out = false;
  const auto opened = OpenTls(socket, Trusting(), "batch.example", &timed_out);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().detail, "this port does not speak TLS: use http://");
  EXPECT_FALSE(timed_out);
  ::close(ends[1]);
}

}  // namespace
}  // namespace muster::client
