// Tasks of arrays by their index: reads, verbs, lists, explain (rules B40, B41).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/service/array_ids.h"
#include "tests/unit/service/service_world.h"

namespace muster::test {
namespace {

using testing::HasSubstr;

TEST(TaskIdText, NamesOneTaskSomeOrAll) {
  struct Case {
    const char* text;
    const char* tasks;  // null: it is no such text
  };
  for (const Case& one : std::initializer_list<Case>{
           {"36_4", "4"},       {"36_[4]", "4"},       {"36_[1-5,9]", "1-5,9"}, {"36_*", "0-4000000"},
           {"36_[0-6:2]", "0-6:2"}, {"36", nullptr},   {"36_", nullptr},        {"36_a", nullptr},
           {"36_1-5", nullptr}, {"36_[]", nullptr},    {"_4", nullptr},         {"0_4", nullptr},
           {"-3_4", nullptr},   {"36_[5-1]", nullptr}, {"a_4", nullptr},        {"36_4_5", nullptr},
       }) {
    const auto ids = api::ParseTaskIds(one.text);
    ASSERT_EQ(ids.has_value(), one.tasks != nullptr) << one.text;
    if (!ids) continue;
    EXPECT_EQ(ids->array, JobId{36});
    EXPECT_EQ(IndexText(ids->tasks), one.tasks) << one.text;
  }
}

// An array of six tasks of which four run.
class Arrays : public testing::Test {
 protected:
  Arrays() {
    const auto made = world_.Submit(
        json::object{{"script", "#!/bin/sh\n#SBATCH --array=0-5\ntrue\n"}, {"queue", "queue"}});
    MUSTER_CHECK(made.ok());
    array_ = made->job->id;
    world_.world.Run();
  }
  std::string Id(const std::string& tasks = "") const {
    return std::to_string(array_.value) + (tasks.empty() ? "" : "_" + tasks);
  }
  Result<JobPtr> Do(JobVerb verb, const std::string& id) {
    std::optional<Result<JobPtr>> answer;
    world_.service.ChangeJob(world_.alice, id, verb,
                             [&](Result<JobPtr> job) { answer = std::move(job); });
    world_.world.Run();
    MUSTER_CHECK(answer.has_value());
    return *answer;
  }
  std::vector<std::string> List(std::vector<JobState> states = {}) {
    api::JobFilter filter;
    filter.array = array_;
    filter.states = std::move(states);
    const auto page = world_.service.ListJobs(world_.alice, filter, "", 100);
    MUSTER_CHECK(page.ok());
    std::vector<std::string> lines;
    for (const JobPtr& job : page->items) {
      lines.push_back((IsArrayRecord(*job) ? "[" + IndexText(BatchStateOf(*job).waiting_tasks) + "]"
                                           : std::to_string(job->batch->array_task_id)) +
                      " " + std::string(JobStateName(job->state)));
    }
    return lines;
  }
  ServiceWorld world_;
  JobId array_;
};

TEST_F(Arrays, ATaskIsFoundByItsIndex_WhetherItWaitsOrRuns) {
  ASSERT_TRUE(world_.Submit(JobManifest("other")).ok());
  EXPECT_EQ(List(), (std::vector<std::string>{"[4-5] Pending", "0 Running", "1 Running",
                                              "2 Running", "3 Running"}));
  const auto running = world_.service.GetJob(world_.alice, Id("2"));
  ASSERT_TRUE(running.ok());
  EXPECT_EQ((*running)->batch->array_task_id, 2);
  const auto waiting = world_.service.GetJob(world_.alice, Id("5"));
  ASSERT_TRUE(waiting.ok());
  EXPECT_EQ((*waiting)->id, array_);
  for (const char* none : {"6", "[1-2]", "*"})
    EXPECT_EQ(world_.service.GetJob(world_.alice, Id(none)).error().code, Code::kNotFound) << none;
  EXPECT_EQ(world_.service.GetJob(world_.alice, "99_1").error().code, Code::kNotFound);
}

TEST_F(Arrays, VerbsTakeOneTaskSomeOrAll) {
  ASSERT_TRUE(Do(JobVerb::kHold, Id("[4-5]")).ok());
  EXPECT_EQ(List({JobState::kHeld}), std::vector<std::string>{"[4-5] Held"});
  ASSERT_TRUE(Do(JobVerb::kRelease, Id("5")).ok());
  EXPECT_EQ(List({JobState::kHeld}), std::vector<std::string>{"[4] Held"});
  ASSERT_TRUE(Do(JobVerb::kCancel, Id("3")).ok());
  EXPECT_EQ(List({JobState::kCancelled}), std::vector<std::string>{"3 Cancelled"});
  EXPECT_EQ((*world_.service.GetJob(world_.alice, Id("5")))->state, JobState::kRunning);
  ASSERT_TRUE(Do(JobVerb::kCancel, Id("*")).ok());
  for (const std::string& line : List()) EXPECT_THAT(line, HasSubstr("Cancelled"));
  EXPECT_EQ(Do(JobVerb::kCancel, Id("*")).error().code, Code::kFailedPrecondition);
  EXPECT_EQ(Do(JobVerb::kCancel, Id("77")).error().code, Code::kNotFound);
}

TEST_F(Arrays, WhoMayNotSeeTheArray_LearnsNothingOfItsTasks) {
  world_.authorizer.refuses_all = true;
  for (const std::string& id : {Id("2"), Id("5"), Id("9"), Id("*")}) {
    EXPECT_EQ(world_.service.GetJob(world_.alice, id).error().detail,
              "job \"" + id + "\" does not exist");
  }
  EXPECT_EQ(Do(JobVerb::kCancel, Id("2")).error().code, Code::kNotFound);
}

TEST_F(Arrays, ExplainSpeaksOfTheRecord) {
  const auto explained = world_.service.Explain(world_.alice, Id());
  ASSERT_TRUE(explained.ok()) << explained.error().detail;
  EXPECT_EQ(explained->why.state, JobState::kPending);
  EXPECT_EQ(explained->why.reason, ReasonName(Reason::kWaitingForQuota));
}

}  // namespace
}  // namespace muster::test
