// The guard without a socket: a request reads the same however it is cut into pieces, and the guard
// refuses or waits for any random bytes. (The table of refusals runs over real sockets in
// tests/e2e/rest_probes.)
#include "api/rest/http/guard.h"

#include <gtest/gtest.h>

#include <random>

namespace muster::rest {
namespace {

RouteTable Routes() {
  const SyncHandler none = [](Request&) { return Response{}; };
  return RouteTable({{Method::kPost, "/echo", auth::Verb::kGet, "x", 1000, Run::kInline, none},
                     {Method::kGet, "/hello", auth::Verb::kGet, "x", 0, Run::kInline, none}});
}

using Step = RequestReader::Step;

const std::string kPost =
    "POST /echo?q=1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/yaml ; "
    "charset=utf-8\r\nIdempotency-Key:  k1 \r\n"
    "X-Muster-User: ada\r\nContent-Length: 5\r\n\r\nhello";
const std::string kChunked =
    "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
    "CHUNKED\r\n\r\n3;ext=1\r\nabc\r\n2\r\nde\r\n0\r\n"
    "X-Muster-User: mallory\r\n\r\n";

TEST(RequestReader, ReadsTheSameHoweverTheBytesAreCut) {
  const RouteTable routes = Routes();
  const std::string all = kPost + kChunked + kPost;
  for (std::size_t piece = 1; piece <= all.size(); ++piece) {
    RequestReader reader(routes);
    std::vector<std::string> bodies, users;
    for (std::size_t at = 0; at < all.size(); at += piece) {
      reader.Feed(std::string_view(all).substr(at, piece));
      for (Step step = reader.Next(); step == Step::kRequest; step = reader.Next()) {
        const ParsedRequest read = reader.Take();
        bodies.push_back(read.request.body);
        users.push_back(read.request.as_user);
      }
    }
    ASSERT_EQ(bodies, (std::vector<std::string>{"hello", "abcde", "hello"})) << piece;
    ASSERT_EQ(users, (std::vector<std::string>{"ada", "", "ada"}))
        << "a trailer must not name the caller";
    EXPECT_FALSE(reader.mid_request());
    EXPECT_EQ(reader.held(), 0u);
  }
}

TEST(RequestReader, ReadsAnEmptyChunkedBodyThatComesByteByByte) {
  const RouteTable routes = Routes();
  const std::string all =
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  RequestReader reader(routes);
  Step step = Step::kNeedMore;
  for (const char byte : all) {
    ASSERT_EQ(step, Step::kNeedMore);
    reader.Feed({&byte, 1});
    step = reader.Next();
  }
  ASSERT_EQ(step, Step::kRequest);
  EXPECT_EQ(reader.Take().request.body, "");
}

TEST(RequestReader, PassesOnOnlyTheHeadersOfItsList) {
  const RouteTable routes = Routes();
  RequestReader reader(routes);
  reader.Feed(kPost);
  ASSERT_EQ(reader.Next(), Step::kRequest);
  const ParsedRequest read = reader.Take();
  EXPECT_EQ(read.request.content_type, "text/yaml ; charset=utf-8");
  EXPECT_EQ(read.request.idempotency_key, "k1");
  EXPECT_EQ(read.request.as_user, "ada");
  EXPECT_EQ(read.match.index, 0);
  EXPECT_TRUE(read.keep_alive);
  EXPECT_EQ(reader.Next(), Step::kNeedMore);
}

// rules U11, U13
TEST(RequestReader, WhoSendsARequestCanBeReadInOneWayOnly) {
  const RouteTable routes = Routes();
  const std::string begin = "GET /echo HTTP/1.1\r\nHost: localhost\r\n";
  for (const std::string header :
       {"Authorization: a\r\nAuthorization: b\r\n", "Authorization:\r\n",
        "X-Muster-User: a\r\nX-Muster-User: a\r\n", "Impersonate-User: a\r\nX-Muster-User: b\r\n",
        "Impersonate-Uid: 0\r\n", "impersonate-extra-x: 0\r\n"}) {
    RequestReader reader(routes);
    reader.Feed(begin + header + "\r\n");
    EXPECT_EQ(reader.Next(), Step::kRefused) << header;
    EXPECT_EQ(reader.refusal().status, 400) << header;
  }
  RequestReader large(routes);
  large.Feed(begin + "Authorization: " + std::string(13 << 10, 'a') + "\r\n\r\n");
  EXPECT_EQ(large.Next(), Step::kRefused);
  EXPECT_EQ(large.refusal().status, 431);
}

TEST(RequestReader, OverAUnixSocketAnyHostIsTaken) {
  const RouteTable routes = Routes();
  const std::string bytes = "POST /echo HTTP/1.1\r\nHost: muster\r\nContent-Length: 0\r\n\r\n";
  RequestReader unix_socket(routes, true), tcp(routes);
  unix_socket.Feed(bytes);
  tcp.Feed(bytes);
  EXPECT_EQ(unix_socket.Next(), Step::kRequest);
  EXPECT_EQ(tcp.Next(), Step::kRefused);
}

TEST(RequestReader, RefusesTheBodyBeforeItComes) {
  const RouteTable routes = Routes();
  RequestReader reader(routes);
  reader.Feed(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: "
      "1001\r\n\r\n");
  ASSERT_EQ(reader.Next(), Step::kRefused);
  EXPECT_EQ(reader.refusal().status, 413);
  reader.Feed(kPost);
  EXPECT_EQ(reader.Next(), Step::kRefused) << "a refused reader reads no more";
  EXPECT_EQ(reader.held(), 0u);
}

TEST(RequestReader, ABodyThatGrowsOverTheLimitInChunksIsRefusedWhenItDoes) {
  const RouteTable routes = Routes();
  RequestReader reader(routes);
  reader.Feed("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  Step step = reader.Next();
  for (int i = 0; i < 11 && step == Step::kNeedMore; ++i) {
    reader.Feed("64\r\n" + std::string(100, 'x') + "\r\n");
    step = reader.Next();
    EXPECT_LE(reader.held(), 1100u);
  }
  ASSERT_EQ(step, Step::kRefused);
  EXPECT_EQ(reader.refusal().status, 413);
}

TEST(RequestReader, ABodyHiddenInFramingIsRefused) {
  const RouteTable routes = Routes();
  RequestReader reader(routes);
  reader.Feed("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  Step step = reader.Next();
  int chunks = 0;
  for (; chunks < 900 && step == Step::kNeedMore; ++chunks) {
    reader.Feed("1;pad=" + std::string(200, 'p') + "\r\nx\r\n");
    step = reader.Next();
  }
  EXPECT_EQ(step, Step::kRefused);
  EXPECT_LT(chunks, 200) << "900 bytes of body may not cost 180 KB of framing";
}

TEST(RequestReader, RandomDamageNeverReadsAsASecondRequest) {
  const RouteTable routes = Routes();
  std::mt19937 random(20261121);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = round % 2 == 0 ? kPost : kChunked;
    for (int damage = 0; damage <= round % 3; ++damage) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, 1 + random() % 4);
          break;
        default:
          bytes.insert(at, 1, "\r\n\0: ;,/%"[random() % 9]);
          break;
      }
    }
    RequestReader reader(routes);
    reader.Feed(bytes);
    int requests = 0;
    Step step = reader.Next();
    for (int i = 0; i < 5 && (step == Step::kRequest || step == Step::kContinue); ++i) {
      if (step == Step::kRequest) {
        ++requests;
        const ParsedRequest read = reader.Take();
        EXPECT_LE(read.request.body.size(), 1000u);
      }
      step = reader.Next();
    }
    EXPECT_LE(requests, 1) << bytes;
    EXPECT_LE(reader.held(), bytes.size());
  }
}

