// When a group of writes waits for more rows, and when it is sent behind another group: pure
// policies.
#include "schedd/store/pg/gather.h"

#include <gtest/gtest.h>

#include "schedd/store/pg/follow.h"

namespace muster::pg {
namespace {

// One group as the writer sends it; `comes` further rows arrive during a wait.
std::size_t Send(GatherPolicy* gather, std::size_t rows, std::size_t comes) {
  const std::size_t target = gather->Target(rows);
  const std::size_t sent = target > rows ? rows + comes : rows;
  gather->Sent(rows, target, sent);
  return target;
}

TEST(GatherPolicy, TheFirstGroup_IsSentAtOnce) {
  GatherPolicy gather;
  EXPECT_EQ(gather.Target(1), 1u);
}

TEST(GatherPolicy, ClientsJustAnswered_AreWaitedFor) {
  GatherPolicy gather;
  Send(&gather, 4, 0);
  EXPECT_EQ(gather.Target(3), 7u);
}

TEST(GatherPolicy, ALargeGroup_WaitsForNobody) {
  GatherPolicy gather;
  Send(&gather, 1000, 0);
  EXPECT_EQ(gather.Target(GatherPolicy::kEnoughRows), GatherPolicy::kEnoughRows);
  EXPECT_EQ(gather.Target(10), GatherPolicy::kEnoughRows);
}

TEST(GatherPolicy, ALoneClient_PaysForFewTrialsOnly) {
  GatherPolicy gather;
  int waits = 0;
  for (int i = 0; i < 1000; ++i) waits += Send(&gather, 1, 0) > 1 ? 1 : 0;
  EXPECT_GE(waits, 1);
  EXPECT_LE(waits, 25);
}

TEST(GatherPolicy, AWaitThatPays_IsTakenAgainAtOnce) {
  GatherPolicy gather;
  Send(&gather, 2, 0);
  for (int i = 0; i < 100; ++i) EXPECT_GT(Send(&gather, 2, 2), 2u);
}

TEST(GatherPolicy, AfterALonePeriod_CompanyIsFoundWithinThePause) {
  GatherPolicy gather;
  for (int i = 0; i < 1000; ++i) Send(&gather, 1, 0);
  int until = 0;
  while (Send(&gather, 2, 2) == 2 && until <= GatherPolicy::kLongestPause) ++until;
  EXPECT_LE(until, GatherPolicy::kLongestPause);
  EXPECT_GT(Send(&gather, 2, 2), 2u);
}

TEST(GatherPolicy, BehindAGroupUnderWay_ComeAsManyRowsAsItHas_OrALargeGroup) {
  EXPECT_EQ(GatherPolicy::RowsToFollow(0), 1u);
  EXPECT_EQ(GatherPolicy::RowsToFollow(4), 4u);
  EXPECT_EQ(GatherPolicy::RowsToFollow(1000), GatherPolicy::kEnoughRows);
}

// A database and clients for which a group takes so long in each way; returns how many of `groups`
// groups were sent behind another one.
int SentBehind(FollowPolicy* follow, int groups, std::int64_t behind_us, std::int64_t alone_us) {
  static Monotonic now{1};
  int behind = 0;
  for (int i = 0; i < groups; ++i) {
    behind += follow->pays() ? 1 : 0;
    now = now + 1000 * (follow->pays() ? behind_us : alone_us);
    follow->Answered(8, now);
  }
  return behind;
}

TEST(FollowPolicy, WhereCommitsAreCheap_GroupsFollowOneAnother) {
  FollowPolicy follow;
  EXPECT_GT(SentBehind(&follow, 10'000, 400, 600), 9'500);
}

TEST(FollowPolicy, WhereEachCommitIsDear_GroupsWaitForTheAnswer) {
  FollowPolicy follow;
  SentBehind(&follow, 500, 2000, 1500);
  EXPECT_LT(SentBehind(&follow, 10'000, 2000, 1500), 500);
}

TEST(FollowPolicy, WithoutAClearDifference_NothingChanges) {
  FollowPolicy follow;
  EXPECT_GT(SentBehind(&follow, 10'000, 1000, 980), 9'500);
}

TEST(FollowPolicy, ADiskThatBecomesSlow_IsNoticed_AndSoIsItsRecovery) {
  FollowPolicy follow;
  SentBehind(&follow, 20'000, 400, 600);
  SentBehind(&follow, 20'000, 2000, 1500);
  EXPECT_LT(SentBehind(&follow, 10'000, 2000, 1500), 500);
  SentBehind(&follow, 20'000, 400, 600);
  EXPECT_GT(SentBehind(&follow, 10'000, 400, 600), 9'500);
}

}  // namespace
}  // namespace muster::pg
