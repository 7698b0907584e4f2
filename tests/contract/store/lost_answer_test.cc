// The answer to a write is lost, and another daemon leads before the outcome can be looked up: the
// store still answers truthfully whether the write took effect, whatever ids the other daemon has
// given out since.
#include <future>

#include "tests/contract/store/contract.h"
#include "tests/contract/store/database_faults.h"

namespace muster::test {
namespace {

constexpr std::int64_t kLike = 900;  // a job that exists before the write

class LostAnswerContract : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    MustAccept(store(), epoch(), DraftJob(kLike));
  }

  /// Runs `post`, loses the answer, and lets another leader use the ids `taken` before the outcome
  /// is looked up. `table`: a table that the write needs, so that it can be stopped there.
  void Lose(bool written, const char* table, const std::vector<std::int64_t>& taken,
            const std::function<void()>& post) {
    if (memory() != nullptr) {
      memory()->LoseAnswer(1, {written, [this, taken] {
                                 const Epoch other = store().Lead("beta", {})->epoch;
                                 for (const std::int64_t id : taken) {
                                   auto job = DraftJob(id, "of-beta-" + std::to_string(id));
                                   job->uid = Uid{0x77, static_cast<std::uint64_t>(id) + 1};
                                   job->accept_seq = 1'000'000 + id;
                                   MustAccept(store(), other, job);
                                 }
                               }});
      return post();
    }
    if (written) {
      AbsentStandby standby(url());
      post();
      AwaitWriter(url(), "SyncRep");
      Overtaker other(url(), kLike, taken);
      EndWriter(url());
      other.Await();
      return;  // the standby is back
    }
    LockedTable locked(url(), table);
    post();
    AwaitWriter(url(), "Lock");
    Overtaker other(url(), kLike, taken);
    EndWriter(url());
    other.Await();
  }

  Result<Answers> AcceptLosing(bool written, const std::vector<std::int64_t>& taken,
                               std::vector<NewJob> jobs) {
    auto answer = std::make_shared<std::promise<Result<Answers>>>();
    auto future = answer->get_future();
    Lose(written, "job_state", taken, [&] {
      store().Accept(epoch(), std::move(jobs),
                     [answer](Result<Answers> answers) { answer->set_value(std::move(answers)); });
    });
    return future.get();
  }
  Result<CommitVersion> CommitLosing(bool written, PlanCommit commit) {
    auto answer = std::make_shared<std::promise<Result<CommitVersion>>>();
    auto future = answer->get_future();
    Lose(written, "quota_usage", {}, [&] {
      store().Commit(epoch(), std::move(commit), [answer](Result<CommitVersion> version) {
        answer->set_value(std::move(version));
      });
    });
    return future.get();
  }
};

TEST_P(LostAnswerContract, AJobThatWasNotWritten_IsNotTakenForTheOneThatHasItsNumberNow) {
  const auto answers = AcceptLosing(false, {1}, {MakeNew(DraftJob(1)), MakeNew(DraftJob(2))});
  ASSERT_FALSE(answers.ok()) << "nothing of it was written";
  EXPECT_EQ(answers.error().code, Code::kUnavailable) << answers.error().detail;
  const auto there = store().ReadJob(JobId{1});
  ASSERT_TRUE(memory() == nullptr || there.ok());
  EXPECT_FALSE(store().FindJob(DraftJob(1)->uid).ok());
}

TEST_P(LostAnswerContract, AJobThatWasWritten_IsAcknowledgedUnderAnotherLeaderToo) {
  const auto answers = AcceptLosing(
      true, {3}, {MakeNew(DraftJob(1)), MakeNew(DraftJob(2)), MakeNew(DraftJob(4, "job-900"))});
  ASSERT_TRUE(answers.ok()) << answers.error().detail;
  ASSERT_EQ(answers->size(), 3U);
  ASSERT_TRUE((*answers)[0].ok() && (*answers)[1].ok());
  EXPECT_EQ((*answers)[0]->id, JobId{1});
  EXPECT_EQ((*answers)[2].error().code, Code::kAlreadyExists) << "each item is judged by itself";
  EXPECT_EQ(*store().FindJob(DraftJob(1)->uid), JobId{1});
  EXPECT_EQ(*store().FindJob(DraftJob(2)->uid), JobId{2});
  EXPECT_FALSE(AcceptNow(store(), epoch(), {MakeNew(DraftJob(5))}).ok()) << "it leads no more";
}

TEST_P(LostAnswerContract, AChangeThatWasNotWritten_IsNotCalledWritten_NorUnknown) {
  PlanCommit commit;
  commit.usage = {{"team-a", "spot", "cpu", 7}};
  const auto version = CommitLosing(false, commit);
  ASSERT_FALSE(version.ok());
  EXPECT_EQ(version.error().code, Code::kUnavailable) << version.error().detail;
  NewLead();
  EXPECT_TRUE(LoadAll().usage.empty());
}

TEST_P(LostAnswerContract, AChangeThatWasWritten_IsKnownUnderAnotherLeader) {
  PlanCommit commit;
  commit.usage = {{"team-a", "spot", "cpu", 7}};
  const auto version = CommitLosing(true, commit);
  ASSERT_TRUE(version.ok()) << version.error().detail;
  NewLead();
  ASSERT_EQ(LoadAll().usage.size(), 1U);
  EXPECT_EQ(LoadAll().usage[0].amount, 7);
}

INSTANTIATE_TEST_SUITE_P(Stores, LostAnswerContract, ::testing::Values("memory", "postgres"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace muster::test
