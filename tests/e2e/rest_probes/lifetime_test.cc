// Probes: start, stop and abuse of the server as a whole.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/rest_probes/probe_server.h"
#include "tests/e2e/rest_probes/raw_client.h"

namespace muster::rest_probes {
namespace {

const std::string kHost = "Host: localhost:1\r\n";
std::string Get(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\n" + kHost + "\r\n";
}

Status StartOn(const std::string& host, int port) {
  Metrics metrics;
  rest::HttpOptions options;
  options.host = host;
  options.port = port;
  rest::HttpServer server(rest::RouteTable({}), metrics, options);
  return server.Start();
}

TEST(LifetimeProbes, OnlyLoopbackAddressesAreBound) {
  for (const char* host :
       {"0.0.0.0", "::", "192.0.2.1", "example.org", "", "127.evil.example", "127.0.0.1.nip.io"}) {
    const Status started = StartOn(host, 0);
    ASSERT_FALSE(started.ok()) << host;
    EXPECT_NE(started.error().detail.find("loopback"), std::string::npos) << started.error().detail;
  }
  for (const char* host : {"127.0.0.1", "localhost", "127.0.0.2"})
    EXPECT_TRUE(StartOn(host, 0).ok()) << host;
}

TEST(LifetimeProbes, APortInUseIsASentence) {
  ProbeServer first;
  ASSERT_TRUE(first.Start().ok());
  const Status second = StartOn("127.0.0.1", first.port());
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().detail.find("cannot listen on 127.0.0.1:"), std::string::npos)
      << second.error().detail;
}

TEST(LifetimeProbes, StopLetsAnswersInFlightLeaveAndEndsStreams) {
  auto server = std::make_unique<ProbeServer>();
  ASSERT_TRUE(server->Start().ok());
  RawClient waiting(server->port()), stream(server->port()), idle(server->port());
  idle.Send(Get("/hello"));
  EXPECT_EQ(idle.Read().status, 200);
  stream.Send(Get("/stream"));
  ASSERT_TRUE(stream.ReadUntil(": open"));
  waiting.Send("POST /never HTTP/1.1\r\n" + kHost + "Content-Length: 0\r\n\r\n");
  idle.Send(Get("/hello"));
  EXPECT_EQ(idle.Read().status, 200);
  while (server->Kept().empty()) {
    idle.Send(Get("/hello"));
    ASSERT_EQ(idle.Read().status, 200);
  }
  std::thread late([&] {
    rest::Response response;
    response.body = "late but there";
    server->Kept()[0]([response] { return response; });
  });
  server->server().Stop();
  late.join();
  EXPECT_EQ(waiting.Read().body, "late but there");
  EXPECT_TRUE(stream.ReadUntil("0\r\n\r\n"));
  EXPECT_TRUE(idle.ClosedCleanly());
  server.reset();
}

TEST(LifetimeProbes, AnAnswerAfterTheServerIsGoneIsHarmless) {
  std::vector<rest::Responder> kept;
  {
    ProbeServer server;
    ASSERT_TRUE(server.Start().ok());
    auto client = std::make_unique<RawClient>(server.port());
    client->Send("POST /never HTTP/1.1\r\n" + kHost + "Content-Length: 0\r\n\r\n");
    RawClient other(server.port());
    while (server.Kept().empty()) {
      other.Send(Get("/hello"));
      ASSERT_EQ(other.Read().status, 200);
    }
    kept = server.Kept();
    client->Reset();
  }
  kept[0]([] { return rest::Response{}; });
}

TEST(LifetimeProbes, ThousandsOfConnectionsAndAbortsLeaveAWorkingServerAndNoDescriptors) {
  ProbeServer server;
  ASSERT_TRUE(server.Start().ok());
  for (int i = 0; i < 3000; ++i) {
    RawClient client(server.port());
    ASSERT_TRUE(client.connected()) << i;
    if (i % 3 == 0) continue;
    client.Send(i % 3 == 1 ? Get("/hello")
                           : "POST /late HTTP/1.1\r\n" + kHost + "Content-Length: 1\r\n\r\nx");
    if (i % 2 == 0) client.Reset();
  }
  RawClient after(server.port());
  after.Send(Get("/hello"));
  EXPECT_EQ(after.Read().body, "hello world");
}

TEST(LifetimeProbes, AHundredRestartsUnderLoadAreClean) {
  for (int i = 0; i < 100; ++i) {
    ProbeServer server;
    ASSERT_TRUE(server.Start().ok());
    RawClient client(server.port());
    client.Send(Get("/hello") + Get("/pool/a") + Get("/long"));
    EXPECT_EQ(client.Read().status, 200);
  }
}

TEST(LifetimeProbes, RequestsAreCountedByRoutePatternAndCode) {
  ProbeServer server;
  ASSERT_TRUE(server.Start().ok());
  RawClient client(server.port());
  client.Send(Get("/pool/secret-name") + Get("/throw") + Get("/nowhere"));
  for (int i = 0; i < 3; ++i) client.Read();
  const std::string text = server.metrics().Expose();
  EXPECT_NE(
      text.find(R"(muster_http_requests_total{code="200",method="GET",route="/pool/{name}"} 1)"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find(R"(code="500",method="GET",route="/throw"} 1)"), std::string::npos);
  EXPECT_NE(text.find(R"(code="404",method="none",route="none"} 1)"), std::string::npos);
  EXPECT_NE(text.find("muster_http_request_seconds_count"), std::string::npos);
  EXPECT_EQ(text.find("secret-name"), std::string::npos);
}

}  // namespace
}  // namespace muster::rest_probes
