// The rules of the lease as tables, and the board that shows it.
#include "schedd/base/lease.h"

#include <gtest/gtest.h>

#include "schedd/base/limits_lease.h"

namespace muster {
namespace {

class TestClock final : public Clock {
 public:
  Monotonic Now() const override { return {now_ms * kNanosPerMilli}; }
  WallTime WallNow() const override { return {}; }
  std::int64_t now_ms = 1'000'000;
};

Monotonic At(std::int64_t ms) { return {ms * kNanosPerMilli}; }

LeaseRow Row(std::int64_t epoch, const char* id, std::int64_t left_ms, bool released = false) {
  LeaseRow row;
  row.epoch.value = epoch;
  row.id = id;
  row.left_ms = left_ms;
  row.ttl_ms = 5000;
  row.released = released;
  return row;
}

TEST(LeaseRules, WhoMayTakeIt) {
  const struct {
    const char* what;
    LeaseRow row;
    LeaseState wanted;
  } cases[] = {
      {"nobody has led", Row(0, "", 0), LeaseState::kFree},
      {"another one leads", Row(3, "b", 1), LeaseState::kHeld},
      {"another one was silent for the whole lease", Row(3, "b", 0), LeaseState::kFree},
      {"and for longer", Row(3, "b", -5000), LeaseState::kFree},
      {"another one has given it up", Row(3, "b", 4000, true), LeaseState::kFree},
      {"this directory's daemon had it", Row(3, "a", 4000), LeaseState::kOwn},
      {"an earlier version has no id", Row(3, "", 4000), LeaseState::kHeld},
  };
  for (const auto& one : cases) EXPECT_EQ(StateOf(one.row, "a"), one.wanted) << one.what;
  LeaseRow row = Row(3, "b", 5'001);
  row.seen_ms = 4'999;
  EXPECT_EQ(StateOf(row, "a"), LeaseState::kHeld) << "the database's clock was just set back";
  row.seen_ms = 5'000;
  EXPECT_EQ(StateOf(row, "a"), LeaseState::kFree) << "set back, and silent for a lease since";
  row.left_ms = 5'000;
  EXPECT_EQ(StateOf(row, "a"), LeaseState::kHeld) << "the database's clock can judge it";
  EXPECT_EQ(StateOf(Row(3, "", 4000), ""), LeaseState::kHeld) << "no id is nobody's own";
}

TEST(LeaseRules, WhenOrdersBegin) {
  // The row has not been renewed since 10,000 ms; its term is four fifths of 5 s.
  const struct {
    const char* what;
    LeaseRow row;
    std::int64_t now_ms, wanted_ms;
  } cases[] = {
      {"watched for as long as the lease", Row(3, "b", 0), 15'000, 15'000},
      {"the database's clock was set forward", Row(3, "b", 0), 11'000, 14'000},
      {"first seen when it was over", Row(3, "b", -900'000), 10'000, 14'000},
      {"given up", Row(3, "b", 0, true), 10'000, 10'000},
      {"its own", Row(3, "a", 4000), 10'000, 10'000},
      {"nobody has led", Row(0, "", 0), 10'000, 10'000},
  };
  for (const auto& one : cases)
    EXPECT_EQ(OrdersFrom(one.row, "a", At(10'000), At(one.now_ms)), At(one.wanted_ms)) << one.what;
}

// A leader renews several times in its term, its term is shorter than its lease, and a daemon that
// waits looks often enough to take over within twice the lease.
TEST(LeaseRules, TimesFitTogether) {
  for (std::int64_t ttl = limits::kLeaseTtlMinMs; ttl <= limits::kLeaseTtlMaxMs; ttl += 500) {
    EXPECT_LT(TermMs(ttl), ttl);
    EXPECT_LE(2 * RenewEveryMs(ttl), TermMs(ttl)) << ttl;
    EXPECT_LE(10 * LookEveryMs(ttl), ttl) << ttl;
    EXPECT_GT(LookEveryMs(ttl), 0);
  }
}

class LeaseBoardTest : public ::testing::Test {
 protected:
  LeaseBoardTest() { board_.SetSelf({"a", "host-a", "http://a:1", 5000, false, {}}); }
  TestClock clock_;
  const std::shared_ptr<LeadTerm> term_ = std::make_shared<LeadTerm>(clock_, 4000 * kNanosPerMilli);
  LeaseBoard board_{clock_, term_};
};

TEST_F(LeaseBoardTest, OrdersWaitForTheTermOfALeaderWhoseRenewalWasSeenLate) {
  LeaseRow row = Row(3, "b", 5000);
  row.renewal = 1;
  board_.Saw(row);
  EXPECT_TRUE(board_.OtherLeads());
  clock_.now_ms += 3000;
  row.left_ms = 2000;
  board_.Saw(row);
  row.renewal = 2;
  row.left_ms = 5000;
  board_.Saw(row);
  const Monotonic renewed = clock_.Now();
  clock_.now_ms += 1000;
  row.left_ms = -1;
  board_.Saw(row);
  EXPECT_FALSE(board_.OtherLeads());
  LeaseRow own = Row(4, "a", 5000);
  board_.Took(row, own);
  EXPECT_EQ(board_.orders_from(), renewed + 4000 * kNanosPerMilli);
}

// Set back by an hour while the leader is silent.
TEST_F(LeaseBoardTest, ALeaseOfADatabaseWhoseClockWentBackEndsByTheClockOfWhoWaits) {
  LeaseRow row = Row(3, "b", 5000);
  row.renewal = 1;
  board_.Saw(row);
  for (int look = 0; look < 20; ++look) {
    clock_.now_ms += 250;
    row.left_ms = 3'605'000 - 250 * look;
    EXPECT_TRUE(board_.OtherLeads()) << look;
    EXPECT_EQ(board_.Saw(row).seen_ms, 250 * (look + 1));
    EXPECT_EQ(board_.OtherLeftMs(), 5000 - 250 * (look + 1)) << "no copy delays the takeover";
  }
  EXPECT_FALSE(board_.OtherLeads());
  row.renewal = 2;
  board_.Saw(row);
  EXPECT_TRUE(board_.OtherLeads()) << "the leader was only slow";
}

TEST_F(LeaseBoardTest, TakingTheOwnLeaseAgainDoesNotShortenTheWaitForTheLeaderBefore) {
  LeaseRow row = Row(3, "b", 0);
  board_.Saw(row);
  const LeaseRow own = Row(4, "a", 5000);
  board_.Took(row, own);
  const Monotonic from = board_.orders_from();
  EXPECT_EQ(from, clock_.Now() + 4000 * kNanosPerMilli);
  clock_.now_ms += 500;
  board_.Lost();
  board_.Took(own, Row(5, "a", 5000));
  EXPECT_EQ(board_.orders_from(), from);
}

TEST_F(LeaseBoardTest, AViewIsCurrentForATermAfterAConfirmedWrite) {
  EXPECT_FALSE(board_.Current());
  term_->Begin(Epoch{4}, clock_.Now(), clock_.Now() + 60 * kNanosPerSecond);
  EXPECT_TRUE(board_.Current()) << "reads do not wait for the orders' time";
  clock_.now_ms += 3999;
  EXPECT_TRUE(board_.Current());
  clock_.now_ms += 1;
  EXPECT_FALSE(board_.Current());
  term_->Renew(Epoch{4}, clock_.Now());
  EXPECT_TRUE(board_.Current());
  term_->End();
  EXPECT_FALSE(board_.Current());
}

TEST_F(LeaseBoardTest, ADaemonAloneOnItsDatabaseIsAlwaysCurrent) {
  board_.SetSelf({"a", "host-a", "", 5000, true, {}});
  EXPECT_TRUE(board_.Current());
  board_.Saw(Row(3, "b", 5000));
  EXPECT_FALSE(board_.OtherLeads());
}

TEST_F(LeaseBoardTest, ACopyHasAnAge) {
  EXPECT_FALSE(board_.copied());
  board_.Copied(clock_.Now());
  clock_.now_ms += 250;
  ASSERT_TRUE(board_.copied());
  EXPECT_EQ(board_.AgeMs(*board_.copied()), 250);
  board_.Leads();
  EXPECT_FALSE(board_.copied());
}

TEST_F(LeaseBoardTest, TheViewOfALeaderThatIsConfirmedNoLonger_IsAsOfTheLastConfirmation) {
  board_.Behind();
  EXPECT_FALSE(board_.copied()) << "nothing was ever published";
  board_.Leads();
  term_->Begin(Epoch{4}, clock_.Now(), clock_.Now());
  clock_.now_ms += 1000;
  term_->Renew(Epoch{4}, clock_.Now());
  clock_.now_ms += 3000;
  EXPECT_FALSE(board_.copied()) << "it is current";
  board_.Behind();  // a write has failed, before the term is over
  ASSERT_TRUE(board_.copied());
  EXPECT_EQ(board_.AgeMs(*board_.copied()), 3000);
  board_.Leads();
  EXPECT_FALSE(board_.copied());
  clock_.now_ms += 2000;  // the term is over, and no write has failed yet
  EXPECT_EQ(board_.AgeMs(board_.copied().value()), 5000);
  term_->End();
  board_.Copied(clock_.Now());
  EXPECT_EQ(board_.AgeMs(board_.copied().value()), 0) << "a copy is newer";
}

}  // namespace
}  // namespace muster
