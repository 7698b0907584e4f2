// Real bugs in what is told, and when: answers, events, refusals, orders. Each test fails without
// its fix, and names the commit that made it.
#include <gtest/gtest.h>

#include "schedd/base/lead_term.h"
#include "schedd/base/lease.h"
#include "tests/regress/slow_world.h"

namespace muster::test {
namespace {

// Found by the histories of R21, mended by fdbb096. "Has already ended" was told before the end
// that it rests on was durable, so a crash could make the sentence untrue.
TEST(RegressAnswers, ARefusalIsTold_WhenTheEndThatItRestsOnIsDurable) {
  SlowWorld slow;
  slow.Submit({.job = {.held = true}});
  std::optional<Result<JobPtr>> second;
  slow.Post(JobVerb::kCancel, JobId{1});
  slow.Post(JobVerb::kCancel, JobId{1},
            [&second](Result<JobPtr> result) { second = std::move(result); });
  slow.world.Settle();
  ASSERT_EQ(slow.world.store.waiting(), 1U);
  EXPECT_FALSE(second.has_value()) << "the first cancel is not durable";
  slow.Drain();
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->error().code, Code::kFailedPrecondition);
}

// Found by sbatch --wait that hung, mended by b209764. A submission may be durable before a commit
// with lower event numbers is; a follower that had been told of it passed over those for good.
TEST(RegressAnswers, AFollowerMissesNoEvent_ThoughASubmissionIsDurableBeforeAnEarlierDecision) {
  EngineOptions options;
  options.commit_depth = 1;
  SlowWorld slow(options);
  slow.Submit({.job = {.name = "first", .held = true}});
  slow.Submit({.job = {.name = "second", .held = true}});
  EngineWorld& world = slow.world;
  world.events.clear();
  const std::int64_t before = world.engine->View()->last_seq;
  slow.Post(JobVerb::kCancel, JobId{1});
  world.Settle();  // on its way
  slow.Post(JobVerb::kCancel, JobId{2});
  world.Settle();  // decided, and not sent
  slow.Post({.job = {.name = "third", .held = true}});
  world.Settle();
  world.store.DrainOne();  // the first cancel
  world.store.DrainOne();  // the submission; the second cancel comes after it
  world.Settle();
  EXPECT_LE(world.engine->View()->last_seq, before + 1) << "a list's number is resumed from";
  slow.Drain();
  world.clock.Advance(1000);
  slow.Drain();
  ASSERT_EQ(world.events.size(), 3U);
  for (std::size_t i = 0; i < world.events.size(); ++i)
    EXPECT_EQ(world.events[i].seq, before + 1 + static_cast<std::int64_t>(i));
}

// Found by reading, mended by 9c40dbd. A parent that cannot be read was judged as one that is not
// there, so that `afterok` was met, or never could be, wrongly.
TEST(RegressAnswers, ADependentWhoseParentCannotBeRead_IsNotJudged) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId parent = SubmitScript(&world, {.job = {.name = "parent"}});
  world.Run();
  world.members.End(world.KeyOf(parent), RemotePhase::kSucceeded);
  world.Run();
  for (int day = 0; day < 30 && world.Job(parent) != nullptr; ++day) {
    world.clock.Advance(24LL * 3'600'000);
    world.Run();
  }
  ASSERT_EQ(world.Job(parent), nullptr) << "it has left memory";
  world.store.FailReads(true);
  const JobId child = SubmitScript(
      &world, {.job = {.name = "child"}, .state = DependsOn({{DependencyType::kAfterOk, parent}})});
  world.Run();
  EXPECT_EQ(world.Job(child)->reason, Reason::kDependency);
  world.store.FailReads(false);
  world.clock.Advance(2000);
  world.Run();
  EXPECT_EQ(world.StateOf(child), JobState::kRunning);
}

// Found by a hung PostgreSQL, mended by c82d449.
TEST(RegressAnswers, AJobThatCannotBeRead_IsNotCalledMissing) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  world.store.FailReads(true);
  EXPECT_EQ(world.Do(JobVerb::kCancel, JobId{77}).error().code, Code::kUnavailable);
}

