// The clock that a daemon stamps and measures with, over a host's clock that is set at will.
#include "schedd/base/steady_clock.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "schedd/base/limits_clock.h"

namespace muster {
namespace {

constexpr std::int64_t kMinuteUs = 60 * kMicrosPerSecond;
constexpr std::int64_t kHourUs = 60 * kMinuteUs;
constexpr std::int64_t kDayUs = 24 * kHourUs;

class HostClock final : public Clock {
 public:
  Monotonic Now() const override { return {ns}; }
  WallTime WallNow() const override { return {1'767'225'600 * kMicrosPerSecond + ns / 1000 + set}; }
  void Advance(std::int64_t us) { ns += us * 1000; }
  std::int64_t ns = 77'000;
  std::int64_t set = 0;  // microseconds by which somebody has set it
};

class SteadyClockTest : public testing::Test {
 protected:
  std::int64_t BehindUs() const { return host.WallNow().us - clock.WallNow().us; }

  HostClock host;
  SteadyClock clock{host};
};

TEST_F(SteadyClockTest, WithoutAStep_ItIsTheHostsClock) {
  for (const std::int64_t us : {std::int64_t{0}, std::int64_t{1}, kMinuteUs, 400 * kDayUs}) {
    host.Advance(us);
    EXPECT_EQ(clock.WallNow(), host.WallNow());
    EXPECT_EQ(clock.Now(), host.Now());
  }
}

TEST_F(SteadyClockTest, AStepOfTheHostsClock_ChangesNoSpanByMoreThanATwelfth) {
  for (const std::int64_t step :
       {kHourUs, -kHourUs, 2 * kHourUs, -14 * kHourUs, kMicrosPerSecond, std::int64_t{-1}}) {
    const WallTime before = clock.WallNow();
    host.set += step;
    EXPECT_EQ(clock.WallNow(), before) << "no time has passed; step " << step;
    EXPECT_EQ(clock.CalendarNow(), host.WallNow());
    host.Advance(30 * kMinuteUs);
    const std::int64_t span = clock.WallNow().us - before.us;
    EXPECT_LE(std::abs(span - 30 * kMinuteUs), 30 * kMinuteUs / 12) << "step " << step;
    host.Advance(20 * kDayUs);
    EXPECT_EQ(BehindUs(), 0) << "step " << step;
  }
}

TEST_F(SteadyClockTest, AStepIsMadeUpWithinTwelveTimesItsLength_HoweverOftenItIsAsked) {
  for (const std::int64_t every_us : {kHourUs, kMinuteUs, kMicrosPerSecond}) {
    for (const std::int64_t step : {kHourUs, -kHourUs}) {
      host.set += step;
      const std::int64_t times = 12 * kHourUs / every_us;
      for (std::int64_t i = 1; i < times; ++i) {
        host.Advance(every_us);
        ASSERT_NE(BehindUs(), 0);
      }
      host.Advance(every_us + 1000);
      EXPECT_EQ(BehindUs(), 0) << "asked every " << every_us;
    }
  }
}

TEST_F(SteadyClockTest, AskedManyTimesInAMicrosecond_ItStillCatchesUp) {
  host.set += 100;
  for (int i = 0; i < 100'000; ++i) {
    host.ns += 13;
    (void)clock.WallNow();
  }
  EXPECT_LE(std::abs(BehindUs()), 1);
}

TEST_F(SteadyClockTest, ItNeverGoesBack_WhateverTheHostsClockDoes) {
  WallTime last = clock.WallNow();
  for (std::int64_t i = 0; i < 10'000; ++i) {
    host.set += (i % 7 - 3) * kHourUs / 3;
    host.Advance(i % 5 * 700);
    const WallTime now = clock.WallNow();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST_F(SteadyClockTest, AClockThatIsMoreThanADayOff_IsTakenOverAtOnce) {
  for (const std::int64_t step : {kDayUs + kMinuteUs, -400 * kDayUs}) {
    host.set += step;
    EXPECT_EQ(BehindUs(), 0) << step;
  }
  EXPECT_EQ(limits::kClockCatchUpMaxMs, kDayUs / kMicrosPerMilli);
}

TEST_F(SteadyClockTest, ATimeThatAnEarlierDaemonStamped_IsNotLivedThroughAgain) {
  const WallTime begun = clock.WallNow();
  clock.NotBefore({});
  clock.NotBefore({begun.us - kHourUs});
  clock.NotBefore({begun.us + kDayUs + kMinuteUs});
  EXPECT_EQ(clock.WallNow(), begun);
  clock.NotBefore({begun.us + kHourUs});
  EXPECT_EQ(clock.WallNow().us, begun.us + kHourUs);
  host.Advance(12 * kHourUs + kMinuteUs);
  EXPECT_EQ(BehindUs(), 0);
}

}  // namespace
}  // namespace muster
