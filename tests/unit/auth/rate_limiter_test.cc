// Request rate per user (rule U74): burst, refill, debts, users that are forgotten.
#include "api/auth/rate_limiter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "schedd/model/access.h"
#include "tests/support/fake_clock.h"

namespace muster::auth {
namespace {

using test::FakeClock;
using testing::HasSubstr;

Principal User(const std::string& name) {
  Principal who;
  who.user = name;
  who.groups = {kAuthenticatedGroup};
  return who;
}

int AllowedOf(RateLimiter* limiter, const Principal& who, int requests) {
  int allowed = 0;
  for (int i = 0; i < requests; ++i) allowed += limiter->Take(who).ok() ? 1 : 0;
  return allowed;
}

TEST(RateLimiter, ABurstAndThenTheRate) {
  FakeClock clock;
  RateLimiter limiter(clock, {.per_second = 10, .burst = 20});
  const Principal alice = User("alice");
  EXPECT_EQ(AllowedOf(&limiter, alice, 100), 20);
  clock.Advance(1000);
  EXPECT_EQ(AllowedOf(&limiter, alice, 100), 10);
  clock.Advance(50);
  EXPECT_EQ(AllowedOf(&limiter, alice, 100), 0) << "half a request is none";
  clock.Advance(50);
  EXPECT_EQ(AllowedOf(&limiter, alice, 100), 1);
  clock.Advance(3'600'000);
  EXPECT_EQ(AllowedOf(&limiter, alice, 100), 20) << "never more than the burst";
}

TEST(RateLimiter, ARefusalNamesTheLimitAndWhenToTryAgain) {
  FakeClock clock;
  RateLimiter limiter(clock, {.per_second = 0.5, .burst = 1});
  const Principal alice = User("alice");
  ASSERT_TRUE(limiter.Take(alice).ok());
  const Status refused = limiter.Take(alice);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_THAT(refused.error().detail, HasSubstr("user \"alice\" sends more than 0.5 requests"));
  EXPECT_THAT(refused.error().detail, HasSubstr("limits.requests-per-second-per-user, burst 1"));
  EXPECT_EQ(refused.error().retry_after_ms, 2000);
  clock.Advance(refused.error().retry_after_ms);
  EXPECT_TRUE(limiter.Take(alice).ok()) << "what the refusal promises holds";
}

TEST(RateLimiter, OneUserCostsNoOther) {
  FakeClock clock;
  RateLimiter limiter(clock, {.per_second = 10, .burst = 5});
  EXPECT_EQ(AllowedOf(&limiter, User("alice"), 1000), 5);
  EXPECT_EQ(AllowedOf(&limiter, User("bob"), 5), 5);
}

TEST(RateLimiter, ABatchAboveTheBurstPassesOnce_AndIsPaidAfterwards) {
  FakeClock clock;
  RateLimiter limiter(clock, {.per_second = 10, .burst = 5});
  const Principal alice = User("alice");
  EXPECT_TRUE(limiter.Take(alice, 100).ok());
  const Status refused = limiter.Take(alice);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().retry_after_ms, 9600) << "a debt of 95 and one request";
  clock.Advance(9599);
  EXPECT_FALSE(limiter.Take(alice).ok());
  clock.Advance(1);
  EXPECT_TRUE(limiter.Take(alice).ok());
}

TEST(RateLimiter, MastersAndRateZeroAreNotLimited) {
  FakeClock clock;
  RateLimiter limited(clock, {.per_second = 1, .burst = 1});
  Principal root = User("root");
  root.groups.push_back(kMastersGroup);
  EXPECT_EQ(AllowedOf(&limited, root, 1000), 1000);
  EXPECT_EQ(limited.size(), 0U);
  RateLimiter open(clock, {.per_second = 0, .burst = 1});
  EXPECT_EQ(AllowedOf(&open, User("alice"), 1000), 1000);
}

TEST(RateLimiter, UsersThatPauseAreForgotten_AndTheTableStaysBounded) {
  FakeClock clock;
  RateLimiter limiter(clock, {.per_second = 1, .burst = 2, .users = 160});
  for (int i = 0; i < 2000; ++i) EXPECT_TRUE(limiter.Take(User("u" + std::to_string(i))).ok());
  EXPECT_LE(limiter.size(), 160U);
  clock.Advance(10'000);
  EXPECT_TRUE(limiter.Take(User("late")).ok());
  EXPECT_LE(limiter.size(), 160U);
}

TEST(RateLimiter, TheTimeThatTwoThreadsSawDifferentlyCountsOnce) {
  FakeClock clock;
  RateLimiter limiter(clock, {.per_second = 10, .burst = 20});
  const Principal alice = User("alice");
  EXPECT_EQ(AllowedOf(&limiter, alice, 20), 20);
  clock.Advance(1000);
  EXPECT_EQ(AllowedOf(&limiter, alice, 20), 10);
  for (int i = 0; i < 5; ++i) {
    clock.Advance(-1000);  // a thread that has waited for the shard since then
    EXPECT_FALSE(limiter.Take(alice).ok());
    clock.Advance(1000);
    EXPECT_FALSE(limiter.Take(alice).ok()) << "the same second was paid twice";
  }
}

TEST(RateLimiter, WhatIsRefusedCostsNothing_WhateverItWouldCost) {
  FakeClock clock;
  RateLimiter limiter(clock, {.per_second = 10, .burst = 5});
  const Principal alice = User("alice");
  ASSERT_EQ(AllowedOf(&limiter, alice, 5), 5);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(limiter.Take(alice, 1000).ok());
  clock.Advance(100);
  EXPECT_TRUE(limiter.Take(alice).ok());
}

TEST(RateLimiter, AWaitIsToldAsAnHourAtMost) {
  FakeClock clock;
  RateLimiter limiter(clock, {.per_second = 0.001, .burst = 1});
  const Principal alice = User("alice");
  ASSERT_TRUE(limiter.Take(alice, 1e9).ok());
  EXPECT_EQ(limiter.Take(alice).error().retry_after_ms, 3'600'000);
}

TEST(RateLimiter, WhoActsAsAnotherIsCountedAsThatOne_AndIsNoMasterThen) {
  FakeClock clock;
  RateLimiter limiter(clock, {.per_second = 1, .burst = 3});
  Principal acting = User("alice");
  acting.impersonator = "root";
  acting.impersonator_groups = {kMastersGroup};
  EXPECT_EQ(AllowedOf(&limiter, acting, 10), 3);
  EXPECT_FALSE(limiter.Take(User("alice")).ok());
}

// A user must not get a new burst by having others pushed out of a full table.
TEST(RateLimiter, InAFullTable_WhoeverIsQuietGoesBeforeWhoeverSends) {
  FakeClock clock;
  RateLimiter limiter(clock, {.per_second = 0.01, .burst = 2, .users = 16 * 4});
  const Principal busy = User("busy");
  EXPECT_EQ(AllowedOf(&limiter, busy, 10), 2);
  int allowed = 0;
  for (int i = 0; i < 2000; ++i) {
    clock.Advance(1);
    EXPECT_TRUE(limiter.Take(User("other" + std::to_string(i))).ok());
    allowed += limiter.Take(busy).ok() ? 1 : 0;
  }
  EXPECT_EQ(allowed, 0);
  EXPECT_LE(limiter.size(), 64U);
}

}  // namespace
}  // namespace muster::auth
