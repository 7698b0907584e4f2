// Times of any size: sums and spans stop at the ends of the range.
#include "schedd/base/time.h"

#include <gtest/gtest.h>

#include <limits>

namespace muster {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kLong = 10'000'000'000'000;  // seconds: a limit from a real manifest

TEST(Spans, StopAtTheEndsOfTheRange) {
  const struct {
    const char* sentence;
    std::int64_t seconds, micros, nanos;
  } kCases[] = {
      {"nothing", 0, 0, 0},
      {"a second", 1, 1'000'000, 1'000'000'000},
      {"a second ago", -1, -1'000'000, -1'000'000'000},
      {"as many seconds as still have microseconds", kMost / kMicrosPerSecond,
       kMost / kMicrosPerSecond * kMicrosPerSecond, kMost},
      {"ten million million seconds", kLong, kMost, kMost},
      {"the same ago", -kLong, kLeast, kLeast},
      {"as many seconds as can be written", kMost, kMost, kMost},
      {"the fewest", kLeast, kLeast, kLeast},
  };
  for (const auto& one : kCases) {
    EXPECT_EQ(SecondsToMicros(one.seconds), one.micros) << one.sentence;
    EXPECT_EQ(SecondsToNanos(one.seconds), one.nanos) << one.sentence;
  }
  EXPECT_EQ(SecondsToMillis(kMost), kMost);
  EXPECT_EQ(MillisToMicros(kMost), kMost);
  EXPECT_EQ(MillisToNanos(kLong * 1000), kMost);
  EXPECT_EQ(MicrosToNanos(kLeast), kLeast);
}

TEST(WallTimes, ASpanOfAnySizeLeadsForward) {
  const WallTime now{1'795'000'000'000'000};
  const struct {
    const char* sentence;
    std::int64_t seconds;
    std::int64_t us;
  } kCases[] = {
      {"a minute later", 60, now.us + 60'000'000},
      {"a minute earlier", -60, now.us - 60'000'000},
      {"ten million million seconds later", kLong, kMost},
      {"the longest span later", kMost, kMost},
      {"the longest span earlier", kLeast, now.us + kLeast},
  };
  for (const auto& one : kCases) EXPECT_EQ(now.PlusSeconds(one.seconds).us, one.us) << one.sentence;
  EXPECT_EQ(now.Plus(kMost).us, kMost);
  EXPECT_GT(now.PlusSeconds(kLong), now) << "a deadline that far away has not passed";
}

TEST(MonotonicTimes, SumsAndDifferencesStopAtTheEnds) {
  const Monotonic now{77};
  EXPECT_EQ((now + kMost).ns, kMost);
  EXPECT_EQ((now + 1).ns, 78);
  EXPECT_EQ((Monotonic{-77} + kLeast).ns, kLeast);
  EXPECT_EQ(now - Monotonic{kLeast}, kMost);
  EXPECT_EQ(Monotonic{kLeast} - now, kLeast);
  EXPECT_EQ(Monotonic{kMost} - now, kMost) << "what is without end stays so";
}

}  // namespace
}  // namespace muster
