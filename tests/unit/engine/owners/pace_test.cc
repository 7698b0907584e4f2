// Pace: how long commits are, and how long they rest, while clients submit.
#include "schedd/engine/commit/pace.h"

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"

namespace muster::test {
namespace {

TEST(PaceOwner, WithoutClientsCommitsAreLongAndAsDeepAsAllowed) {
  FakeClock clock;
  const Pace pace(clock, 4);
  EXPECT_EQ(pace.CommitDepth(), 4u);
  EXPECT_FALSE(pace.Crowded());
  EXPECT_GT(pace.RoomAfter(0), 200u);
  EXPECT_EQ(pace.RoomAfter(100'000), 0u);
}

TEST(PaceOwner, WhileClientsSubmitCommitsAreShortAndOneAtATime) {
  FakeClock clock;
  Pace pace(clock, 4);
  const std::size_t before = pace.RoomAfter(0);
  pace.TakeSubmissions(1);
  EXPECT_TRUE(pace.Crowded());
  EXPECT_EQ(pace.CommitDepth(), 1u);
  EXPECT_LT(pace.RoomAfter(0), before);
  pace.DropSubmissions(1);
  EXPECT_TRUE(pace.Crowded()) << "the client's next submission is on its way";
  clock.Advance(1000);
  EXPECT_FALSE(pace.Crowded());
}

TEST(PaceOwner, ACommitRestsWhileTheWriterIsBusyAndNotLongerThanIdle) {
  FakeClock clock;
  Pace pace(clock, 4);
  const Monotonic sent = clock.Now();
  pace.TakeSubmissions(1);
  pace.Sent();
  pace.Sent();
  clock.Advance(10);
  pace.Answered();
  pace.RestAfter(sent);
  EXPECT_TRUE(pace.Resting(false));
  EXPECT_FALSE(pace.Resting(true)) << "somebody waits for the next commit";
  EXPECT_EQ(pace.RestEnds() - clock.Now(), 30 * kNanosPerMilli);
  pace.Answered();
  EXPECT_EQ(pace.RestEnds() - clock.Now(), 1 * kNanosPerMilli) << "nobody uses the writer";
}

}  // namespace
}  // namespace muster::test
