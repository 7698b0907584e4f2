// A store that fails at the n-th write: no acknowledged write is lost, none happens twice, and
// amounts agree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

// Submits and retries while the engine answers kUnavailable, under one idempotency key, as clients
// do.
JobPtr SubmitStubbornly(EngineWorld* world, const std::string& name) {
  for (int tries = 0; tries < 50; ++tries) {
    std::optional<Result<std::vector<Result<SubmittedJob>>>> answer;
    SubmitCommand command;
    command.jobs.push_back(MakeSubmission({.name = name}));
    command.jobs[0].idempotency = IdempotencyKey{"alice/default", name, 7};
    command.done = [&answer](Result<std::vector<Result<SubmittedJob>>> result) {
      answer = std::move(result);
    };
    MUSTER_CHECK(world->engine->Post(std::move(command)));
    world->Settle();
    if (answer.has_value() && answer->ok()) {
      MUSTER_CHECK((**answer)[0].ok());
      return (**answer)[0]->job;
    }
    world->clock.Advance(3000);
    world->Run();
  }
  return nullptr;
}

void ExpectWhole(EngineWorld* world, const std::vector<JobId>& ids) {
  world->clock.Advance(3000);
  world->Run();
  ASSERT_TRUE(world->engine->View()->ready);
  std::set<JobId> distinct(ids.begin(), ids.end());
  EXPECT_EQ(distinct.size(), ids.size());
  EXPECT_EQ(world->store.accepted_jobs(), ids.size());
  for (const JobId id : ids) {
    ASSERT_EQ(world->StateOf(id), JobState::kRunning) << id.value;
    EXPECT_EQ(world->members.starts[world->KeyOf(id)], 1) << id.value;
    world->members.End(world->KeyOf(id), RemotePhase::kSucceeded);
  }
  world->clock.Advance(3000);
  world->Run();
  for (const JobId id : ids) {
    EXPECT_EQ(world->StateOf(id), JobState::kSucceeded);
    const auto attempts = world->store.ReadAttempts({id});
    ASSERT_EQ(attempts->size(), 1U);
  }
  EXPECT_EQ(world->UsedCpu(), 0);
  for (const UsageRow& row : world->Stored().usage) EXPECT_EQ(row.amount, 0);
  EXPECT_LE(world->members.most_active_of_one_job, 1U);
}

TEST(StoreFault, AtEveryWriteOfThreeJobsLivesNothingIsLostAndNothingRunsTwice) {
  for (const StoreFault fault :
       {StoreFault::kUnavailable, StoreFault::kUnknownApplied, StoreFault::kUnknownNotApplied}) {
    for (std::size_t nth = 1; nth <= 14; ++nth) {
      SCOPED_TRACE("fault " + std::to_string(static_cast<int>(fault)) + " at write " +
                   std::to_string(nth));
      EngineWorld world;
      world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
      world.store.InjectFault(nth, fault);
      std::vector<JobId> ids;
      for (int i = 0; i < 3; ++i) {
        const JobPtr job = SubmitStubbornly(&world, "job" + std::to_string(i));
        ASSERT_NE(job, nullptr);
        ids.push_back(job->id);
        world.Run();
      }
      ExpectWhole(&world, ids);
    }
  }
}

