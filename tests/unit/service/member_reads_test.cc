// Which reads of members are begun while some get no answer.
#include "api/service/member_reads.h"

#include <gtest/gtest.h>

#include "schedd/base/limits_member_reads.h"

namespace muster::api {
namespace {

Monotonic At(std::int64_t ms) { return Monotonic{} + ms * kNanosPerMilli; }

constexpr std::int64_t kStall = limits::kMemberStallMs, kRest = limits::kMemberRestMs;

TEST(MemberReads, AMemberThatAnswers_IsReadByManyAtOnce) {
  MemberReads reads;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(reads.Enter("east", At(0)).ok());
  for (int i = 0; i < 100; ++i) reads.Leave("east", At(0), true, At(kStall - 1));
  EXPECT_TRUE(reads.Enter("east", At(kStall)).ok());
}

TEST(MemberReads, WhileAReadWaitsTooLong_OthersAreRefused) {
  MemberReads reads;
  ASSERT_TRUE(reads.Enter("east", At(0)).ok());
  ASSERT_TRUE(reads.Enter("east", At(kStall - 1)).ok());
  const Status late = reads.Enter("east", At(kStall));
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, Code::kUnavailable);
  EXPECT_EQ(late.error().detail, "member cluster east does not answer");
}

TEST(MemberReads, AMemberThatDoesNotAnswer_IsNoneOfTheOthersConcern) {
  MemberReads reads;
  ASSERT_TRUE(reads.Enter("east", At(0)).ok());
  EXPECT_FALSE(reads.Enter("east", At(kStall)).ok());
  EXPECT_TRUE(reads.Enter("west", At(kStall)).ok());
}

TEST(MemberReads, AReadThatIsAnsweredLate_EndsTheStall) {
  MemberReads reads;
  ASSERT_TRUE(reads.Enter("east", At(0)).ok());
  reads.Leave("east", At(0), true, At(3 * kStall));
  EXPECT_TRUE(reads.Enter("east", At(3 * kStall)).ok());
  EXPECT_TRUE(reads.Enter("east", At(3 * kStall)).ok());
}

TEST(MemberReads, ASilentMember_IsAskedByOneReadAfterEachRest) {
  MemberReads reads;
  ASSERT_TRUE(reads.Enter("east", At(0)).ok());
  reads.Leave("east", At(0), false, At(kStall));
  EXPECT_FALSE(reads.Enter("east", At(kStall + kRest - 1)).ok());
  EXPECT_TRUE(reads.Enter("east", At(kStall + kRest)).ok());
  EXPECT_FALSE(reads.Enter("east", At(kStall + kRest + 1)).ok());
  // The one that was let through got no answer either.
  const std::int64_t second = 2 * kStall + kRest;
  reads.Leave("east", At(kStall + kRest), false, At(second));
  EXPECT_FALSE(reads.Enter("east", At(second)).ok());
  EXPECT_TRUE(reads.Enter("east", At(second + kRest)).ok());
}

TEST(MemberReads, ASilentMemberThatAnswersAgain_IsReadByMany) {
  MemberReads reads;
  ASSERT_TRUE(reads.Enter("east", At(0)).ok());
  reads.Leave("east", At(0), false, At(kStall));
  const Monotonic again = At(kStall + kRest);
  ASSERT_TRUE(reads.Enter("east", again).ok());
  reads.Leave("east", again, true, again);
  EXPECT_TRUE(reads.Enter("east", again).ok());
  EXPECT_TRUE(reads.Enter("east", again).ok());
}

TEST(MemberReads, AMemberThatIsKnownToBeAway_RefusesEachReadItself) {
  MemberReads reads;
  ASSERT_TRUE(reads.Enter("east", At(0)).ok());
  reads.Leave("east", At(0), false, At(1));
  EXPECT_TRUE(reads.Enter("east", At(1)).ok());
}

}  // namespace
}  // namespace muster::api