// Found on real members, mended by 90a2074. The first orders of a recovery met an empty
// configuration, by which they were rendered, and failed their jobs.
TEST(RegressAnswers, OrdersOfARecovery_LeaveAfterItsViewIsPublished) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  ASSERT_EQ(world.StateOf(id), JobState::kAdmitted) << "its order is not carried out";
  int orders = 0;
  world.members.on_order = [&](const PendingOrder& order) {
    if (order.kind != PendingOrder::Kind::kEnsure) return;
    ++orders;
    EXPECT_TRUE(world.engine->View()->ready);
    EXPECT_TRUE(world.engine->View()->config->member_clusters.contains("east"));
    EXPECT_NE(world.Job(id), nullptr);
  };
  world.Restart();
  world.members.on_order = nullptr;
  EXPECT_EQ(orders, 1);
}

// Found by stopping a leader until another one led, mended by 0fcec73. Orders of the time before
// were carried out when it went on, and jobs ran twice. (Planted: orders_without_permit.)
TEST(RegressAnswers, WhatALeaderOrderedBeforeItWasReplaced_IsNotCarriedOut) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  EngineOptions options;
  options.lead = std::make_shared<LeadTerm>(world.clock, 2000 * kNanosPerMilli);
  LeaseBoard board(world.clock, options.lead);
  LeaseBoard::Self self;
  self.sole = true;
  board.SetSelf(self);
  options.lease = &board;
  world.Restart(options);
  world.Run();
  const JobId id = world.Submit({})->id;
  const Permit permit = options.lead->Current();
  EXPECT_TRUE(permit.Holds());
  ASSERT_EQ(world.members.orders.size(), 1U);
  world.clock.Advance(2000);  // stopped for a term; nobody has confirmed the lead meanwhile
  EXPECT_FALSE(permit.Holds());
  world.store.SetAway(true);  // another one has taken the lead
  EXPECT_EQ(world.Submit({.name = "second"}), nullptr);
  EXPECT_TRUE(permit.IsVoid());
  for (const PendingOrder& order : world.members.orders)
    EXPECT_NE(order.kind, PendingOrder::Kind::kEnsure);
  world.store.SetAway(false);
  world.clock.Advance(60'000);
  world.Run();
  EXPECT_EQ(world.members.starts[world.KeyOf(id)], 1);
  world.engine.reset();  // before the board
}

// Found by asking a daemon that was not ready, mended by b930794 and c82d449: everybody is told
// before a recovery begins, which may take a minute.
TEST(RegressAnswers, AClientWhoseWriteIsLost_IsToldBeforeTheRecoveryBegins) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  world.store.LoseLead();
  std::optional<bool> ready;
  SubmitCommand command;
  command.jobs.push_back(MakeSubmission({}));
  command.done = [&](const Result<std::vector<Result<SubmittedJob>>>&) {
    ready = world.engine->View()->ready;
  };
  world.engine->Post(std::move(command));
  world.Settle();
  EXPECT_EQ(ready, false);
}

// Found by reading, mended by ce36f79: the loop had something to do for ever while it waited for
// the store, and used a whole core.
TEST(RegressAnswers, TheEngineSleeps_WhileDependentsAreDueAndTheOpenCommitIsFull) {
  EngineOptions options;
  options.commit_depth = 1;
  SlowWorld slow(options);
  EngineWorld& world = slow.world;
  SubmitCommand command;
  command.jobs.push_back(ScriptSubmission({.job = {.name = "parent", .held = true}}));
  for (int i = 0; i < 800; ++i) {
    command.jobs.push_back(
        ScriptSubmission({.job = {.name = "d" + std::to_string(i)},
                          .state = DependsOn({{DependencyType::kAfterAny, JobId{1}}})}));
  }
  command.done = [](Result<std::vector<Result<SubmittedJob>>>) {};
  world.engine->Post(std::move(command));
  slow.Drain();
  world.clock.Advance(1000);
  slow.Post(JobVerb::kCancel, JobId{1});
  world.Settle();
  ASSERT_EQ(world.store.waiting(), 1U);
  EXPECT_GT(world.engine->IdleTime(), std::chrono::nanoseconds(0));
}

}  // namespace
}  // namespace muster::test