TEST(IsLocalAuthority, AddressesAndLocalhostPassNamesDoNot) {
  for (const char* good : {"localhost", "LOCALHOST:8686", "127.0.0.1", "127.0.0.1:8686", "[::1]",
                           "[::1]:8686", "10.1.2.3:80"}) {
    EXPECT_TRUE(IsLocalAuthority(good)) << good;
  }
  for (const char* bad :
       {"", "evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "[::1", "[::1]x", "::1",
        "localhost:", "localhost:x", "user@localhost", "127.1:80", "[localhost]:1"}) {
    EXPECT_FALSE(IsLocalAuthority(bad)) << bad;
  }
}

TEST(IsNamedAuthority, OnlyNamesOfTheServerPass) {
  const std::vector<std::string> names = {"muster.example", "*.fleet.example", "127.0.0.1"};
  for (const char* good :
       {"muster.example", "MUSTER.example:8686", "a.fleet.example", "a.fleet.example:1"})
    EXPECT_TRUE(IsNamedAuthority(good, names)) << good;
  for (const char* bad : {"", "example", "muster.example.evil.org", "fleet.example",
                          "a.b.fleet.example", ".fleet.example", "muster.example:x", "*"})
    EXPECT_FALSE(IsNamedAuthority(bad, names)) << bad;
}

TEST(RequestReader, S10_WhatAPageOfAnotherSiteLoadsIsRefused_ToFollowALinkIsNot) {
  const RouteTable routes({});
  const auto step = [&](const std::string& method, const std::string& headers) {
    RequestReader reader(routes);
    reader.Feed(method + " / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n" + headers +
                "\r\n");
    return reader.Next();
  };
  for (const char* site : {"cross-site", "same-site", "something-new"}) {
    const std::string header = "Sec-Fetch-Site: " + std::string(site) + "\r\n";
    for (const char* method : {"GET", "HEAD", "POST", "PUT", "DELETE"}) {
      EXPECT_EQ(step(method, header), Step::kRefused) << method << " " << site;
      EXPECT_EQ(step(method, header + "Sec-Fetch-Mode: no-cors\r\n"), Step::kRefused);
    }
    EXPECT_EQ(step("POST", header + "Sec-Fetch-Mode: navigate\r\n"), Step::kRefused);
    EXPECT_EQ(step("GET", header + "Sec-Fetch-Mode: navigate\r\n"), Step::kRequest);
  }
  for (const char* site : {"same-origin", "none"})
    EXPECT_EQ(step("POST", "Sec-Fetch-Site: " + std::string(site) + "\r\n"), Step::kRequest);
}

TEST(RequestReader, OverTlsTheServersNamesAndItsOwnOriginPass) {
  const RouteTable routes({});
  const std::vector<std::string> names = {"muster.example"};
  const auto step = [&](const std::string& headers, bool tls) {
    RequestReader reader(routes);
    if (tls) reader.ExpectHttps(&names);
    reader.Feed("GET / HTTP/1.1\r\n" + headers + "\r\n");
    return reader.Next();
  };
  const std::string host = "Host: muster.example:8686\r\n";
  EXPECT_EQ(step(host, true), Step::kRequest);
  EXPECT_EQ(step(host, false), Step::kRefused);
  EXPECT_EQ(step("Host: evil.example\r\n", true), Step::kRefused);
  EXPECT_EQ(step(host + "Origin: https://muster.example:8686\r\n", true), Step::kRequest);
  for (const char* origin :
       {"http://muster.example:8686", "https://muster.example", "https://evil.example", "null"})
    EXPECT_EQ(step(host + "Origin: " + origin + "\r\n", true), Step::kRefused) << origin;
}

}  // namespace
}  // namespace muster::rest
