// Cancel, hold, release, requeue and delete in every state of a job and its attempt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/model/admission_lifecycle.h"
#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

// The stage of a job when a command arrives.
enum class Stage {
  kHeld,
  kPending,
  kIntent,
  kCreated,
  kRunning,
  kCancelling,
  kRequeuing,
  kSucceeded,
  kCancelled
};

const char* NameOf(Stage stage) {
  const char* names[] = {"held",       "pending",   "intent",    "created",  "running",
                         "cancelling", "requeuing", "succeeded", "cancelled"};
  return names[static_cast<int>(stage)];
}

// A world with one job at this stage; orders after it have not been carried out.
JobId Bring(EngineWorld* world, Stage stage) {
  world->Declare({{"cpu", stage == Stage::kPending ? 0 : 4000}}, {{"cpu", 8000}});
  const JobId id = world->Submit({.held = stage == Stage::kHeld})->id;
  switch (stage) {
    case Stage::kHeld:
    case Stage::kPending:
    case Stage::kIntent:
      break;
    case Stage::kCreated:
      world->engine->Post(EnsuredCommand{world->KeyOf(id), RemoteRef{"uid-1", ""}});
      world->members.objects[world->KeyOf(id)] = {"uid-1", RemotePhase::kPending, ""};
      world->members.ForgetOrders();
      world->Settle();
      break;
    case Stage::kRunning:
      world->Run();
      break;
    case Stage::kCancelling:
    case Stage::kRequeuing:
      world->Run();
      MUSTER_CHECK(
          world->Do(stage == Stage::kCancelling ? JobVerb::kCancel : JobVerb::kRequeue, id).ok());
      break;
    case Stage::kSucceeded:
      world->Run();
      world->members.End(world->KeyOf(id), RemotePhase::kSucceeded);
      world->Run();
      break;
    case Stage::kCancelled:
      world->Run();
      MUSTER_CHECK(world->Do(JobVerb::kCancel, id).ok());
      world->Run();
      break;
  }
  return id;
}

struct Case {
  JobVerb verb;
  Stage stage;
  Code outcome;                   // of the command
  std::optional<JobState> after;  // when all orders have been carried out; nullopt: the job is gone
};

