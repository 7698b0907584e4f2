// Probes: requests that two parsers could read differently, or that try to make the server
// allocate. Each is answered once and the connection ends; nothing after it is taken for a request.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/e2e/rest_probes/probe_server.h"
#include "tests/e2e/rest_probes/raw_client.h"

namespace muster::rest_probes {
namespace {

struct Probe {
  const char* sentence;
  std::string bytes;
  int status;
};

const std::string kHost = "Host: localhost\r\n";
const std::string kNext = "GET /hello?name=smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n";

std::vector<Probe> Probes() {
  using std::string_literals::operator""s;
  return {
      {"A line that is not HTTP", "hello there\r\n\r\n", 400},
      {"An HTTP/0.9 request line", "GET /hello\r\n\r\n", 400},
      {"A version that does not exist", "GET /hello HTTP/1.7\r\n" + kHost + "\r\n", 505},
      {"HTTP/2's preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"A prefix taken for a version", "GET /hello HTTP/\r\n" + kHost + "\r\n", 505},
      {"A lower-case version", "GET /hello http/1.1\r\n" + kHost + "\r\n", 505},
      {"Two blanks after the method", "GET  /hello HTTP/1.1\r\n" + kHost + "\r\n", 400},
      {"A tab in the request line", "GET\t/hello HTTP/1.1\r\n" + kHost + "\r\n", 400},
      {"A NUL in the target", "GET /hel\0lo HTTP/1.1\r\n"s + kHost + "\r\n", 400},
      {"A NUL escaped in the target", "GET /hel%00lo HTTP/1.1\r\n" + kHost + "\r\n", 400},
      {"A broken escape", "GET /hel%zz HTTP/1.1\r\n" + kHost + "\r\n", 400},
      {"A path that climbs", "GET /hello/../throw HTTP/1.1\r\n" + kHost + "\r\n", 400},
      {"A path that climbs in escapes", "GET /hello/%2e%2e/throw HTTP/1.1\r\n" + kHost + "\r\n",
       400},
      {"A bare LF after the request line", "GET /hello HTTP/1.1\n" + kHost + "\r\n", 505},
      {"A bare LF between headers", "GET /hello HTTP/1.1\r\nHost: localhost\nX-A: b\r\n\r\n", 400},
      {"A bare CR in a header's value",
       "GET /hello HTTP/1.1\r\n" + kHost + "X-A: b\rX-C: d\r\n\r\n", 400},
      {"A blank before the colon", "GET /hello HTTP/1.1\r\nHost : localhost\r\n\r\n", 400},
      {"A header without a name", "GET /hello HTTP/1.1\r\n" + kHost + ": empty\r\n\r\n", 400},
      {"A header without a colon", "GET /hello HTTP/1.1\r\n" + kHost + "nonsense\r\n\r\n", 400},
      {"A NUL in a header's name", "GET /hello HTTP/1.1\r\n" + kHost + "X\0A: b\r\n\r\n"s, 400},
      {"A NUL in a header's value", "GET /hello HTTP/1.1\r\n" + kHost + "X-A: b\0c\r\n\r\n"s, 400},
      {"No Host", "GET /hello HTTP/1.1\r\n\r\n", 400},
      {"Two Hosts", "GET /hello HTTP/1.1\r\n" + kHost + kHost + "\r\n", 400},
      {"A Host that a page may have rebound", "GET /hello HTTP/1.1\r\nHost: evil.example\r\n\r\n",
       403},
      {"Another origin",
       "POST /echo HTTP/1.1\r\n" + kHost +
           "Origin: http://evil.example\r\nContent-Length: 0\r\n\r\n",
       403},
      {"Two equal Content-Lengths",
       "POST /echo HTTP/1.1\r\n" + kHost + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi", 400},
      {"Two different Content-Lengths",
       "POST /echo HTTP/1.1\r\n" + kHost + "Content-Length: 2\r\nContent-Length: 60\r\n\r\nhi",
       400},
      {"A list as Content-Length",
       "POST /echo HTTP/1.1\r\n" + kHost + "Content-Length: 2, 2\r\n\r\nhi", 400},
      {"A signed Content-Length",
       "POST /echo HTTP/1.1\r\n" + kHost + "Content-Length: +2\r\n\r\nhi", 400},
      {"A negative Content-Length",
       "POST /echo HTTP/1.1\r\n" + kHost + "Content-Length: -2\r\n\r\nhi", 400},
      {"A hexadecimal Content-Length",
       "POST /echo HTTP/1.1\r\n" + kHost + "Content-Length: 0x2\r\n\r\nhi", 400},
      {"A Content-Length beyond 64 bits",
       "POST /echo HTTP/1.1\r\n" + kHost + "Content-Length: 99999999999999999999999\r\n\r\n", 400},
      {"A terabyte of Content-Length",
       "POST /echo HTTP/1.1\r\n" + kHost + "Content-Length: 1099511627776\r\n\r\n", 413},
      {"A body over the path's limit",
       "POST /echo HTTP/1.1\r\n" + kHost + "Content-Length: 1048577\r\n\r\n", 413},
      {"A body where none is taken",
       "GET /hello HTTP/1.1\r\n" + kHost + "Content-Length: 5\r\n\r\nhello", 413},
      {"Transfer-Encoding, then Content-Length",
       "POST /echo HTTP/1.1\r\n" + kHost +
           "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
       400},
      {"Content-Length, then Transfer-Encoding",
       "POST /echo HTTP/1.1\r\n" + kHost +
           "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       400},
      {"Two Transfer-Encodings",
       "POST /echo HTTP/1.1\r\n" + kHost +
           "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       400},
      {"A Transfer-Encoding of another kind",
       "POST /echo HTTP/1.1\r\n" + kHost + "Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n", 501},
      {"chunked hidden behind another",
       "POST /echo HTTP/1.1\r\n" + kHost + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
       501},
      {"chunked that is not last",
       "POST /echo HTTP/1.1\r\n" + kHost + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
       501},
      {"A misspelt chunked",
       "POST /echo HTTP/1.1\r\n" + kHost + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501},
      {"chunked in HTTP/1.0",
       "POST /echo HTTP/1.0\r\n" + kHost + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"A chunk whose size is no number",
       "POST /echo HTTP/1.1\r\n" + kHost +
           "Transfer-Encoding: chunked\r\n\r\nzz\r\nhi\r\n0\r\n\r\n",
       400},
      {"A chunk with a signed size",
       "POST /echo HTTP/1.1\r\n" + kHost +
           "Transfer-Encoding: chunked\r\n\r\n+2\r\nhi\r\n0\r\n\r\n",
       400},
      {"A chunk longer than it says",
       "POST /echo HTTP/1.1\r\n" + kHost +
           "Transfer-Encoding: chunked\r\n\r\n2\r\nhiho\r\n0\r\n\r\n",
       400},
      {"A chunk beyond 64 bits",
       "POST /echo HTTP/1.1\r\n" + kHost +
           "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
       400},
      {"A terabyte of chunk",
       "POST /echo HTTP/1.1\r\n" + kHost + "Transfer-Encoding: chunked\r\n\r\n10000000000\r\n",
       413},
      {"A compressed body",
       "POST /echo HTTP/1.1\r\n" + kHost + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\nhi",
       415},
      {"An Expect that is unknown",
       "POST /echo HTTP/1.1\r\n" + kHost + "Expect: miracles\r\nContent-Length: 2\r\n\r\nhi", 417},
      {"48 KB of headers",
       "GET /hello HTTP/1.1\r\n" + kHost + "X-A: " + std::string(48 << 10, 'a') + "\r\n\r\n", 431},
      {"48 KB of small headers",
       [] {
    std::string bytes = "GET /hello HTTP/1.1\r\n" + kHost;
    while (bytes.size() < (48 << 10)) bytes += "X-A: b\r\n";
    return bytes + "\r\n";
       }(),
       431},
      {"A target of 48 KB", "GET /" + std::string(48 << 10, 'a') + " HTTP/1.1\r\n" + kHost + "\r\n",
       431},
      {"Headers that never end", "GET /hello HTTP/1.1\r\n" + std::string(64 << 10, 'a'), 431},
      {"A chunk extension that never ends",
       "POST /echo HTTP/1.1\r\n" + kHost +
           "Transfer-Encoding: chunked\r\n\r\n2;a=" + std::string(64 << 10, 'a'),
       400},
      {"An unknown method", "BREW /hello HTTP/1.1\r\n" + kHost + "\r\n", 501},
      {"A known method that no route has", "TRACE /echo HTTP/1.1\r\n" + kHost + "\r\n", 405},
      {"CONNECT", "CONNECT localhost:80 HTTP/1.1\r\n" + kHost + "\r\n", 400},
      {"The asterisk form", "OPTIONS * HTTP/1.1\r\n" + kHost + "\r\n", 400},
      };
}

TEST(MalformedProbes, EachIsRefusedOnceAndNothingBehindItIsRead) {
  ProbeServer server;
  ASSERT_TRUE(server.Start().ok());
  for (const Probe& probe : Probes()) {
    SCOPED_TRACE(probe.sentence);
    RawClient client(server.port());
    client.Send(probe.bytes);
    client.Send(kNext);
    const Answer answer = client.Read();
    EXPECT_EQ(answer.status, probe.status) << answer.head << answer.body;
    EXPECT_NE(answer.head.find("Connection: close"), std::string::npos) << answer.head;
    EXPECT_TRUE(client.ClosedCleanly()) << "more came: " << client.buffer();
  }
  RawClient after(server.port());
  after.Send(kNext);
  EXPECT_EQ(after.Read().body, "hello smuggled");
}

TEST(MalformedProbes, TheRestOfABodyOverTheLimitIsNeverParsedAsRequests) {
  ProbeServer server;
  ASSERT_TRUE(server.Start().ok());
  RawClient client(server.port());
  client.Send("POST /echo HTTP/1.1\r\n" + kHost + "Content-Length: 3000000\r\n\r\n");
  for (int i = 0; i < 1000 && client.Send(kNext); ++i) {
  }
  EXPECT_EQ(client.Read().status, 413);
  EXPECT_TRUE(client.ClosedCleanly()) << client.buffer().substr(0, 200);
}

TEST(MalformedProbes, AHeaderBlockCutAtAnyByteIsHarmless) {
  ProbeServer server;
  ASSERT_TRUE(server.Start().ok());
  const std::string whole = "POST /echo?a=%41 HTTP/1.1\r\n" + kHost +
                            "Content-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello";
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    RawClient client(server.port());
    client.Send(std::string_view(whole).substr(0, cut));
    if (cut % 2 == 0) client.Reset();
  }
  RawClient after(server.port());
  after.Send(whole);
  EXPECT_EQ(after.Read().body, "hello");
}

TEST(MalformedProbes, ARequestInPiecesOfOneByteIsReadWhole) {
  ProbeServer server;
  ASSERT_TRUE(server.Start().ok());
  RawClient client(server.port());
  const std::string whole =
      "POST /echo HTTP/1.1\r\n" + kHost +
      "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: x\r\n\r\n";
  for (const char byte : whole) ASSERT_TRUE(client.Send({&byte, 1}));
  EXPECT_EQ(client.Read().body, "abcde");
  client.Send(kNext);
  EXPECT_EQ(client.Read().body, "hello smuggled");
}

TEST(MalformedProbes, HeadersEndingInCrAtA4096BoundaryAreRead) {
  ProbeServer server;
  ASSERT_TRUE(server.Start().ok());
  for (std::size_t size = 4090; size <= 4100; ++size) {
    RawClient client(server.port());
    std::string head = "GET /hello HTTP/1.1\r\n" + kHost + "X-Pad: ";
    head += std::string(size - head.size() - 4, 'p') + "\r\n\r\n";
    ASSERT_EQ(head.size(), size);
    client.Send(head);
    EXPECT_EQ(client.Read().body, "hello world") << size;
  }
}

TEST(MalformedProbes, HugeContentLengthsReserveNothing) {
  ProbeServer server;
  ASSERT_TRUE(server.Start().ok());
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 200; ++i) {
    clients.push_back(std::make_unique<RawClient>(server.port()));
    clients.back()->Send("POST /echo HTTP/1.1\r\n" + kHost + "Content-Length: 2147483648\r\n\r\n");
  }
  for (auto& client : clients) EXPECT_EQ(client->Read().status, 413);
}

TEST(MalformedProbes, ErrorsTakeTheFormOfTheirPath) {
  ProbeServer server;
  ASSERT_TRUE(server.Start().ok());
  RawClient client(server.port());
  client.Send("GET /api/nothing HTTP/1.1\r\n" + kHost + "\r\nGET /nothing HTTP/1.1\r\n" + kHost +
              "\r\nPUT /echo HTTP/1.1\r\n" + kHost + "\r\n");
  const Answer status = client.Read();
  EXPECT_EQ(status.status, 404);
  EXPECT_NE(status.body.find(R"("kind":"Status")"), std::string::npos) << status.body;
  EXPECT_NE(status.body.find(R"("reason":"NotFound")"), std::string::npos) << status.body;
  const Answer problem = client.Read();
  EXPECT_EQ(problem.status, 404);
  EXPECT_NE(problem.head.find("application/problem+json"), std::string::npos) << problem.head;
  const Answer method = client.Read();
  EXPECT_EQ(method.status, 405);
  EXPECT_NE(method.head.find("Allow: POST\r\n"), std::string::npos) << method.head;
}

}  // namespace
}  // namespace muster::rest_probes