TEST(StoreFault, AFailedCommitIsToldAndTheViewKeepsWhatWasCommitted) {
  EngineWorld world;
  world.Declare({{"cpu", 0}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.Run();
  world.store.SetAway(true);
  const auto outcome = world.Do(JobVerb::kHold, id);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, Code::kUnavailable);
  EXPECT_GT(outcome.error().retry_after_ms, 0);
  EXPECT_EQ(world.StateOf(id), JobState::kPending) << "the last committed view is still read";
  EXPECT_FALSE(world.engine->View()->ready);
  EXPECT_FALSE(world.engine->View()->not_ready_reasons.empty());
  EXPECT_FALSE(world.Do(JobVerb::kHold, id).ok()) << "nothing is taken while it is away";
  world.store.SetAway(false);
  world.clock.Advance(60'000);
  world.Run();
  EXPECT_TRUE(world.engine->View()->ready);
  EXPECT_TRUE(world.Do(JobVerb::kHold, id).ok());
  EXPECT_EQ(world.StateOf(id), JobState::kHeld);
}

TEST(StoreFaultDeathTest, ACommitThatIsRefusedForGoodStopsTheDaemon) {
  EngineWorld world;
  world.Declare({{"cpu", 0}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.Run();
  world.store.InjectFault(1, StoreFault::kRefused);
  EXPECT_DEATH((void)world.Do(JobVerb::kHold, id), "refused a commit: a constraint");
}

TEST(StoreFault, NothingIsWrittenAfterALostWriteThatItMayCountOn) {
  EngineWorld world(1, {}, MemoryStoreOptions{.manual = true});
  const auto drain = [&world] {
    do {
      world.Settle();
      world.members.CarryAll();
    } while (world.store.DrainOne() || world.engine->Step() || !world.members.orders.empty());
  };
  const auto post = [&world](std::vector<ObjectChange> changes) {
    ApplyCommand command;
    command.changes = std::move(changes);
    command.done = [](Result<std::vector<AppliedObject>>) {};
    ASSERT_TRUE(world.engine->Post(std::move(command)));
    world.Settle();
  };
  drain();
  post({NamespaceObject("one")});
  post({NamespaceObject("two")});
  ASSERT_EQ(world.store.waiting(), 2U) << "both are on their way";
  world.store.InjectFault(1, StoreFault::kUnavailable);
  drain();
  world.clock.Advance(3000);
  drain();
  EXPECT_TRUE(world.engine->View()->ready) << "it recovered";
  EXPECT_FALSE(world.engine->View()->config->namespaces.contains("one"));
  EXPECT_FALSE(world.engine->View()->config->namespaces.contains("two"));
}

TEST(StoreFault, AnUnknownOutcomeIsToldAsUnknown) {
  EngineWorld world;
  world.Declare({{"cpu", 0}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.Run();
  world.store.InjectFault(1, StoreFault::kUnknownApplied);
  const auto outcome = world.Do(JobVerb::kHold, id);
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.error().detail, testing::HasSubstr("not known"));
  world.clock.Advance(3000);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kHeld) << "recovery found that it had happened";
}

TEST(StoreFault, ALostLeadStartsANewEpochAndIsCounted) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  world.store.LoseLead();
  world.Submit({});
  world.clock.Advance(3000);
  world.Run();
  EXPECT_TRUE(world.engine->View()->ready);
  EXPECT_THAT(world.metrics->Expose(), testing::HasSubstr("muster_stale_epoch_refusals_total 1"));
  ASSERT_NE(world.Submit({.name = "again"}), nullptr);
}

TEST(StoreFault, AHeartbeatNoticesALostLeadAlthoughNothingIsWritten) {
  EngineOptions options;
  options.heartbeat_ms = 2000;
  EngineWorld world(1, options);
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const std::int64_t seq = world.engine->View()->last_seq;
  world.clock.Advance(2000);
  world.Run();
  EXPECT_TRUE(world.engine->View()->ready) << "it changes nothing";
  EXPECT_EQ(world.engine->View()->last_seq, seq);
  world.store.LoseLead();
  world.clock.Advance(1999);
  world.Run();
  EXPECT_THAT(world.metrics->Expose(), testing::HasSubstr("muster_stale_epoch_refusals_total 0"));
  world.clock.Advance(1);
  world.Run();
  EXPECT_THAT(world.metrics->Expose(), testing::HasSubstr("muster_stale_epoch_refusals_total 1"));
  world.clock.Advance(3000);
  world.Run();
  EXPECT_TRUE(world.engine->View()->ready);
  ASSERT_NE(world.Submit({}), nullptr);
}

TEST(StoreFault, EverybodyIsToldBeforeARecoveryBegins) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  world.store.LoseLead();
  std::optional<bool> ready_when_answered;
  SubmitCommand command;
  command.jobs.push_back(MakeSubmission({}));
  command.done = [&](const Result<std::vector<Result<SubmittedJob>>>& answer) {
    EXPECT_EQ(answer.error().code, Code::kUnavailable);
    ready_when_answered = world.engine->View()->ready;
  };
  ASSERT_TRUE(world.engine->Post(std::move(command)));
  world.Settle();
  EXPECT_EQ(ready_when_answered, false) << "reading the world again may take a minute";
}

TEST(StoreFault, AJobThatCannotBeReadIsNotCalledMissing) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  EXPECT_EQ(world.Do(JobVerb::kCancel, JobId{77}).error().code, Code::kNotFound);
  world.store.SetAway(true);
  const auto outcome = world.Do(JobVerb::kCancel, JobId{77});
  EXPECT_EQ(outcome.error().code, Code::kUnavailable) << outcome.error().detail;
}

// One CPU, which job 1 holds; job 2 waits for it. Writes happen one at a time, when DrainOne says
// so.
struct OneCpuWorld {
  OneCpuWorld() : world(1, {}, {.manual = true}) {
    world.engine->Post(
        ApplyCommand{{"root", "test"},
                     {NamespaceObject("default"), FlavorObject("default"),
                      ClusterQueueObject({.nominal = {{"cpu", 1000}}}),
                      LocalQueueObject("queue", "cq"), MemberObject("east", {{"cpu", 8000}})},
                     false,
                     [](Result<std::vector<AppliedObject>>) {}});
    Drain();
    for (const char* name : {"first", "second"}) {
      SubmitCommand command;
      command.jobs.push_back(MakeSubmission({.name = name}));
      command.done = [](Result<std::vector<Result<SubmittedJob>>>) {};
      world.engine->Post(std::move(command));
      Drain();
    }
    world.members.CarryAll();
    Drain();
  }
  void Drain() {
    do {
      world.Settle();
    } while (world.store.DrainOne());
  }
  EngineWorld world;
};

TEST(StoreFault, WhatAnEndGivesBackIsTakenInTheSameCommit) {
  OneCpuWorld both;
  EngineWorld& world = both.world;
  ASSERT_EQ(world.StateOf(JobId{1}), JobState::kRunning);
  world.members.End(world.KeyOf(JobId{1}), RemotePhase::kSucceeded);
  world.Settle();
  ASSERT_EQ(world.store.waiting(), 1U);
  EXPECT_EQ(world.StateOf(JobId{1}), JobState::kRunning) << "View() shows what is committed";
  EXPECT_TRUE(world.members.orders.empty());
  world.store.DrainOne();
  world.Settle();
  EXPECT_EQ(world.StateOf(JobId{1}), JobState::kSucceeded);
  EXPECT_EQ(world.StateOf(JobId{2}), JobState::kAdmitted);
  EXPECT_EQ(world.UsedCpu(), 1000);
}

TEST(StoreFault, AnAdmissionIsLostWithTheEndThatMadeRoomForIt) {
  OneCpuWorld both;
  EngineWorld& world = both.world;
  ASSERT_EQ(world.StateOf(JobId{1}), JobState::kRunning);
  world.store.InjectFault(1, StoreFault::kUnavailable);
  world.members.End(world.KeyOf(JobId{1}), RemotePhase::kSucceeded);
  both.Drain();
  EXPECT_EQ(world.StateOf(JobId{1}), JobState::kRunning);
  EXPECT_EQ(world.StateOf(JobId{2}), JobState::kPending);
  EXPECT_EQ(world.UsedCpu(), 1000);
  world.clock.Advance(3000);
  do {
    both.Drain();
    world.members.CarryAll();
  } while (world.engine->Step() || world.store.waiting() > 0 || !world.members.orders.empty());
  EXPECT_EQ(world.StateOf(JobId{1}), JobState::kSucceeded) << "its member says it again";
  EXPECT_EQ(world.StateOf(JobId{2}), JobState::kRunning);
  EXPECT_EQ(world.members.starts[world.KeyOf(JobId{2})], 1);
  EXPECT_EQ(world.UsedCpu(), 1000);
}

// Cancels job 2 twice, so that the second cancel is refused because of the first one.
struct TwoCancels {
  TwoCancels() {
    for (auto* answer : {&first, &second}) {
      both.world.engine->Post(JobCommand{
          {"alice", "test"}, JobVerb::kCancel, JobId{2}, [answer](Result<JobPtr> result) {
            *answer = std::move(result);
          }});
    }
    both.world.Settle();
  }
  OneCpuWorld both;
  std::optional<Result<JobPtr>> first, second;
};

TEST(StoreFault, ARefusalIsToldWhenWhatItRestsOnIsDurable) {
  TwoCancels cancels;
  EngineWorld& world = cancels.both.world;
  ASSERT_EQ(world.store.waiting(), 1U);
  EXPECT_EQ(world.StateOf(JobId{2}), JobState::kPending);
  EXPECT_FALSE(cancels.first.has_value());
  EXPECT_FALSE(cancels.second.has_value()) << "a crash would leave a job that has not ended";
  cancels.both.Drain();
  ASSERT_TRUE(cancels.first.has_value() && cancels.second.has_value());
  EXPECT_TRUE(cancels.first->ok());
  EXPECT_EQ(cancels.second->error().code, Code::kFailedPrecondition);
  EXPECT_EQ(world.StateOf(JobId{2}), JobState::kCancelled);
}

TEST(StoreFault, ARefusalIsLostWithTheWriteThatItRestsOn) {
  TwoCancels cancels;
  cancels.both.world.store.InjectFault(1, StoreFault::kUnavailable);
  cancels.both.Drain();
  ASSERT_TRUE(cancels.first.has_value() && cancels.second.has_value());
  EXPECT_EQ(cancels.first->error().code, Code::kUnavailable);
  EXPECT_EQ(cancels.second->error().code, Code::kUnavailable) << "the job has not ended";
}

TEST(StoreFault, NoOrderLeavesBeforeItsCommit) {
  EngineWorld world(1, {}, {.manual = true});
  world.engine->Post(
      ApplyCommand{{"root", "test"},
                   {NamespaceObject("default"), FlavorObject("default"), ClusterQueueObject({}),
                    LocalQueueObject("queue", "cq"), MemberObject("east", {{"cpu", 8000}})},
                   false,
                   [](Result<std::vector<AppliedObject>>) {}});
  world.Settle();
  world.store.DrainOne();
  world.Settle();
  SubmitCommand command;
  command.jobs.push_back(MakeSubmission({}));
  bool answered = false;
  command.done = [&](Result<std::vector<Result<SubmittedJob>>>) { answered = true; };
  world.engine->Post(std::move(command));
  world.Settle();
  EXPECT_FALSE(answered) << "durable before the answer";
  world.members.ForgetOrders();
  world.store.DrainOne();
  world.Settle();
  EXPECT_TRUE(answered);
  ASSERT_EQ(world.store.waiting(), 1U) << "the admission";
  EXPECT_TRUE(world.members.orders.empty());
  EXPECT_EQ(world.StateOf(JobId{1}), JobState::kPending) << "View() shows what is committed";
  world.store.DrainOne();
  world.Settle();
  EXPECT_EQ(world.members.orders.size(), 1U);
  EXPECT_EQ(world.StateOf(JobId{1}), JobState::kAdmitted);
}

TEST(StoreFault, CommitsAheadAreBounded) {
  EngineOptions options;
  options.commit_depth = 2;
  options.cycle_heads = 1;
  EngineWorld world(1, options, {.manual = true});
  world.engine->Post(
      ApplyCommand{{"root", "test"},
                   {NamespaceObject("default"), FlavorObject("default"),
                    ClusterQueueObject({.nominal = {{"cpu", 100'000}}}),
                    LocalQueueObject("queue", "cq"), MemberObject("east", {{"cpu", 100'000}})},
                   false,
                   [](Result<std::vector<AppliedObject>>) {}});
  world.Settle();
  world.store.DrainOne();
  SubmitCommand command;
  for (int i = 0; i < 10; ++i)
    command.jobs.push_back(MakeSubmission({.name = "job" + std::to_string(i)}));
  command.done = [](Result<std::vector<Result<SubmittedJob>>>) {};
  world.engine->Post(std::move(command));
  world.Settle();
  world.store.DrainOne();
  world.Settle();
  EXPECT_EQ(world.store.waiting(), 1U) << "one at a time while submissions come";
  world.clock.Advance(1'000);
  world.Settle();
  EXPECT_EQ(world.store.waiting(), 2U);
}

}  // namespace
}  // namespace muster::test
