// The parts of the client that need no connection.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <set>

#include "backends/k8s/client/backoff.h"
#include "backends/k8s/client/circuit.h"
#include "backends/k8s/client/exchange.h"
#include "backends/k8s/client/io_threads.h"
#include "backends/k8s/client/response_reader.h"
#include "backends/k8s/client/strand_gate.h"
#include "backends/k8s/member_json.h"
#include "tests/support/fake_clock.h"

namespace muster::k8s::test {
namespace {

using muster::test::SeededRandom;
using ::testing::HasSubstr;

ExchangePtr Waiting(Urgency urgency, std::uint64_t arrival) {
  auto out = std::make_shared<Exchange>();
  out->request.urgency = urgency;
  out->arrival = arrival;
  return out;
}

TEST(RequestQueue, UrgencyGoesFirstThenArrival) {
  RequestQueue queue;
  const auto list = Waiting(Urgency::kList, 1), create1 = Waiting(Urgency::kCreate, 2),
             create2 = Waiting(Urgency::kCreate, 3), release = Waiting(Urgency::kRelease, 4);
  for (const auto& each : {list, create1, create2, release}) queue.Push(each);
  EXPECT_EQ(queue.Pop(true), release);
  EXPECT_EQ(queue.Pop(true), create1);
  queue.PushFront(create1);
  EXPECT_EQ(queue.Pop(true), create1);
  EXPECT_EQ(queue.Pop(true), create2);
  EXPECT_EQ(queue.Pop(false), nullptr);
  EXPECT_EQ(queue.Pop(true), list);
}

TEST(RequestQueue, AFloodDoesNotKeepAListWaitingForEver) {
  RequestQueue queue;
  const auto list = Waiting(Urgency::kList, 0);
  queue.Push(list);
  for (std::uint64_t i = 1; i <= 40; ++i) queue.Push(Waiting(Urgency::kRelease, i));
  int releases = 0;
  while (queue.Pop(true) != list) ++releases;
  EXPECT_LT(releases, 16);
}

TEST(RequestQueue, WhatIsOverIsPassedOver) {
  RequestQueue queue;
  const auto over = Waiting(Urgency::kRead, 1), next = Waiting(Urgency::kRead, 2);
  queue.Push(over);
  queue.Push(next);
  over->stage = Exchange::Stage::kOver;
  EXPECT_EQ(queue.Pop(true), next);
  EXPECT_TRUE(queue.TakeAll().empty());
}

TEST(Backoff, PausesDoubleToTheBoundAndAreDrawnFromTheirUpperHalf) {
  SeededRandom random(1);
  Backoff backoff(100, 1000);
  for (const std::int64_t most : {100, 200, 400, 800, 1000, 1000}) {
    const std::int64_t pause = backoff.Next(random);
    EXPECT_GE(pause, most / 2);
    EXPECT_LE(pause, most);
  }
  backoff.Reset();
  EXPECT_LE(backoff.Next(random), 100);
  std::set<std::int64_t> drawn;
  for (int i = 0; i < 50; ++i) drawn.insert(Backoff::Jittered(1000, random));
  EXPECT_GT(drawn.size(), 20u);
}

TEST(Circuit, OpensAfterFailuresInARowAndClosesAtOnce) {
  Circuit circuit(3, 100, 400);
  EXPECT_FALSE(circuit.Failed());
  EXPECT_FALSE(circuit.Failed());
  EXPECT_FALSE(circuit.Succeeded());
  EXPECT_FALSE(circuit.Failed());
  EXPECT_FALSE(circuit.Failed());
  EXPECT_TRUE(circuit.Failed());
  EXPECT_TRUE(circuit.open());
  EXPECT_FALSE(circuit.Failed());
  EXPECT_TRUE(circuit.Succeeded());
  EXPECT_FALSE(circuit.open());
}

TEST(ResponseReader, AnswersAreReadByteByByte) {
  const std::string text =
      "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
      "HTTP/1.1 429 Too Many\r\nRetry-After: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  ResponseReader reader(100);
  for (const char c : text) {
    ASSERT_FALSE(reader.done());
    ASSERT_TRUE(reader.Feed({&c, 1}));
  }
  EXPECT_TRUE(reader.done());
  EXPECT_EQ(reader.status(), 429);
  EXPECT_EQ(reader.retry_after_ms(), 3000);
  EXPECT_EQ(reader.TakeBody(), "abcde");
  EXPECT_TRUE(reader.keep_alive());
}

TEST(ResponseReader, AnEmptyChunkedBodyIsReadByteByByte) {
  ResponseReader reader(100);
  for (const char c :
       std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")) {
    ASSERT_FALSE(reader.done());
    ASSERT_TRUE(reader.Feed({&c, 1}));
  }
  EXPECT_TRUE(reader.done());
  EXPECT_EQ(reader.TakeBody(), "");
}

TEST(ResponseReader, RetryAfterThatIsNoNumberOfSecondsMeansSoonAndIsBounded) {
  for (const auto& [value, ms] :
       {std::pair("Fri, 31 Dec 1999 23:59:59 GMT", 1000), std::pair("-5", 1000),
        std::pair("0", 1000), std::pair("99999999", 3'600'000)}) {
    ResponseReader reader(100);
    ASSERT_TRUE(reader.Feed(std::string("HTTP/1.1 503 X\r\nRetry-After: ") + value +
                            "\r\nContent-Length: 0\r\n\r\n"));
    EXPECT_EQ(reader.retry_after_ms(), ms) << value;
  }
}

TEST(ResponseReader, WhatIsNoAnswerIsRefused) {
  const struct {
    std::string bytes, sentence;
  } cases[] = {
      {"SSH-2.0-OpenSSH_9\r\n", "is not HTTP"},
      {"HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x'), "is not HTTP"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n", "has over 1 MiB"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", "is not HTTP"},
  };
  for (const auto& each : cases) {
    ResponseReader reader(1 << 20);
    const auto fed = reader.Feed(each.bytes);
    ASSERT_FALSE(fed) << each.bytes.substr(0, 60);
    EXPECT_THAT(fed.error().detail, HasSubstr(each.sentence));
  }
}

TEST(ResponseReader, AnAnswerThatIsCutOffIsNoAnswer) {
  ResponseReader whole(100), cut(100), to_the_end(100);
  ASSERT_TRUE(whole.Feed("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"));
  EXPECT_TRUE(whole.FeedEnd());
  ASSERT_TRUE(cut.Feed("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na"));
  EXPECT_FALSE(cut.FeedEnd());
  ASSERT_TRUE(to_the_end.Feed("HTTP/1.0 200 OK\r\n\r\nabc"));
  EXPECT_TRUE(to_the_end.FeedEnd());
  EXPECT_FALSE(to_the_end.keep_alive());
  ResponseReader nothing(100);
  EXPECT_FALSE(nothing.FeedEnd());
}

TEST(MemberJson, BytesThatAreNotUtf8DoNotSpoilTheRest) {
  const auto value = ParseMemberJson("{\"a\":\"x\xff\xc0\xafz\xed\xa0\x80\",\"b\":\"\xc3\xa4\"}");
  ASSERT_TRUE(value) << value.error().detail;
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(std::string(value->at("a").as_string()), "x" + bad + bad + bad + "z" + bad + bad + bad);
  EXPECT_EQ(value->at("b").as_string(), "\xc3\xa4");
}

TEST(MemberJson, DeepObjectsAreReadAndBottomlessOnesAreNot) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_TRUE(ParseMemberJson(nested(150)));
  const auto deep = ParseMemberJson(nested(100'000));
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().code, Code::kDataLoss);
}

TEST(MemberJson, EachRefusalOfTheApiServerHasItsCode) {
  const auto body = [](const std::string& reason) {
    return R"({"kind":"Status","reason":")" + reason + R"(","message":"because"})";
  };
  const struct {
    int status;
    std::string reason;
    Code code;
  } cases[] = {
      {400, "BadRequest", Code::kInvalidArgument},
      {401, "Unauthorized", Code::kUnauthenticated},
      {403, "Forbidden", Code::kPermissionDenied},
      {404, "NotFound", Code::kNotFound},
      {409, "AlreadyExists", Code::kAlreadyExists},
      {409, "Conflict", Code::kAborted},
      {410, "Expired", Code::kOutOfRange},
      {422, "Invalid", Code::kInvalidArgument},
      {429, "TooManyRequests", Code::kResourceExhausted},
      {500, "InternalError", Code::kUnavailable},
      {504, "Timeout", Code::kUnavailable},
  };
  for (const auto& each : cases) {
    const Error error = ErrorOf({each.status, body(each.reason), 0});
    EXPECT_EQ(error.code, each.code) << each.status << each.reason;
    EXPECT_EQ(error.detail, "because");
  }
  EXPECT_EQ(ErrorOf({404, "404 page not found\n", 0}).detail, "404 page not found");
  EXPECT_EQ(ErrorOf({502, "", 0}).detail, "HTTP 502");
}

TEST(StrandGate, MayBeHeldLongerThanTheThreadsLive) {
  auto threads = std::make_unique<IoThreads>(1);
  auto gate = std::make_shared<StrandGate>(threads->context());
  std::promise<void> last;
  ASSERT_TRUE(gate->Close([&] { last.set_value(); }));
  last.get_future().wait();
  gate->Release();
  threads.reset();
  EXPECT_FALSE(gate->OnStrand());
  EXPECT_FALSE(gate->Post([] {}));
  gate.reset();  // the strand's own service is gone: AddressSanitizer would tell
}

}  // namespace
}  // namespace muster::k8s::test
