// Submissions: several at once, bounded, once per key, arrays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

using Answer = std::optional<Result<std::vector<Result<SubmittedJob>>>>;

SubmitCommand Command(std::vector<Submission> jobs, Answer* answer) {
  SubmitCommand command;
  command.jobs = std::move(jobs);
  command.done = [answer](Result<std::vector<Result<SubmittedJob>>> result) {
    *answer = std::move(result);
  };
  return command;
}

TEST(SubmissionBatch, WhatArrivesTogetherIsOneWriteAndEachIsAnsweredItself) {
  EngineWorld world(1, {}, {.manual = true});
  std::vector<Answer> answers(64);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    world.engine->Post(Command({MakeSubmission({.name = "job" + std::to_string(i)})}, &answers[i]));
  }
  world.Settle();
  EXPECT_EQ(world.store.waiting(), 1U);
  world.store.DrainOne();
  world.Settle();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_TRUE(answers[i].has_value() && answers[i]->ok());
    EXPECT_EQ((**answers[i])[0]->job->name, "job" + std::to_string(i));
    EXPECT_EQ((**answers[i])[0]->job->id.value, static_cast<std::int64_t>(i) + 1);
  }
}

TEST(SubmissionBatch, ATakenNameIsRefusedAndHarmsNoOther) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  Answer answer;
  Submission same = MakeSubmission({.name = "a"});
  same.draft->uid = UidOf("another job of this name");
  world.engine->Post(Command(
      {MakeSubmission({.name = "a"}), std::move(same), MakeSubmission({.name = "b"})}, &answer));
  world.Settle();
  ASSERT_TRUE(answer.has_value() && answer->ok());
  const auto& results = **answer;
  EXPECT_TRUE(results[0].ok());
  ASSERT_FALSE(results[1].ok());
  EXPECT_EQ(results[1].error().code, Code::kAlreadyExists);
  EXPECT_TRUE(results[2].ok());
  EXPECT_EQ(world.store.accepted_jobs(), 2U);
  EXPECT_EQ(world.UsedCpu(), 2000);
}

TEST(SubmissionBatch, TheSameKeyGivesTheSameJobEvenLongAfterItsEnd) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const auto submit = [&] {
    Answer answer;
    Submission submission = MakeSubmission({});
    submission.idempotency = IdempotencyKey{"alice/default", "key", 1};
    world.engine->Post(Command({std::move(submission)}, &answer));
    world.Settle();
    MUSTER_CHECK(answer.has_value() && answer->ok() && (**answer)[0].ok());
    return *(**answer)[0];
  };
  const SubmittedJob first = submit();
  EXPECT_FALSE(first.replayed);
  const SubmittedJob second = submit();
  EXPECT_TRUE(second.replayed);
  EXPECT_EQ(second.job->id, first.job->id);
  world.Run();
  world.members.End(world.KeyOf(first.job->id), RemotePhase::kSucceeded);
  world.Run();
  world.clock.Advance(3'600'000);
  world.Run();
  ASSERT_EQ(world.Job(first.job->id), nullptr);
  const SubmittedJob third = submit();
  EXPECT_TRUE(third.replayed);
  EXPECT_EQ(third.job->state, JobState::kSucceeded);
  EXPECT_EQ(world.store.accepted_jobs(), 1U);
}

TEST(SubmissionBatch, TooManyInFlightAreRefusedWithARetryTime) {
  EngineOptions options;
  options.max_inflight_submissions = 2;
  EngineWorld world(1, options, {.manual = true});
  Answer first, second;
  world.engine->Post(
      Command({MakeSubmission({.name = "a"}), MakeSubmission({.name = "b"})}, &first));
  world.engine->Post(Command({MakeSubmission({.name = "c"})}, &second));
  world.Settle();
  ASSERT_TRUE(second.has_value());
  ASSERT_FALSE(second->ok());
  EXPECT_EQ(second->error().code, Code::kResourceExhausted);
  EXPECT_GT(second->error().retry_after_ms, 0);
  EXPECT_THAT(world.metrics->Expose(),
              testing::HasSubstr("muster_shed_total{where=\"submissions\"} 1"));
  world.store.DrainOne();
  world.Settle();
  ASSERT_TRUE(first.has_value() && first->ok());
  Answer third;
  world.engine->Post(Command({MakeSubmission({.name = "c"})}, &third));
  do {
    world.Settle();
  } while (world.store.DrainOne());
  EXPECT_TRUE(third.has_value() && third->ok());
}

std::vector<Code> CodesOf(const Answer& answer) {
  MUSTER_CHECK(answer.has_value() && answer->ok());
  std::vector<Code> codes;
  for (const auto& one : **answer) codes.push_back(one.ok() ? Code::kOk : one.error().code);
  return codes;
}

// At most three jobs may wait, and nothing is ever admitted.
struct SmallQueue {
  SmallQueue() : world(1, Options()) { world.Declare({{"cpu", 0}}, {{"cpu", 8000}}); }
  static EngineOptions Options() {
    EngineOptions options;
    options.max_waiting_jobs = 3;
    return options;
  }
  std::vector<Code> Submit(const std::vector<std::string>& names) {
    std::vector<Submission> jobs;
    for (const std::string& name : names) jobs.push_back(MakeSubmission({.name = name}));
    Answer answer;
    world.engine->Post(Command(std::move(jobs), &answer));
    world.Settle();
    if ((*answer)->back().ok()) return CodesOf(answer);
    EXPECT_GT((*answer)->back().error().retry_after_ms, 0);
    return CodesOf(answer);
  }
  EngineWorld world;
};

