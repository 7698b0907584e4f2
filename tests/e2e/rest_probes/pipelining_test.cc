// Probes: many requests on one connection keep their order and none is lost; keep-alive, close,
// HEAD, HTTP/1.0, 100-continue and half-close are answered as RFC 9112 says.
#include <gtest/gtest.h>

#include <string>

#include "tests/e2e/rest_probes/probe_server.h"
#include "tests/e2e/rest_probes/raw_client.h"

namespace muster::rest_probes {
namespace {

const std::string kHost = "Host: 127.0.0.1\r\n";

std::string Post(const std::string& path, const std::string& body) {
  return "POST " + path + " HTTP/1.1\r\n" + kHost +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
std::string Get(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\n" + kHost + "\r\n";
}

class PipeliningProbes : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.Start().ok()); }
  ProbeServer server_;
};

TEST_F(PipeliningProbes, TwentySynchronousRequestsInOneWriteAreAnsweredInOrder) {
  RawClient client(server_.port());
  std::string all;
  for (int i = 0; i < 20; ++i) all += Get("/hello?name=" + std::to_string(i));
  client.Send(all);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(client.Read().body, "hello " + std::to_string(i));
}

TEST_F(PipeliningProbes, TwentyAsynchronousRequestsInOneWriteAreAnsweredInOrder) {
  RawClient client(server_.port());
  std::string all;
  for (int i = 0; i < 20; ++i) all += Post("/late", std::to_string(i));
  client.Send(all);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(client.Read().body, std::to_string(i));
}

TEST_F(PipeliningProbes, MixedHandlersKeepTheOrderOfTheirRequests) {
  RawClient client(server_.port());
  std::string all;
  for (int i = 0; i < 30; ++i) {
    const std::string n = std::to_string(i);
    all += i % 3 == 0 ? Get("/pool/" + n) : i % 3 == 1 ? Post("/late", n) : Post("/echo", n);
  }
  client.Send(all);
  for (int i = 0; i < 30; ++i) EXPECT_EQ(client.Read().body, std::to_string(i));
}

TEST_F(PipeliningProbes, WhatFollowsABigAnswerWaitsForIt) {
  RawClient client(server_.port());
  client.Send(Get("/long") + Get("/hello?name=after"));
  EXPECT_EQ(client.Read().body.size(), 200u * 100'000u);
  EXPECT_EQ(client.Read().body, "hello after");
}

TEST_F(PipeliningProbes, AConnectionIsKeptUntilAskedToClose) {
  RawClient client(server_.port());
  for (int i = 0; i < 3; ++i) {
    client.Send(Get("/hello"));
    const Answer answer = client.Read();
    EXPECT_EQ(answer.body, "hello world");
    EXPECT_EQ(answer.head.find("Connection: close"), std::string::npos);
  }
  client.Send("GET /hello HTTP/1.1\r\n" + kHost + "Connection: close\r\n\r\n" + Get("/hello"));
  EXPECT_NE(client.Read().head.find("Connection: close"), std::string::npos);
  EXPECT_TRUE(client.ClosedCleanly()) << client.buffer();
}

TEST_F(PipeliningProbes, Http10ClosesUnlessItAsksForMore) {
  RawClient closing(server_.port());
  closing.Send("GET /hello HTTP/1.0\r\n\r\n");
  EXPECT_EQ(closing.Read().body, "hello world");
  EXPECT_TRUE(closing.ClosedCleanly());
  RawClient keeping(server_.port());
  for (int i = 0; i < 2; ++i) {
    keeping.Send("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    const Answer answer = keeping.Read();
    EXPECT_EQ(answer.body, "hello world");
    EXPECT_NE(answer.head.find("Connection: keep-alive"), std::string::npos);
  }
}

TEST_F(PipeliningProbes, ALongAnswerToHttp10IsNotChunkedAndEndsWithTheConnection) {
  RawClient client(server_.port());
  client.Send("GET /long HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const Answer answer = client.Read();
  EXPECT_EQ(answer.head.find("chunked"), std::string::npos);
  EXPECT_EQ(answer.body, std::string(200 * 100'000, 'x'));
}

TEST_F(PipeliningProbes, HeadHasTheHeadersOfGetAndNoBody) {
  RawClient client(server_.port());
  client.Send("HEAD /hello HTTP/1.1\r\n" + kHost + "\r\nHEAD /long HTTP/1.1\r\n" + kHost + "\r\n" +
              Get("/hello"));
  EXPECT_NE(client.Read(true).head.find("Content-Length: 11\r\n"), std::string::npos);
  EXPECT_EQ(client.Read(true).status, 200);
  EXPECT_EQ(client.Read().body, "hello world");
}

TEST_F(PipeliningProbes, ExpectContinueIsAnsweredBeforeTheBody) {
  RawClient client(server_.port());
  client.Send("POST /echo HTTP/1.1\r\n" + kHost +
              "Expect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_EQ(client.Read().status, 100);
  client.Send("body");
  EXPECT_EQ(client.Read().body, "body");
  client.Send("POST /echo HTTP/1.1\r\n" + kHost +
              "Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n");
  EXPECT_EQ(client.Read().status, 413) << "a body that will be refused is not asked for";
}

TEST_F(PipeliningProbes, AHalfClosedClientStillGetsEveryAnswer) {
  RawClient client(server_.port());
  client.Send(Post("/late", "one") + Get("/pool/two") + Post("/late", "three"));
  client.HalfClose();
  EXPECT_EQ(client.Read().body, "one");
  EXPECT_EQ(client.Read().body, "two");
  EXPECT_EQ(client.Read().body, "three");
  EXPECT_TRUE(client.ClosedCleanly());
}

TEST_F(PipeliningProbes, AnEmptyLineBeforeARequestIsForgivenAndTheAbsoluteFormIsTaken) {
  RawClient client(server_.port());
  client.Send("\r\nGET http://localhost/hello HTTP/1.1\r\n" + kHost + "\r\n");
  EXPECT_EQ(client.Read().body, "hello world");
}

TEST_F(PipeliningProbes, AThrowingHandlerIs500WithoutItsTextAndTheConnectionLives) {
  RawClient client(server_.port());
  client.Send(Get("/throw") + Get("/throw42") + Post("/latethrow", "") + Get("/hello"));
  for (int i = 0; i < 3; ++i) {
    const Answer answer = client.Read();
    EXPECT_EQ(answer.status, 500);
    EXPECT_EQ(answer.body.find("secret"), std::string::npos);
  }
  EXPECT_EQ(client.Read().body, "hello world");
}

TEST_F(PipeliningProbes, AnAnswerThatNobodyGivesIsAnsweredAsUnknown) {
  RawClient client(server_.port());
  client.Send(Post("/dropped", ""));
  const Answer answer = client.Read();
  EXPECT_EQ(answer.status, 503);
  EXPECT_NE(answer.body.find("ask whether this took effect"), std::string::npos) << answer.body;
}

TEST_F(PipeliningProbes, ABodyThatBreaksHalfwayIsCutNotEnded) {
  RawClient client(server_.port());
  client.Send(Get("/broken"));
  EXPECT_EQ(client.Read().status, -1) << "the last chunk must not come";
}

}  // namespace
}  // namespace muster::rest_probes
