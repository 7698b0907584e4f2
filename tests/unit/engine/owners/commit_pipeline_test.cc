// CommitPipeline: what a transaction promises happens when it is durable, and not before.
#include "schedd/engine/commit/commit_pipeline.h"

#include <gtest/gtest.h>

#include "tests/support/owners_world.h"

namespace muster::test {
namespace {

class CommitPipelineOwner : public ::testing::Test {
 protected:
  void AddRow() { commits.AddAudit({"test", "loopback"}, "apply", "x", ""); }
  void Send() { commits.Send(world.owners.jobs.planned().usage()); }
  void Await() {
    commits.AnswerAfterCommit([this](const Error* error) {
      answers.push_back(error == nullptr ? "done" : CodeName(error->code));
    });
  }
  void Answer() {
    world.TakeAnswers();
    for (const auto& answer : commits.TakeDue().answers) answer();
  }

  OwnersWorld world;
  CommitPipeline& commits = world.owners.commits;
  std::vector<std::string> answers;
};

TEST_F(CommitPipelineOwner, AnAnswerIsDueOnlyWhenItsRowsAreDurable) {
  AddRow();
  Await();
  Send();
  EXPECT_TRUE(commits.TakeDue().answers.empty());
  Answer();
  EXPECT_EQ(answers, std::vector<std::string>{"done"});
}

// A submission is written beside the commits, and may be durable first.
TEST_F(CommitPipelineOwner, EventsAreTold_InTheOrderOfTheirNumbers) {
  const auto numbers = [this] {
    std::vector<std::int64_t> told;
    for (const Event& event : commits.TakeDue().news) told.push_back(event.seq);
    return told;
  };
  const std::int64_t open = commits.AddEvent("JobUpdated", JobId{1}, "job/default/x", "", "");
  const std::int64_t accepted = commits.NextSeq();
  commits.BeginAccept(accepted);
  const std::int64_t later = commits.AddEvent("JobUpdated", JobId{1}, "job/default/x", "", "");
  Event news;
  news.seq = accepted;
  commits.AddNews(news);
  commits.EndAccept();
  EXPECT_EQ(commits.SettledSeq(), open - 1);
  EXPECT_TRUE(numbers().empty()) << "a stream that had told of it would pass over the open ones";
  Send();
  EXPECT_TRUE(numbers().empty());
  world.TakeAnswers();
  EXPECT_EQ(numbers(), (std::vector<std::int64_t>{open, accepted, later}));
  EXPECT_EQ(commits.SettledSeq(), later);
}

TEST_F(CommitPipelineOwner, ASubmissionOnItsWay_HoldsLaterEventsBack) {
  const std::int64_t accepted = commits.NextSeq();
  commits.BeginAccept(accepted);
  commits.AddEvent("JobUpdated", JobId{1}, "job/default/x", "", "");
  Send();
  world.TakeAnswers();
  EXPECT_TRUE(commits.TakeDue().news.empty());
  EXPECT_EQ(commits.SettledSeq(), accepted - 1);
  commits.EndAccept();
  EXPECT_EQ(commits.TakeDue().news.size(), 1u);
}

TEST_F(CommitPipelineOwner, PromisesWithoutRowsWaitForTheLastCommitOnItsWay) {
  AddRow();
  Send();
  Await();
  Send();
  EXPECT_TRUE(commits.tx().waiters.empty()) << "attached to the commit that is on its way";
  EXPECT_TRUE(commits.TakeDue().answers.empty());
  Answer();
  EXPECT_EQ(answers, std::vector<std::string>{"done"});
}

TEST_F(CommitPipelineOwner, PromisesWithoutRowsAndWithoutCommitsAreDueAtOnce) {
  Await();
  Send();
  Answer();
  EXPECT_EQ(answers, std::vector<std::string>{"done"});
}

TEST_F(CommitPipelineOwner, AFailedWriteForgetsOrdersAndAnswersUnavailable) {
  world.store.SetAway(true);
  AddRow();
  Await();
  commits.OrderList("east");
  Send();
  Answer();
  EXPECT_TRUE(commits.failed());
  EXPECT_NE(commits.failure(), "");
  EXPECT_EQ(answers, std::vector<std::string>{CodeName(Code::kUnavailable)});
  EXPECT_EQ(world.orders.lines, std::vector<std::string>{"forget"});
}

TEST_F(CommitPipelineOwner, ResumeGoesOnWithTheWorldThatWasRead) {
  world.store.SetAway(true);
  AddRow();
  Send();
  Answer();
  world.store.SetAway(false);
  commits.Reset(CommittedState{}, 41);
  commits.Resume();
  EXPECT_FALSE(commits.failed());
  EXPECT_EQ(commits.failure(), "");
  EXPECT_EQ(commits.AddEvent("ObjectApplied", JobId{}, "x", "", ""), 42);
}

TEST_F(CommitPipelineOwner, NothingIsDecidedOnAConfigurationThatIsOnItsWay) {
  EXPECT_TRUE(commits.MayDecide());
  AddRow();
  commits.tx().config = std::make_shared<const ConfigView>();
  EXPECT_FALSE(commits.MayDecide());
  Send();
  EXPECT_FALSE(commits.MayDecide());
  Answer();
  EXPECT_TRUE(commits.MayDecide());
}

TEST(CommitPipelineHeartbeat, IsSentWhenTheStoreHasNotBeenHeardOfForSoLong) {
  EngineOptions options;
  options.heartbeat_ms = 2000;
  OwnersWorld world(options);
  world.clock.Advance(2000);
  EXPECT_TRUE(world.owners.commits.SendHeartbeat());
  world.TakeAnswers();
  EXPECT_FALSE(world.owners.commits.SendHeartbeat()) << "it has just answered";
  world.clock.Advance(1999);
  EXPECT_FALSE(world.owners.commits.SendHeartbeat());
  world.clock.Advance(1);
  EXPECT_TRUE(world.owners.commits.SendHeartbeat());
}

}  // namespace
}  // namespace muster::test
