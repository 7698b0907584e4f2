// Kueue's loads: which jobs arrive when, and a bound that no schedule can be below.
#include "tests/bench/reference_loads.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster::bench {
namespace {

ReferenceLoad OneQueue(std::vector<JobClass> classes) {
  ReferenceLoad load;
  load.cohorts = load.queues = 1;
  load.nominal = 10'000;
  load.borrowing = 50'000;
  load.classes = std::move(classes);
  return load;
}

TEST(ReferenceLoads, HaveTheNumbersOfTheReference) {
  struct {
    const char* name;
    std::size_t jobs;
    std::int64_t queues, cpu_ms;  // of one queue: cpu milliseconds of all its jobs
  } const cases[] = {
      {"baseline", 15'000, 30, 1'320'000},
      {"large-scale", 50'000, 1000, 80'500},
      {"tas", 15'000, 30, 1'320'000},
  };
  for (const auto& one : cases) {
    const ReferenceLoad* load = FindReferenceLoad(one.name);
    ASSERT_NE(load, nullptr) << one.name;
    EXPECT_EQ(JobsOf(*load), one.jobs);
    EXPECT_EQ(load->cohorts * load->queues, one.queues);
    std::int64_t cpu_ms = 0;
    for (const JobClass& jobs : load->classes)
      cpu_ms += static_cast<std::int64_t>(jobs.count) * jobs.cpu() / 1000 * jobs.run_ms;
    EXPECT_EQ(cpu_ms, one.cpu_ms) << one.name;
  }
  EXPECT_EQ(FindReferenceLoad("another"), nullptr);
}

TEST(ReferenceLoads, JobsArriveOnePerIntervalAfterTheFirstInterval) {
  const auto arrivals = ArrivalsOf(*FindReferenceLoad("large-scale"));
  ASSERT_EQ(arrivals.size(), 50'000U);
  EXPECT_EQ(arrivals.front().at_ms, 60);
  EXPECT_EQ(arrivals.back().at_ms, 3'300);
  EXPECT_TRUE(std::is_sorted(arrivals.begin(), arrivals.end(),
                             [](const auto& a, const auto& b) { return a.at_ms < b.at_ms; }));
  EXPECT_EQ(std::count_if(arrivals.begin(), arrivals.end(),
                          [](const Arrival& one) { return one.at_ms == 300; }),
            2'000)
      << "a small and a medium one of each queue";
}

TEST(ReferenceLoads, TheBoundIsTheLargestThatAnyPartOfTheLoadGives) {
  struct {
    const char* what;
    std::vector<JobClass> classes;
    double seconds;
  } const cases[] = {
      {"one job: it arrives and runs", {{"a", 1, 100, 500, 0, 1, 10'000}}, 0.6},
      {"two at once, from the second arrival on still ten times",
       {{"a", 20, 1, 500, 0, 1, 5'000}},
       5.002},
      {"jobs of which only one fits at once", {{"a", 4, 1, 500, 0, 1, 6'000}}, 2.001},
      {"the last arrival is later than the work needs", {{"a", 3, 1'000, 100, 0, 1, 1'000}}, 3.1},
      {"little before a load that comes late",
       {{"early", 1, 10, 10, 0, 1, 1'000}, {"late", 1, 2'000, 3'000, 0, 1, 10'000}},
       5.0},
  };
  for (const auto& one : cases)
    EXPECT_NEAR(BoundOf(OneQueue(one.classes)).seconds, one.seconds, 1e-9) << one.what;
}

TEST(ReferenceLoads, TheBaselineIsBoundByTheQuotaOfACohort) {
  const QuotaBound bound = BoundOf(*FindReferenceLoad("baseline"));
  EXPECT_GE(bound.seconds, 66.0);
  EXPECT_LT(bound.seconds, 67.3) << "66 s of work, and what it waits for the first large jobs";
}

TEST(ReferenceLoads, AScaledLoadKeepsEveryClass) {
  const ReferenceLoad small = Scaled(*FindReferenceLoad("tas"), 0.001);
  ASSERT_EQ(small.classes.size(), 9U);
  for (const JobClass& one : small.classes) EXPECT_EQ(one.count, 1U) << one.name;
}

}  // namespace
}  // namespace muster::bench
