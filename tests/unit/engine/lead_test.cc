// The engine and the lead: what confirms it, when the engine asks for a confirmation, and what
// happens to orders when the lead is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/base/lease.h"
#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

constexpr std::int64_t kTtlMs = 2500;
constexpr std::int64_t kTermMs = 2000;  // four fifths of it

class LeadTest : public testing::Test {
 protected:
  LeadTest() { world.Declare({{"cpu", 4000}}, {{"cpu", 8000}}); }
  // The board must outlive the engine.
  ~LeadTest() override { world.engine.reset(); }

  // Another daemon takes over from the one that declared the queues, whose lease was for another
  // host. The board learns of it as the writer of a store tells it. `sole`: no other daemon can use
  // the database, so what the lease's row says is never judged.
  void TakeOver(bool sole) {
    LeaseBoard::Self self;
    self.id = "this";
    self.ttl_ms = kTtlMs;
    self.sole = sole;
    board.SetSelf(self);
    LeaseRow before, now;
    before.epoch = {1};
    before.id = "other";
    now.epoch = {2};
    now.id = self.id;
    before.ttl_ms = now.ttl_ms = now.left_ms = kTtlMs;
    board.Took(before, now);
    EngineOptions options;
    options.lead = lead;
    options.lease = &board;
    world.Restart(options);
    world.Run();
  }
  bool Holds() const { return lead->Current().Holds(); }

  EngineWorld world;
  std::shared_ptr<LeadTerm> lead = std::make_shared<LeadTerm>(world.clock, kTermMs* kNanosPerMilli);
  LeaseBoard board{world.clock, lead};
};

TEST_F(LeadTest, WhoTakesOverWaitsForTheTermOfWhoeverLedBefore) {
  TakeOver(false);
  EXPECT_TRUE(world.engine->View()->ready) << "submissions need not wait";
  EXPECT_FALSE(Holds());
  world.clock.Advance(kTermMs);
  (void)Holds();  // asks for the permit, as an order would
  world.Settle();
  EXPECT_TRUE(Holds());
}

TEST_F(LeadTest, WhoHasItsDatabaseForItselfWaitsForNobody) {
  TakeOver(true);
  EXPECT_TRUE(Holds());
}

TEST_F(LeadTest, EveryCommitAndEveryAcceptedJobConfirmsTheLead) {
  TakeOver(true);
  for (int i = 0; i < 5; ++i) {
    world.clock.Advance(kTermMs * 3 / 4);
    ASSERT_NE(world.Submit({.name = "job-" + std::to_string(i)}), nullptr);
    EXPECT_TRUE(Holds());
  }
}

TEST_F(LeadTest, NothingIsWrittenForItUntilSomebodyWantsToAct) {
  TakeOver(true);
  world.clock.Advance(10 * kTermMs);
  world.store.SetAway(true);
  world.Run();
  EXPECT_TRUE(world.engine->View()->ready) << "nothing was asked of the database";
  world.store.SetAway(false);
  EXPECT_FALSE(Holds());
  world.Settle();
  EXPECT_TRUE(Holds());
}

TEST_F(LeadTest, WhileTheDatabaseIsAwayTheLeadIsNotConfirmed_AndWhatWaitsForItFindsThatOut) {
  TakeOver(true);
  world.clock.Advance(10 * kTermMs);
  world.store.SetAway(true);
  const Permit before = lead->Current();
  EXPECT_FALSE(before.Holds());
  world.Settle();
  EXPECT_FALSE(before.Holds());
  EXPECT_TRUE(before.IsVoid());
  EXPECT_FALSE(world.engine->View()->ready);
  world.store.SetAway(false);
  world.clock.Advance(60'000);
  world.Run();
  world.clock.Advance(kTermMs);
  (void)Holds();
  world.Settle();
  EXPECT_TRUE(Holds());
  EXPECT_TRUE(before.IsVoid()) << "it was ordered under a lead that was lost";
}

TEST_F(LeadTest, WhatWasOrderedUnderALostLeadIsForgotten_AndOrderedAgainIfTheDatabaseStillWantsIt) {
  TakeOver(true);
  const JobPtr job = world.Submit({.name = "first"});
  const Permit before = lead->Current();
  EXPECT_TRUE(before.Holds());
  ASSERT_EQ(world.members.orders.size(), 1U) << "it is on its way to its member";
  world.store.SetAway(true);
  EXPECT_EQ(world.Submit({.name = "second"}), nullptr);
  EXPECT_TRUE(before.IsVoid());
  for (const PendingOrder& order : world.members.orders)
    EXPECT_NE(order.kind, PendingOrder::Kind::kEnsure) << "of the lead before";
  world.store.SetAway(false);
  world.clock.Advance(60'000);
  world.Run();
  EXPECT_EQ(world.StateOf(job->id), JobState::kRunning);
  EXPECT_EQ(world.members.starts[world.KeyOf(job->id)], 1);
  EXPECT_TRUE(before.IsVoid());
}

}  // namespace
}  // namespace muster::test
