// Pace: while clients submit, scheduling leaves most of the writer to them, but never stops.
#include <gtest/gtest.h>

#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

// A member with room for everything. Writes wait until the test lets them happen.
class PaceTest : public ::testing::Test {
 protected:
  PaceTest() : world_(1, {}, {.manual = true}) {
    world_.engine->Post(
        ApplyCommand{{"root", "test"},
                     {NamespaceObject("default"), FlavorObject("default"),
                      ClusterQueueObject({.nominal = {{"cpu", 1'000'000}}}),
                      LocalQueueObject("queue", "cq"), MemberObject("east", {{"cpu", 1'000'000}})},
                     false,
                     [](Result<std::vector<AppliedObject>>) {}});
    world_.Settle();
    world_.store.DrainOne();
    Submit("first", 100);
    // They are accepted; the first of them are being admitted.
    world_.store.DrainOne();
    world_.Settle();
  }
  void Submit(const std::string& prefix, int count) {
    SubmitCommand command;
    for (int i = 0; i < count; ++i)
      command.jobs.push_back(MakeSubmission({.name = prefix + std::to_string(i)}));
    command.done = [](Result<std::vector<Result<SubmittedJob>>>) {};
    world_.engine->Post(std::move(command));
    world_.Settle();
  }
  // The oldest write becomes durable after `ms`.
  void WriteTakes(std::int64_t ms) {
    world_.clock.Advance(ms);
    world_.store.DrainOne();
    world_.Settle();
  }
  // The number of pending writes after another `ms`.
  std::size_t WaitingAfter(std::int64_t ms) {
    world_.clock.Advance(ms);
    world_.Settle();
    return world_.store.waiting();
  }
  EngineWorld world_;
};

TEST_F(PaceTest, BetweenTwoCommitsClientsHaveTheWriterForThreeTimesAsLong) {
  ASSERT_EQ(world_.store.waiting(), 1U);
  Submit("second", 1);
  WriteTakes(4);
  EXPECT_EQ(world_.store.waiting(), 1U) << "the second submission";
  EXPECT_EQ(WaitingAfter(11), 1U);
  EXPECT_EQ(WaitingAfter(1), 2U) << "then the next jobs are admitted, though nothing arrived";
}

TEST_F(PaceTest, AWriterThatNoClientUsesIsNotLeftIdle) {
  ASSERT_EQ(world_.store.waiting(), 1U);
  WriteTakes(4);
  EXPECT_EQ(WaitingAfter(0), 0U) << "a client that was just answered may come again";
  EXPECT_EQ(WaitingAfter(1), 1U);
}

TEST_F(PaceTest, ASlowDatabaseDoesNotStopSchedulingForLong) {
  world_.clock.Advance(1'000);
  Submit("second", 1);
  WriteTakes(0);
  EXPECT_EQ(world_.store.waiting(), 1U) << "the second submission";
  EXPECT_EQ(WaitingAfter(49), 1U);
  EXPECT_EQ(WaitingAfter(1), 2U);
}

TEST_F(PaceTest, WithoutSubmissionsThereIsNoRest) {
  world_.clock.Advance(1'000);
  WriteTakes(0);
  EXPECT_GE(world_.store.waiting(), 1U);
}

TEST_F(PaceTest, WhoeverWaitsForAChangeIsNotKeptWaiting) {
  WriteTakes(4);
  ASSERT_EQ(world_.store.waiting(), 0U);
  JobCommand cancel;
  cancel.id = JobId{90};
  cancel.verb = JobVerb::kCancel;
  cancel.done = [](Result<JobPtr>) {};
  world_.engine->Post(std::move(cancel));
  EXPECT_EQ(WaitingAfter(0), 1U);
}

}  // namespace
}  // namespace muster::test
