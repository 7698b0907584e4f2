// The engine and the lead: what confirms it, when the engine asks for a confirmation, and what
// happens to orders when the lead is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

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

// It can write, so it could keep the lead for ever, and nobody would be served.
TEST_F(LeadTest, ALeaderThatCannotReadTheDatabaseLeavesTheLeadToOthers) {
  TakeOver(false);
  world.store.FailReads(true);
  world.store.LoseLead();
  EXPECT_EQ(world.Submit({.name = "lost"}), nullptr);
  for (int half = 0; half < 2 * 115; ++half) {
    world.clock.Advance(500);
    world.Settle();
  }
  EXPECT_EQ(board.self().resigned_until, Monotonic{}) << "a large database takes its time";
  for (int half = 0; half < 2 * 10 && board.self().resigned_until == Monotonic{}; ++half) {
    world.clock.Advance(500);
    world.Settle();
  }
  EXPECT_EQ(board.self().resigned_until, world.clock.Now() + 2 * kTtlMs * kNanosPerMilli);
  world.store.FailReads(false);
}

// What the engine of a daemon that stands by does while a copy is being read.
class CopyTest : public LeadTest {
 protected:
  CopyTest() {
    EXPECT_NE(world.Submit({.name = "first"}), nullptr);
    LeaseBoard::Self self;
    self.id = "this";
    self.ttl_ms = kTtlMs;
    board.SetSelf(self);
    row_.epoch = {1};
    row_.id = "other";
    row_.ttl_ms = row_.left_ms = kTtlMs;
    board.Saw(row_);
    options_.lead = lead;
    options_.lease = &board;
    options_.copy_launch = std::launch::async;
    world.store.RefuseLead(true);
  }
  // The leader renews its lease, and time goes by until the next look.
  void Look() {
    ++row_.renewal;
    board.Saw(row_);
    world.clock.Advance(LookEveryMs(kTtlMs));
    world.Settle();
  }
  LeaseRow row_;
  EngineOptions options_;
};

TEST_F(CopyTest, ACopyThatIsBeingReadHoldsUpNoLookAtTheLease) {
  std::promise<void> go;
  world.store.BeforeLoad([read = go.get_future().share()] { read.wait(); });
  world.Restart(options_);
  Look();
  Look();
  EXPECT_EQ(world.engine->View()->jobs.size(), 0U);
  world.store.BeforeLoad(nullptr);
  world.store.RefuseLead(false);
  Look();
  EXPECT_TRUE(world.engine->View()->ready) << "it takes the lead although the copy is not read";
  EXPECT_EQ(world.engine->View()->jobs.size(), 1U);
  go.set_value();
}

TEST_F(CopyTest, ACopyThatWasBegunBeforeTheLeadIsNotUsedAfterIt) {
  std::promise<void> go;
  world.store.BeforeLoad([read = go.get_future().share()] { read.wait(); });
  world.Restart(options_);
  Look();
  world.store.BeforeLoad(nullptr);
  world.store.RefuseLead(false);
  Look();
  ASSERT_TRUE(world.engine->View()->ready);
  world.store.LoseLead();
  world.store.RefuseLead(true);
  EXPECT_EQ(world.Submit({.name = "lost"}), nullptr);
  Look();
  const std::optional<Monotonic> before = board.copied();
  std::promise<void> go_on;
  std::atomic<bool> next_begun = false;
  world.store.BeforeLoad([&next_begun, read = go_on.get_future().share()] {
    next_begun = true;
    read.wait();
  });
  go.set_value();
  for (int i = 0; i < 10'000 && !next_begun; ++i) {
    Look();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_TRUE(next_begun);
  EXPECT_EQ(board.copied(), before);
  world.store.BeforeLoad(nullptr);
  go_on.set_value();
  for (int i = 0; i < 10'000 && board.copied() == before; ++i) {
    Look();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_TRUE(board.copied());
  EXPECT_GT(*board.copied(), before.value_or(Monotonic{}));
  EXPECT_EQ(world.engine->View()->jobs.size(), 1U);
}

}  // namespace
}  // namespace muster::test
