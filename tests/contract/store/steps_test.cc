// Steps of batch scripts and measured use: what is written comes back, closed rows stay, and any
// order and repetition of reports ends in the same rows (rules B53 and B54).
#include <algorithm>
#include <map>
#include <random>

#include "tests/contract/store/contract.h"

namespace muster::test {
namespace {

class StepsContract : public StoreContract {
 protected:
  Result<std::vector<StepRecord>> Read(std::vector<JobId> jobs) {
    StepQuery query;
    query.jobs = std::move(jobs);
    return store().ReadSteps(query);
  }
};

StepRecord RunningStep(const JobRecord& job, std::int32_t attempt, std::int32_t number) {
  StepRecord step;
  step.job = job.id;
  step.attempt = attempt;
  step.step = number;
  step.name = "hostname";
  step.nodes = "job-1-[0-1]";
  step.node_count = 2;
  step.tasks = 4;
  step.cpus = 8;
  step.start_time.us = 1'000 + number;
  return step;
}

StepRecord EndedStep(StepRecord step, StepState state, std::int32_t exit_code) {
  step.state = state;
  step.end_time.us = step.start_time.us + 500;
  step.exit_code = exit_code;
  step.use = {1'000'000, 20'000, 3 << 20, 4096, 0};
  return step;
}

AttemptRecord EndedAttempt(const JobRecord& job, std::int32_t number, std::int64_t end_us) {
  AttemptRecord attempt;
  attempt.job = job.id;
  attempt.attempt = number;
  attempt.cluster = "east";
  attempt.end_time.us = end_us;
  attempt.outcome = JobState::kFailed;
  return attempt;
}

TEST_P(StepsContract, WhatIsWrittenComesBackByJobAttemptAndStep) {
  const JobPtr first = MustAccept(store(), epoch(), DraftJob(1));
  const JobPtr second = MustAccept(store(), epoch(), DraftJob(2));
  MustAccept(store(), epoch(), DraftJob(3));
  const StepRecord one = EndedStep(RunningStep(*first, 1, 0), StepState::kFailed, 3);
  PlanCommit commit;
  commit.steps = {RunningStep(*second, 1, 0), RunningStep(*first, 2, 0), RunningStep(*first, 1, 10),
                  RunningStep(*first, 1, 2), one};
  MustCommit(commit);
  const auto read = Read({JobId{2}, JobId{1}, JobId{1}, JobId{77}, JobId{3}});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read,
            (std::vector<StepRecord>{one, RunningStep(*first, 1, 2), RunningStep(*first, 1, 10),
                                     RunningStep(*first, 2, 0), RunningStep(*second, 1, 0)}));
  EXPECT_EQ(*Read({JobId{2}}), (std::vector<StepRecord>{RunningStep(*second, 1, 0)}));
  EXPECT_TRUE(Read({})->empty());
}

TEST_P(StepsContract, PagesBeginAfterAnyStepAndMissNone) {
  const JobPtr first = MustAccept(store(), epoch(), DraftJob(1));
  const JobPtr second = MustAccept(store(), epoch(), DraftJob(2));
  PlanCommit commit;
  for (const std::int32_t attempt : {1, 2}) {
    for (std::int32_t number = 0; number < 3; ++number) {
      commit.steps.push_back(RunningStep(*first, attempt, number));
      commit.steps.push_back(RunningStep(*second, attempt, number));
    }
  }
  MustCommit(commit);
  const auto all = Read({JobId{1}, JobId{2}});
  ASSERT_EQ(all->size(), 12U);
  for (std::size_t size : {1, 4, 12, 13}) {
    StepQuery query;
    query.jobs = {JobId{2}, JobId{1}};
    query.limit = size;
    std::vector<StepRecord> paged;
    for (;;) {
      const auto page = store().ReadSteps(query);
      ASSERT_TRUE(page.ok());
      paged.insert(paged.end(), page->begin(), page->end());
      if (page->size() < size) break;
      query.after_job = page->back().job;
      query.after_attempt = page->back().attempt;
      query.after_step = page->back().step;
    }
    EXPECT_EQ(paged, *all) << size;
  }
}

TEST_P(StepsContract, AStepIsUpdatedUntilItHasEndedAndThenStays) {
  const JobPtr job = MustAccept(store(), epoch(), DraftJob(1));
  PlanCommit commit;
  StepRecord step = RunningStep(*job, 1, 0);
  commit.steps = {step};
  MustCommit(commit);
  step.use.user_cpu_us = 7;
  step.tasks = 3;
  commit.steps = {step};
  MustCommit(commit);
  EXPECT_EQ(Read({job->id})->front(), step);
  const StepRecord ended = EndedStep(step, StepState::kOutOfMemory, 137);
  commit.steps = {ended};
  MustCommit(commit);
  commit.steps = {step, EndedStep(step, StepState::kCompleted, 0)};
  MustCommit(commit);
  EXPECT_EQ(*Read({job->id}), (std::vector<StepRecord>{ended}));
}

TEST_P(StepsContract, OfSeveralRowsOfOneStepTheFirstClosedOneCountsElseTheLast) {
  const JobPtr job = MustAccept(store(), epoch(), DraftJob(1));
  const StepRecord begun = RunningStep(*job, 1, 0);
  StepRecord later = begun;
  later.tasks = 2;
  const StepRecord ended = EndedStep(begun, StepState::kCompleted, 0);
  PlanCommit commit;
  commit.steps = {begun, later};
  MustCommit(commit);
  EXPECT_EQ(Read({job->id})->front(), later);
  commit.steps = {later, ended, EndedStep(begun, StepState::kFailed, 1), begun};
  MustCommit(commit);
  EXPECT_EQ(Read({job->id})->front(), ended);
}

TEST_P(StepsContract, StepsThatAreOpenAreClosedWithTheirAttempt) {
  const JobPtr job = MustAccept(store(), epoch(), DraftJob(1));
  const StepRecord done = EndedStep(RunningStep(*job, 1, 0), StepState::kCompleted, 0);
  PlanCommit commit;
  commit.steps = {done, RunningStep(*job, 1, 1), RunningStep(*job, 2, 0)};
  MustCommit(commit);
  // One more begins in the commit that ends the attempt, and one begins later than it ended.
  StepRecord late = RunningStep(*job, 1, 3);
  late.start_time.us = 9'000;
  commit.steps = {RunningStep(*job, 1, 2), late};
  commit.attempts = {EndedAttempt(*job, 1, 5'000)};
  MustCommit(commit);
  const auto read = Read({job->id});
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->size(), 5U);
  EXPECT_EQ((*read)[0], done);
  for (const std::size_t cut : {1, 2, 3}) {
    EXPECT_EQ((*read)[cut].state, StepState::kCancelled);
    EXPECT_EQ((*read)[cut].exit_signal, 15);
    EXPECT_EQ((*read)[cut].end_time.us, cut == 3 ? 9'000 : 5'000);
  }
  EXPECT_EQ((*read)[4], RunningStep(*job, 2, 0)) << "that of the next attempt runs on";
}

TEST_P(StepsContract, MeasuredUseComesBackWithTheAttempt) {
  const JobPtr job = MustAccept(store(), epoch(), DraftJob(1));
  AttemptRecord measured = EndedAttempt(*job, 1, 5'000);
  measured.use = {12, 34, std::int64_t{5} << 40, 78, 9};
  PlanCommit commit;
  commit.attempts = {measured, EndedAttempt(*job, 2, 6'000)};
  MustCommit(commit);
  AttemptRecord again = measured;
  again.use = {};
  commit.attempts = {again};
  MustCommit(commit);
  const auto read = store().ReadAttempts({job->id});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ((*read)[0].use, measured.use);
  EXPECT_EQ((*read)[1].use, MeasuredUse{});
}

TEST_P(StepsContract, WhatNoRowMayHoldIsRefused) {
  const JobPtr job = MustAccept(store(), epoch(), DraftJob(1));
  std::vector<StepRecord> bad(4, RunningStep(*job, 1, 0));
  bad[0].job = JobId{9};
  bad[1].attempt = 0;
  bad[2].step = -1;
  bad[3].state = static_cast<StepState>(7);
  for (const StepRecord& step : bad) {
    PlanCommit commit;
    commit.steps = {RunningStep(*job, 1, 5), step};
    EXPECT_EQ(TryCommit(commit).error().code, Code::kFailedPrecondition);
    EXPECT_TRUE(Read({job->id})->empty());
  }
}

// The history of each step is told from its beginning, with repeats, in commits of any size; then
// the daemon is killed and everything is told again. What is stored is the first end of each step.
TEST_P(StepsContract, AnyRepetitionOfReportsEndsInTheSameRows) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&random](std::size_t n) { return random() % n; };
    const JobPtr job = MustAccept(store(), epoch(), DraftJob(seed));
    std::vector<StepRecord> told;
    std::vector<StepRecord> expected;
    for (std::int32_t number = 0; number < 12; ++number) {
      StepRecord step = RunningStep(*job, 1, number);
      told.push_back(step);
      if (below(3) == 0) told.push_back(step);
      if (below(4) > 0) {
        step = EndedStep(step, static_cast<StepState>(2 + below(5)), static_cast<int>(below(9)));
        told.push_back(step);
      }
      expected.push_back(step);
    }
    std::stable_sort(told.begin(), told.end(), [](const StepRecord& a, const StepRecord& b) {
      return a.end_time < b.end_time;
    });
    for (int life = 0; life < 3; ++life) {
      // A killed daemon has told a part; the next one begins anew.
      const std::size_t until = life == 2 ? told.size() : below(1 + told.size());
      for (std::size_t at = 0; at < until;) {
        PlanCommit commit;
        for (std::size_t rows = 1 + below(6); rows > 0 && at < until; --rows)
          commit.steps.push_back(told[at++]);
        if (below(3) == 0) commit.steps.push_back(told[below(at)]);
        MustCommit(commit);
      }
      NewLead();
    }
    PlanCommit end;
    end.attempts = {EndedAttempt(*job, 1, 50'000)};
    MustCommit(end);
    for (StepRecord& step : expected) {
      if (step.end_time.set()) continue;
      step.state = StepState::kCancelled;
      step.exit_signal = 15;
      step.end_time.us = 50'000;
    }
    EXPECT_EQ(*Read({job->id}), expected) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, StepsContract, ::testing::Values("memory", "postgres"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace muster::test