TEST(JobCommand, EveryVerbInEveryStageEndsAsTheTableSays) {
  using S = Stage;
  using J = JobState;
  const std::optional<JobState> gone;
  const Case cases[] = {
      {JobVerb::kCancel, S::kHeld, Code::kOk, J::kCancelled},
      {JobVerb::kCancel, S::kPending, Code::kOk, J::kCancelled},
      {JobVerb::kCancel, S::kIntent, Code::kOk, J::kCancelled},
      {JobVerb::kCancel, S::kCreated, Code::kOk, J::kCancelled},
      {JobVerb::kCancel, S::kRunning, Code::kOk, J::kCancelled},
      {JobVerb::kCancel, S::kCancelling, Code::kOk, J::kCancelled},
      {JobVerb::kCancel, S::kRequeuing, Code::kOk, J::kCancelled},
      {JobVerb::kCancel, S::kSucceeded, Code::kFailedPrecondition, J::kSucceeded},
      {JobVerb::kCancel, S::kCancelled, Code::kFailedPrecondition, J::kCancelled},
      {JobVerb::kHold, S::kHeld, Code::kOk, J::kHeld},
      {JobVerb::kHold, S::kPending, Code::kOk, J::kHeld},
      {JobVerb::kHold, S::kIntent, Code::kFailedPrecondition, J::kRunning},
      {JobVerb::kHold, S::kRunning, Code::kFailedPrecondition, J::kRunning},
      {JobVerb::kHold, S::kCancelling, Code::kFailedPrecondition, J::kCancelled},
      {JobVerb::kHold, S::kRequeuing, Code::kOk, J::kHeld},
      {JobVerb::kHold, S::kSucceeded, Code::kFailedPrecondition, J::kSucceeded},
      {JobVerb::kRelease, S::kHeld, Code::kOk, J::kRunning},
      {JobVerb::kRelease, S::kPending, Code::kOk, J::kPending},
      {JobVerb::kRelease, S::kRunning, Code::kFailedPrecondition, J::kRunning},
      {JobVerb::kRelease, S::kSucceeded, Code::kFailedPrecondition, J::kSucceeded},
      {JobVerb::kRequeue, S::kHeld, Code::kFailedPrecondition, J::kHeld},
      {JobVerb::kRequeue, S::kPending, Code::kFailedPrecondition, J::kPending},
      {JobVerb::kRequeue, S::kIntent, Code::kOk, J::kRunning},
      {JobVerb::kRequeue, S::kCreated, Code::kOk, J::kRunning},
      {JobVerb::kRequeue, S::kRunning, Code::kOk, J::kRunning},
      {JobVerb::kRequeue, S::kRequeuing, Code::kOk, J::kRunning},
      {JobVerb::kRequeue, S::kCancelling, Code::kFailedPrecondition, J::kCancelled},
      {JobVerb::kRequeue, S::kSucceeded, Code::kFailedPrecondition, J::kSucceeded},
      {JobVerb::kDelete, S::kHeld, Code::kOk, gone},
      {JobVerb::kDelete, S::kPending, Code::kOk, gone},
      {JobVerb::kDelete, S::kIntent, Code::kOk, gone},
      {JobVerb::kDelete, S::kCreated, Code::kOk, gone},
      {JobVerb::kDelete, S::kRunning, Code::kOk, gone},
      {JobVerb::kDelete, S::kCancelling, Code::kOk, gone},
      {JobVerb::kDelete, S::kRequeuing, Code::kOk, gone},
      {JobVerb::kDelete, S::kSucceeded, Code::kOk, gone},
      {JobVerb::kDelete, S::kCancelled, Code::kOk, gone},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(std::string("verb ") + std::to_string(static_cast<int>(one.verb)) + " while " +
                 NameOf(one.stage));
    EngineWorld world;
    const JobId id = Bring(&world, one.stage);
    const auto outcome = world.Do(one.verb, id);
    EXPECT_EQ(outcome.ok() ? Code::kOk : outcome.error().code, one.outcome);
    world.Run();
    const JobPtr job = world.Job(id);
    EXPECT_EQ(job == nullptr ? std::nullopt : std::optional(job->state), one.after);
    const bool runs = one.after == J::kRunning;
    EXPECT_EQ(world.UsedCpu(), runs ? 1000 : 0) << "quota is held exactly while it runs";
    EXPECT_LE(world.members.most_active_of_one_job, 1U);
    if (!one.after.has_value()) {
      EXPECT_TRUE(world.members.objects.empty()) << "the remote object goes too";
      EXPECT_FALSE(world.store.FindJob("default", ShapeKind::kJob, "job").ok())
          << "its name is free";
    }
  }
}

TEST(JobCommand, QuotaIsReleasedOnlyWhenTheMemberHasStopped) {
  EngineWorld world;
  const JobId id = Bring(&world, Stage::kRunning);
  ASSERT_TRUE(world.Do(JobVerb::kCancel, id).ok());
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.Job(id)->reason, Reason::kCancelled);
  EXPECT_EQ(world.UsedCpu(), 1000);
  EXPECT_EQ(world.StoredRow(id)->state, DispatchState::kRevoking);
  ASSERT_EQ(world.members.orders.size(), 1U);
  EXPECT_TRUE(world.members.orders[0].policy.keep_logs);
  world.members.Carry(0, Code::kUnavailable);
  world.Settle();
  EXPECT_EQ(world.UsedCpu(), 1000) << "a failed removal proves nothing";
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kCancelled);
  EXPECT_EQ(world.UsedCpu(), 0);
  EXPECT_EQ(world.StoredRow(id)->state, DispatchState::kTerminal) << "the logs stay";
}

