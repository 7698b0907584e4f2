// FrameMeter: the front's counts of an HTTP/2 connection's frames, without a connection.
#include "api/grpc/front/frame_meter.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "schedd/base/limits.h"

namespace muster::api::front {
namespace {

const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::uint8_t kEndStream = 1, kEndHeaders = 4, kAck = 1;

std::string Frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                  const std::string& payload = "") {
  std::string out;
  const auto size = static_cast<std::uint32_t>(payload.size());
  for (const int shift : {16, 8, 0}) out.push_back(static_cast<char>(size >> shift));
  out.push_back(static_cast<char>(type));
  out.push_back(static_cast<char>(flags));
  for (const int shift : {24, 16, 8, 0}) out.push_back(static_cast<char>(stream >> shift));
  return out + payload;
}
std::string Headers(std::uint32_t stream) {
  return Frame(1, kEndHeaders | kEndStream, stream, "headers");
}
std::string Reset(std::uint32_t stream) { return Frame(3, 0, stream, std::string(4, '\0')); }
std::string Trailers(std::uint32_t stream) { return Headers(stream); }

// Feeds the same piece until it is refused or `most` pieces have passed; returns how many passed.
int PassedOf(const std::string& piece, int most, FrameMeter* meter) {
  int passed = 0;
  while (passed < most && meter->FromClient(piece, 0)) ++passed;
  return passed;
}

TEST(FrameMeter, CountsCallsAsTheyOpenAndEnd_HoweverTheBytesAreCut) {
  const std::string up = kPreface + Frame(4, 0, 0) + Headers(1) + Headers(3) +
                         Frame(0, kEndStream, 3, "data") + Headers(5) + Reset(5);
  const std::string down =
      Frame(4, 0, 0) + Frame(1, kEndHeaders, 1, "h") + Frame(0, 0, 1, "d") + Trailers(1);
  for (const std::size_t cut : {1, 2, 7, 10, 1000}) {
    FrameMeter meter;
    for (std::size_t at = 0; at < up.size(); at += cut)
      ASSERT_TRUE(meter.FromClient(up.substr(at, cut), 0)) << meter.why();
    EXPECT_EQ(meter.open_streams(), 2u);
    EXPECT_EQ(meter.TakeResets(), 1u);
    for (std::size_t at = 0; at < down.size(); at += cut)
      ASSERT_TRUE(meter.FromServer(down.substr(at, cut), 0));
    EXPECT_EQ(meter.open_streams(), 1u);
    EXPECT_EQ(meter.server_unfinished(), 0u);
    EXPECT_EQ(meter.last_stream(), 5u);
  }
}

TEST(FrameMeter, KnowsWhatOfTheServersBytesIsNoWholeFrame) {
  FrameMeter meter;
  const std::string frame = Frame(0, 0, 1, "0123456789");
  EXPECT_TRUE(meter.FromServer(frame + frame.substr(0, 4), 0));
  EXPECT_EQ(meter.server_unfinished(), 4u);
  EXPECT_TRUE(meter.FromServer(frame.substr(4, 8), 0));
  EXPECT_EQ(meter.server_unfinished(), 12u);
  EXPECT_TRUE(meter.FromServer(frame.substr(12), 0));
  EXPECT_EQ(meter.server_unfinished(), 0u);
}

TEST(FrameMeter, RefusesWhatIsNotHttp2) {
  FrameMeter meter;
  EXPECT_TRUE(meter.FromClient("PRI * HT", 0));
  EXPECT_FALSE(meter.FromClient("TP/1.1\r\n", 0));
  EXPECT_EQ(meter.why(), "this is not HTTP/2");
  EXPECT_FALSE(meter.FromClient(kPreface, 0)) << "and stays so";
}

TEST(FrameMeter, BoundsEachKindOfFrame) {
  struct Case {
    const char* why;
    std::string frame;
    double burst;
  };
  const Case cases[] = {
      {"too many SETTINGS", Frame(4, 0, 0), limits::kSettingsBurst},
      {"too many pings", Frame(6, 0, 0, std::string(8, 'p')), limits::kPingBurst},
      {"too many empty frames", Frame(0, 0, 1), limits::kEmptyFrameBurst},
      {"too many empty frames", Frame(2, 0, 1, std::string(5, 'p')), limits::kEmptyFrameBurst},
      {"too many unknown frames", Frame(77, 0, 1, "x"), limits::kSettingsBurst},
      {"too many unknown frames", Frame(5, 0, 1, "x"), limits::kSettingsBurst},
      {"too many calls were cancelled", Reset(1), limits::kStreamResetBurst},
  };
  for (const Case& one : cases) {
    FrameMeter meter;
    ASSERT_TRUE(meter.FromClient(kPreface, 0));
    EXPECT_EQ(PassedOf(one.frame, 1'000'000, &meter), static_cast<int>(one.burst)) << one.why;
    EXPECT_EQ(meter.why(), one.why);
  }
}

TEST(FrameMeter, LetsPassWhatClientsDoAllDay) {
  FrameMeter meter;
  ASSERT_TRUE(meter.FromClient(kPreface + Frame(4, 0, 0, std::string(36, 's')), 0));
  const std::string ack = Frame(4, kAck, 0) + Frame(6, kAck, 0, std::string(8, 'p'));
  EXPECT_EQ(PassedOf(ack, 100'000, &meter), 100'000) << "answers to the server's own";
  EXPECT_EQ(PassedOf(Frame(8, 0, 0, std::string(4, 'w')), 100'000, &meter), 100'000);
  EXPECT_EQ(PassedOf(Frame(0, 0, 1, "data"), 100'000, &meter), 100'000);
  for (std::uint32_t stream = 1; stream < 200'000; stream += 2) {
    ASSERT_TRUE(meter.FromClient(Headers(stream), 0)) << meter.why();
    ASSERT_TRUE(meter.FromServer(Trailers(stream), 0)) << meter.why();
  }
  EXPECT_EQ(meter.open_streams(), 0u);
  std::int64_t now = 0;
  for (std::uint32_t stream = 200'001; stream < 240'000; stream += 2) {
    now += 20;  // fifty cancelled calls a second, for ever
    ASSERT_TRUE(meter.FromClient(Headers(stream) + Reset(stream), now)) << meter.why();
  }
}

TEST(FrameMeter, CountsWhatTheServerMustCancelAsTheClients) {
  FrameMeter meter;
  ASSERT_TRUE(meter.FromClient(kPreface, 0));
  bool cut = false;
  std::uint32_t stream = 1;
  for (; stream < 10'000 && !cut; stream += 2)
    cut = !meter.FromClient(Headers(stream), 0) || !meter.FromServer(Reset(stream), 0);
  EXPECT_TRUE(cut);
  EXPECT_EQ(meter.why(), "too many calls were cancelled");
}

TEST(FrameMeter, BoundsABlockOfHeadersInBytesAndFrames) {
  const std::string begun = Frame(1, 0, 1, std::string(1000, 'h'));
  FrameMeter small, large, woven;
  ASSERT_TRUE(small.FromClient(kPreface + begun, 0));
  EXPECT_EQ(PassedOf(Frame(9, 0, 1), 1000, &small), limits::kHeaderBlockFrames - 1);
  EXPECT_EQ(small.why(), "a block of headers is too long");
  ASSERT_TRUE(large.FromClient(kPreface + begun, 0));
  EXPECT_EQ(PassedOf(Frame(9, 0, 1, std::string(16'000, 'h')), 1000, &large), 1);
  EXPECT_EQ(large.why(), "a block of headers is too long");
  ASSERT_TRUE(woven.FromClient(kPreface + begun, 0));
  EXPECT_FALSE(woven.FromClient(Frame(0, 0, 1, "data"), 0));
  FrameMeter whole;
  ASSERT_TRUE(whole.FromClient(kPreface, 0));
  EXPECT_EQ(PassedOf(begun + Frame(9, kEndHeaders, 1, "rest"), 1000, &whole), 1000);
}

TEST(TokenBucket, RefillsWithTimeUpToItsBurstAndTellsItsDebt) {
  TokenBucket bucket(10, 100);
  EXPECT_GE(bucket.Take(10, 0), 0);
  EXPECT_LT(bucket.Take(5, 0), 0);
  EXPECT_EQ(bucket.DebtMs(0), 50);
  EXPECT_EQ(bucket.DebtMs(50), 0);
  EXPECT_EQ(bucket.Take(0, 10'000), 10);
}

TEST(FrameMeter, SaysGoAwayWithTheReason) {
  FrameMeter meter;
  ASSERT_TRUE(meter.FromClient(kPreface + Headers(7), 0));
  const std::string frame = meter.GoAway("why");
  FrameReader reader;
  FrameReader::Frame read;
  std::string_view bytes = frame;
  ASSERT_TRUE(reader.Next(&bytes, &read));
  EXPECT_EQ(read.type, 7);
  EXPECT_EQ(read.length, 11u);
  EXPECT_EQ(bytes.substr(0, 8), std::string_view("\0\0\0\7\0\0\0\xb", 8));
  EXPECT_EQ(bytes.substr(8), "why");
}

}  // namespace
}  // namespace muster::api::front