constexpr Code kFull = Code::kResourceExhausted;

TEST(SubmissionLimit, JobsBeyondTheMostThatMayWaitAreRefusedOneByOne) {
  SmallQueue queue;
  const JobPtr held = queue.world.Submit({.name = "held"});
  ASSERT_TRUE(queue.world.Do(JobVerb::kHold, held->id).ok());
  EXPECT_EQ(queue.Submit({"a", "b", "c", "d"}),
            (std::vector<Code>{Code::kOk, Code::kOk, kFull, kFull}))
      << "a held job waits too";
  EXPECT_EQ(queue.Submit({"e"}), std::vector<Code>{kFull});
  EXPECT_EQ(queue.world.store.accepted_jobs(), 3U);
  EXPECT_THAT(queue.world.metrics->Expose(),
              testing::HasSubstr("muster_shed_total{where=\"queue\"} 2"));
}

TEST(SubmissionLimit, AJobThatNoLongerWaitsMakesRoom_AndARestartChangesNothing) {
  SmallQueue queue;
  const JobPtr first = queue.world.Submit({.name = "first"});
  ASSERT_EQ(queue.Submit({"a", "b"}), (std::vector<Code>{Code::kOk, Code::kOk}));
  queue.world.Restart();
  EXPECT_EQ(queue.Submit({"c"}), std::vector<Code>{kFull});
  ASSERT_TRUE(queue.world.Do(JobVerb::kCancel, first->id).ok());
  EXPECT_EQ(queue.Submit({"c", "d"}), (std::vector<Code>{Code::kOk, kFull}));
}

TEST(SubmissionLimit, RunningJobsDoNotWait) {
  EngineWorld world(1, SmallQueue::Options());
  world.Declare({{"cpu", 64000}}, {{"cpu", 64000}});
  for (int i = 0; i < 10; ++i) {
    EXPECT_NE(world.Submit({.name = "job" + std::to_string(i)}), nullptr) << i;
    world.Run();
  }
}

TEST(SubmissionLimit, AnArrayCountsAsOneJob) {
  SmallQueue queue;
  ASSERT_NE(queue.world.Submit({.name = "array", .array = "0-99999"}), nullptr);
  EXPECT_EQ(queue.Submit({"a", "b", "c"}), (std::vector<Code>{Code::kOk, Code::kOk, kFull}));
}

TEST(SubmissionLimit, WhatIsOnItsWayToTheStoreCountsToo) {
  EngineWorld world(1, SmallQueue::Options(), {.manual = true});
  Answer first, second;
  world.engine->Post(
      Command({MakeSubmission({.name = "a"}), MakeSubmission({.name = "b"})}, &first));
  world.engine->Post(
      Command({MakeSubmission({.name = "c"}), MakeSubmission({.name = "d"})}, &second));
  do {
    world.Settle();
  } while (world.store.DrainOne());
  EXPECT_EQ(CodesOf(first), (std::vector<Code>{Code::kOk, Code::kOk}));
  EXPECT_EQ(CodesOf(second), (std::vector<Code>{Code::kOk, kFull}));
}

TEST(SubmissionBatch, AFullInboxIsSaidAtOnce) {
  EngineWorld world;
  std::size_t taken = 0;
  while (world.engine->Post(FactsCommand{})) ++taken;
  EXPECT_GE(taken, 1000U);
  EXPECT_THAT(world.metrics->Expose(), testing::HasSubstr("muster_shed_total{where=\"inbox\"} 1"));
  world.Settle();
  EXPECT_TRUE(world.engine->Post(FactsCommand{}));
}

TEST(SubmissionBatch, ANewMemberOfAParkedClassKnowsItsReasonAtOnce) {
  EngineWorld world;
  world.Declare({{"cpu", 0}}, {{"cpu", 8000}});
  const JobPtr first = world.Submit({.name = "first"});
  const std::string why = world.Job(first->id)->message;
  const JobPtr second = world.Submit({.name = "second"});
  EXPECT_EQ(second->message, why);
  EXPECT_EQ(second->reason, Reason::kExceedsMaxQuota);
}

TEST(SubmissionBatch, MetricsCountWhatHappened) {
  EngineWorld world;
  world.Declare({{"cpu", 2000}}, {{"cpu", 8000}});
  std::vector<JobId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(world.Submit({.name = "job" + std::to_string(i)})->id);
  world.Run();
  world.members.End(world.KeyOf(ids[0]), RemotePhase::kSucceeded);
  world.Run();
  const std::string text = world.metrics->Expose();
  for (const char* line :
       {"kueue_admitted_workloads_total{cluster_queue=\"cq\",priority_class=\"\"} 3",
        "kueue_finished_workloads_total{cluster_queue=\"cq\",priority_class=\"\"} 1",
        "kueue_reserving_active_workloads{cluster_queue=\"cq\"} 2",
        "kueue_admitted_active_workloads{cluster_queue=\"cq\"} 2",
        "muster_jobs{state=\"Running\"} 2", "muster_jobs{state=\"Succeeded\"} 1"}) {
    EXPECT_THAT(text, testing::HasSubstr(line));
  }
}

}  // namespace
}  // namespace muster::test