TEST(JobCommand, ANoRequeueJobIsNotRequeuedAndRunsOn) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({.no_requeue = true})->id;
  world.Run();
  const auto outcome = world.Do(JobVerb::kRequeue, id);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, Code::kFailedPrecondition);
  EXPECT_NE(outcome.error().detail.find("--no-requeue"), std::string::npos);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.Job(id)->attempt, 1);
}

TEST(JobCommand, ARequeueStartsTheNextAttemptOnlyAfterTheFirstIsGone) {
  EngineWorld world;
  const JobId id = Bring(&world, Stage::kRunning);
  const DispatchKey first = world.KeyOf(id);
  ASSERT_TRUE(world.Do(JobVerb::kRequeue, id).ok());
  EXPECT_EQ(world.members.orders.size(), 1U) << "nothing but the removal";
  world.Run();
  const JobPtr job = world.Job(id);
  EXPECT_EQ(job->attempt, 2);
  EXPECT_EQ(job->requeues, 1);
  EXPECT_EQ(job->state, JobState::kRunning);
  EXPECT_FALSE(world.members.objects.contains(first));
  EXPECT_EQ(FindCondition(*job, "Requeued")->reason, "Requeued");
  const auto attempts = world.store.ReadAttempts({id});
  ASSERT_EQ(attempts->size(), 1U) << "only the ended one is closed";
  EXPECT_EQ((*attempts)[0].outcome, JobState::kPending);
  EXPECT_EQ((*attempts)[0].attempt, 1);
}

TEST(JobCommand, AnEndThatComesDuringCancellingDoesNotMakeItSucceed) {
  EngineWorld world;
  const JobId id = Bring(&world, Stage::kCancelling);
  world.members.End(world.KeyOf(id), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kCancelled);
}

TEST(JobCommand, AnUnknownJobIsNotFound) {
  EngineWorld world;
  const auto outcome = world.Do(JobVerb::kCancel, JobId{77});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, Code::kNotFound);
}

TEST(JobCommand, CommandsAreAudited) {
  EngineWorld world;
  const JobId id = Bring(&world, Stage::kPending);
  ASSERT_TRUE(world.Do(JobVerb::kHold, id).ok());
  const auto audit = world.store.ReadAudit(100);
  ASSERT_TRUE(audit.ok());
  const bool found = std::any_of(audit->begin(), audit->end(), [](const AuditRow& row) {
    return row.user == "alice" && row.verb == "hold" && row.object == "job/default/job";
  });
  EXPECT_TRUE(found);
}

TEST(JobCommand, AHeldSubmissionWaitsUntilItIsReleased) {
  EngineWorld world;
  const JobId id = Bring(&world, Stage::kHeld);
  EXPECT_EQ(world.StateOf(id), JobState::kHeld);
  EXPECT_EQ(world.Job(id)->reason, Reason::kHeldByUser);
  EXPECT_TRUE(world.members.orders.empty());
}

// It comes into a class that is parked, and no cycle looks at it.
TEST(JobCommand, AReleasedJobWhoseEqualsWait_SaysWhyTheyDo) {
  EngineWorld world;
  world.Declare({{"cpu", 1000}}, {{"cpu", 8000}});
  world.Submit({.name = "running"});
  const JobId waits = world.Submit({.name = "waits"})->id;
  const JobId held = world.Submit({.name = "held", .held = true})->id;
  world.Run();
  ASSERT_EQ(world.Job(waits)->reason, Reason::kWaitingForQuota);
  ASSERT_TRUE(world.Do(JobVerb::kRelease, held).ok());
  world.Run();
  EXPECT_EQ(world.Job(held)->reason, Reason::kWaitingForQuota);
  EXPECT_EQ(world.Job(held)->message, world.Job(waits)->message);
}

}  // namespace
}  // namespace muster::test
