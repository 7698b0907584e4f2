// LeadTerm: a permit holds while the database has confirmed the lead recently.
#include "schedd/base/lead_term.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

// Time that moves when the test says so.
class StillClock final : public Clock {
 public:
  Monotonic Now() const override { return now; }
  WallTime WallNow() const override { return {}; }
  void Pass(std::int64_t ms) { now = now + ms * kNanosPerMilli; }
  Monotonic now{kNanosPerSecond};
};

class LeadTermTest : public testing::Test {
 protected:
  void Begin(std::int64_t epoch, std::int64_t wait_ms = 0) {
    term->Begin(Epoch{epoch}, clock.Now(), clock.Now() + wait_ms * kNanosPerMilli);
  }
  StillClock clock;
  std::shared_ptr<LeadTerm> term = std::make_shared<LeadTerm>(clock, 2000 * kNanosPerMilli);
};

TEST_F(LeadTermTest, APermitOfNobodyAlwaysHolds) {
  const Permit permit;
  EXPECT_TRUE(permit.Holds());
  EXPECT_FALSE(permit.IsVoid());
  EXPECT_FALSE(permit.given());
}

TEST_F(LeadTermTest, NothingHoldsBeforeTheFirstEpoch) {
  EXPECT_FALSE(term->Current().Holds());
  EXPECT_TRUE(term->Current().IsVoid());
}

TEST_F(LeadTermTest, WhoWasStoppedWakesUpBehindItsEnd_AndMayGoOnWhenTheLeadIsConfirmed) {
  Begin(1);
  const Permit permit = term->Current();
  EXPECT_TRUE(permit.Holds());
  clock.Pass(1999);
  EXPECT_TRUE(permit.Holds());
  clock.Pass(1);
  EXPECT_FALSE(permit.Holds());
  EXPECT_FALSE(permit.IsVoid()) << "nobody has said that the lead is lost";
  term->Renew(Epoch{1}, clock.Now());
  EXPECT_TRUE(permit.Holds());
}

TEST_F(LeadTermTest, AConfirmationCountsFromWhenItWasAskedFor) {
  Begin(1);
  const Monotonic asked = clock.Now();
  clock.Pass(10'000);  // stopped between the question and its answer
  term->Renew(Epoch{1}, asked);
  EXPECT_FALSE(term->Current().Holds());
}

TEST_F(LeadTermTest, ALateConfirmationDoesNotShortenTheTerm) {
  Begin(1);
  const Monotonic first = clock.Now();
  clock.Pass(1500);
  term->Renew(Epoch{1}, clock.Now());
  term->Renew(Epoch{1}, first);
  clock.Pass(1500);
  EXPECT_TRUE(term->Current().Holds());
}

TEST_F(LeadTermTest, WhatWasOrderedUnderAnEpochIsVoidAfterIt_EvenIfTheSameDaemonLeadsAgain) {
  Begin(1);
  const Permit before = term->Current();
  term->End();
  EXPECT_TRUE(before.IsVoid());
  EXPECT_FALSE(before.Holds());
  term->Renew(Epoch{1}, clock.Now());
  EXPECT_TRUE(before.IsVoid()) << "an answer that comes late begins nothing";
  Begin(3);
  EXPECT_TRUE(term->Current().Holds());
  EXPECT_TRUE(before.IsVoid());
  EXPECT_FALSE(before.Holds());
}

TEST_F(LeadTermTest, WhoTakesTheLeadWaitsUntilTheTermBeforeIsOver) {
  Begin(2, 2000);
  term->Renew(Epoch{2}, clock.Now() + 1000 * kNanosPerMilli);
  const Permit permit = term->Current();
  EXPECT_FALSE(permit.Holds());
  EXPECT_FALSE(permit.IsVoid());
  clock.Pass(2000);
  EXPECT_TRUE(permit.Holds());
}

TEST_F(LeadTermTest, WhoeverWantsToActNearItsEndAsksForMore_OnceUntilItIsConfirmed) {
  int asked = 0;
  term->OnWanted([&asked] { ++asked; });
  Begin(1);
  const Permit permit = term->Current();
  EXPECT_TRUE(permit.Holds());
  EXPECT_FALSE(term->Wanted()) << "more than half of it is left";
  clock.Pass(1500);
  EXPECT_FALSE(term->Wanted()) << "nobody wants to act";
  EXPECT_TRUE(permit.Holds());
  EXPECT_TRUE(permit.Holds());
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(term->Wanted());
  term->Renew(Epoch{1}, clock.Now() + -1400 * kNanosPerMilli);
  EXPECT_TRUE(term->Wanted()) << "what was answered so late is as good as nothing";
  term->Renew(Epoch{1}, clock.Now());
  EXPECT_FALSE(term->Wanted());
  clock.Pass(2000);
  EXPECT_FALSE(permit.Holds());
  EXPECT_EQ(asked, 2);
  term->End();
  EXPECT_FALSE(term->Wanted());
}

TEST_F(LeadTermTest, APermitCanBeRebuiltElsewhereFromItsEnd) {
  EXPECT_FALSE(Permit().Ends().has_value());
  Begin(1);
  const Permit permit = term->Current();
  const Permit other = Permit::Until(clock, *permit.Ends());
  clock.Pass(1999);
  EXPECT_TRUE(permit.Holds() && other.Holds());
  term->Renew(Epoch{1}, clock.Now());
  clock.Pass(1);
  EXPECT_TRUE(permit.Holds());
  EXPECT_FALSE(other.Holds()) << "it does not hear of the confirmation";
  EXPECT_FALSE(other.IsVoid());
  term->End();
  EXPECT_FALSE(Permit::Until(clock, *permit.Ends()).Holds());
}

}  // namespace
}  // namespace muster
