#include "schedd/simulate/swf.h"

#include "tests/unit/simulate/sim_world.h"

namespace muster::simulate::testing {
namespace {

std::vector<SwfJob> TraceOf(const std::string& text) {
  const auto trace = ParseSwf(text);
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().detail);
  return trace.ok() ? *trace : std::vector<SwfJob>{};
}

Scenario TwoQueues() { return ScenarioOf(Flavor() + Queue("a", 8) + Queue("b", 8)); }

TEST(Swf, ReadsEighteenNumbersALine) {
  const auto trace = TraceOf(
      "; Version: 2\n\n  7 100 5 60 4 3.5 2048 8 120 4096 1 11 12 13 14 15 -1 -1\r\n;end\n");
  ASSERT_EQ(trace.size(), 1u);
  const SwfJob& job = trace[0];
  EXPECT_EQ(job.number, 7);
  EXPECT_EQ(job.submit, 100);
  EXPECT_EQ(job.run, 60);
  EXPECT_EQ(job.used_processors, 4);
  EXPECT_EQ(job.used_memory, 2048);
  EXPECT_EQ(job.requested_processors, 8);
  EXPECT_EQ(job.requested_time, 120);
  EXPECT_EQ(job.requested_memory, 4096);
  EXPECT_EQ(job.status, 1);
  EXPECT_EQ(job.user, 11);
  EXPECT_EQ(job.group, 12);
  EXPECT_EQ(job.queue, 14);
  EXPECT_EQ(job.partition, 15);
}

TEST(Swf, NamesTheLineThatIsWrong) {
  const std::pair<const char*, const char*> wrong[] = {
      {"; nothing\n", "there is no job"},
      {"1 2 3\n", "line 1 of the trace: a job has 18 fields, not 3"},
      {";\n1 0 -1 x 4 -1 -1 -1 -1 -1 1 -1 -1 -1 0 -1 -1 -1\n", "line 2 of the trace: field 4"},
      {"1 -1 -1 5 4 -1 -1 -1 -1 -1 1 -1 -1 -1 0 -1 -1 -1\n", "submit time"},
      {"1 0 -1 99999999999 4 -1 -1 -1 -1 -1 1 -1 -1 -1 0 -1 -1 -1\n", "century"},
  };
  for (const auto& [text, why] : wrong) {
    const auto trace = ParseSwf(text);
    ASSERT_FALSE(trace.ok()) << text;
    EXPECT_NE(trace.error().detail.find(why), std::string::npos) << trace.error().detail;
  }
}

TEST(Swf, JobsBecomeGangsOfTheQueuesThatTheirNumbersAreMappedTo) {
  Scenario scenario = TwoQueues();
  SwfRules rules;
  rules.by = SwfRules::By::kUser;
  rules.queue_of[3] = "default/b";
  rules.queue = "a";
  const auto counts = AddSwfJobs(TraceOf("1 1000 -1 60 4 -1 -1 8 120 -1 1 3 -1 -1 0 -1 -1 -1\n"
                                         "2 1010 -1 30 2 -1 -1 -1 10 -1 1 4 -1 -1 0 -1 -1 -1\n"),
                                 rules, &scenario);
  ASSERT_TRUE(counts.ok()) << counts.error().detail;
  EXPECT_EQ(counts->taken, 2u);
  ASSERT_EQ(scenario.jobs.size(), 2u);
  EXPECT_EQ(scenario.jobs[0].job->cluster_queue, "b");
  EXPECT_EQ(scenario.jobs[0].job->pod_sets->front().count, 8) << "requested before used";
  EXPECT_EQ(scenario.jobs[1].job->cluster_queue, "a");
  EXPECT_EQ(scenario.jobs[1].job->pod_sets->front().count, 2) << "used if nothing was requested";
  EXPECT_EQ(Story(scenario), (Lines{"0s Admitted swf-1", "10s Admitted swf-2", "20s TimedOut swf-2",
                                    "60s Finished swf-1"}));
}

TEST(Swf, WhatNeverRanOrIsPartOfAnotherIsLeftOutAndCounted) {
  Scenario scenario = TwoQueues();
  SwfRules rules;
  rules.queue = "a";
  const auto counts = AddSwfJobs(TraceOf("1 0 -1 -1 4 -1 -1 4 -1 -1 5 1 -1 -1 0 -1 -1 -1\n"
                                         "2 0 -1 0 4 -1 -1 4 -1 -1 5 1 -1 -1 0 -1 -1 -1\n"
                                         "3 0 -1 9 -1 -1 -1 -1 -1 -1 1 1 -1 -1 0 -1 -1 -1\n"
                                         "4 0 -1 9 1 -1 -1 1 -1 -1 2 1 -1 -1 0 -1 -1 -1\n"
                                         "5 0 -1 9 1 -1 -1 1 -1 -1 5 1 -1 -1 0 -1 -1 -1\n"
                                         "6 0 -1 0 1 -1 -1 1 -1 -1 1 1 -1 -1 0 -1 -1 -1\n"),
                                 rules, &scenario);
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(counts->never_ran, 2u);
  EXPECT_EQ(counts->no_processors, 1u);
  EXPECT_EQ(counts->partial, 1u);
  EXPECT_EQ(counts->taken, 2u) << "one that was cancelled while it ran did run";
}

TEST(Swf, MemoryUsedProcessorsAndTimeLimitsCountAsTold) {
  Scenario scenario = TwoQueues();
  SwfRules rules;
  rules.queue = "a";
  rules.used_processors = true;
  rules.memory = true;
  rules.time_limit = false;
  rules.resource = "nvidia.com/gpu";
  const auto counts =
      AddSwfJobs(TraceOf("1 0 -1 60 4 -1 512 8 10 2048 1 1 -1 -1 0 -1 -1 -1\n"), rules, &scenario);
  ASSERT_TRUE(counts.ok());
  const PodSet& pods = scenario.jobs[0].job->pod_sets->front();
  EXPECT_EQ(pods.count, 4);
  EXPECT_EQ(AmountOf(pods.requests, "nvidia.com/gpu"), 1);
  EXPECT_EQ(AmountOf(pods.requests, "memory"), 2048 * 1024);
  EXPECT_EQ(scenario.jobs[0].job->time_limit_s, 0);
}

TEST(Swf, ANumberWithoutQueueAndAQueueThatIsNotThereAreRefused) {
  const auto trace = TraceOf("9 0 -1 60 4 -1 -1 4 -1 -1 1 5 -1 -1 0 -1 -1 -1\n");
  Scenario scenario = TwoQueues();
  SwfRules rules;
  rules.by = SwfRules::By::kUser;
  const auto unmapped = AddSwfJobs(trace, rules, &scenario);
  ASSERT_FALSE(unmapped.ok());
  EXPECT_NE(unmapped.error().detail.find("its number 5"), std::string::npos);
  rules.queue = "default/none";
  const auto missing = AddSwfJobs(trace, rules, &scenario);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().detail.find("LocalQueue \"none\" does not exist"), std::string::npos);
}

// As long as a month of a small cluster: every job runs once, for its whole run time.
TEST(Swf, AWholeTracePlaysToItsEnd) {
  std::string text;
  for (int i = 1; i <= 5000; ++i) {
    const std::string procs = std::to_string(1 + i * 37 % 128);
    const std::string run = std::to_string(1 + i * 7919 % 3600);
    text += std::to_string(i) + " " + std::to_string(i * 60) + " -1 " + run + " " + procs +
            " -1 -1 " + procs + " " + run + " -1 1 1 1 1 1 1 -1 -1\n";
  }
  Scenario scenario = ScenarioOf(Flavor() + Queue("a", 256));
  SwfRules rules;
  rules.queue = "a";
  const auto counts = AddSwfJobs(TraceOf(text), rules, &scenario);
  ASSERT_TRUE(counts.ok()) << counts.error().detail;
  const PlayResult played = Play(scenario, FromStart(), nullptr);
  EXPECT_EQ(counts->taken, 5000U);
  EXPECT_EQ(played.summary.finished, counts->taken);
  EXPECT_EQ(played.outcome.admissions, counts->taken);
  EXPECT_LE(played.summary.uses[0].permille, 1000);
}

}  // namespace
}  // namespace muster::simulate::testing
