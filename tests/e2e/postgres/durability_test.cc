// Group commit on a real server: answered only after the commit, lost answers resolved, environment
// errors told apart.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include <pqxx/pqxx>

#include "schedd/store/pg/pg_store.h"
#include "tests/contract/store/store_fixtures.h"
#include "tests/contract/store/test_server.h"

namespace muster::test {
namespace {

class Durability : public ::testing::Test {
 protected:
  void SetUp() override {
    url_ = FreshDatabase(SharedServer());
    PgStoreOptions options;
    options.url = url_;
    options.resolve_ms = 3000;
    auto opened = OpenPgStore(options);
    ASSERT_TRUE(opened.ok()) << opened.error().detail;
    store_ = std::move(opened).value();
    Lead();
  }
  void Lead() {
    const auto lease = store_->Lead("durability", std::chrono::milliseconds(1000));
    ASSERT_TRUE(lease.ok()) << lease.error().detail;
    epoch_ = lease->epoch;
  }
  // Ends the writer's session and waits until its server process is gone.
  void EndWriter() {
    EXPECT_EQ(RunSql(url_,
                     "select bool_and(pg_terminate_backend(pid, 60000)) from pg_stat_activity "
                     "where application_name = 'musterd writer' and datname = current_database()"),
              "t");
  }
  std::string url_;
  std::unique_ptr<Store> store_;
  Epoch epoch_;
};

TEST_F(Durability, AnAnswerComesOnlyAfterItsCommit) {
  // Another session must already see the job when the answer arrives: on the writer's own thread,
  // at once.
  pqxx::connection other(url_);
  std::promise<void> all;
  int answered = 0, seen = 0;
  constexpr int kCalls = 50;
  for (int call = 1; call <= kCalls; ++call) {
    store_->Accept(epoch_, {MakeNew(DraftJob(call))}, [&, call](const Result<Answers>& answers) {
      ++answered;
      pqxx::nontransaction work(other);
      const auto rows = work.exec("select 1 from jobs where id = " + std::to_string(call));
      if (answers.ok() && (*answers)[0].ok() && rows.size() == 1) ++seen;
      if (call == kCalls) all.set_value();
    });
  }
  all.get_future().get();
  EXPECT_EQ(answered, kCalls);
  EXPECT_EQ(seen, kCalls);
}

TEST_F(Durability, WhatGathersDuringOneCommitIsWrittenTogether) {
  const auto transactions = [&] {
    return std::stoll(RunSql(url_, "select last_group from leader"));
  };
  const std::int64_t before = transactions();
  std::promise<void> all;
  std::atomic<int> left{2000};
  for (int call = 1; call <= 2000; ++call) {
    store_->Accept(epoch_, {MakeNew(DraftJob(call))}, [&](const Result<Answers>& answers) {
      EXPECT_TRUE(answers.ok());
      if (--left == 0) all.set_value();
    });
  }
  all.get_future().get();
  EXPECT_LT(transactions() - before, 1000) << "2,000 calls must share transactions";
  EXPECT_EQ(RunSql(url_, "select count(*) from jobs"), "2000");
  EXPECT_EQ(RunSql(url_, "select count(*) from job_state"), "2000");
}

TEST_F(Durability, AGroupWithABadCommitKeepsItsGoodNeighbours) {
  std::promise<Result<CommitVersion>> bad;
  std::promise<Result<Answers>> good;
  std::vector<NewJob> many;
  for (int id = 1; id <= 900; ++id) many.push_back(MakeNew(DraftJob(id)));
  store_->Accept(epoch_, std::move(many),
                 [](const Result<Answers>&) {});  // the rest gathers behind it
  PlanCommit commit;
  commit.usage = {{"team-a", "spot", "cpu", -5}};
  store_->Commit(epoch_, commit,
                 [&](Result<CommitVersion> version) { bad.set_value(std::move(version)); });
  store_->Accept(epoch_, {MakeNew(DraftJob(901))},
                 [&](Result<Answers> answers) { good.set_value(std::move(answers)); });
  const auto refused = bad.get_future().get();
  const auto accepted = good.get_future().get();
  EXPECT_FALSE(refused.ok());
  ASSERT_TRUE(accepted.ok());
  EXPECT_TRUE((*accepted)[0].ok());
  EXPECT_EQ(RunSql(url_, "select count(*) from jobs"), "901");
}

TEST_F(Durability, ALostSessionIsResolvedByAskingTheDatabase) {
  // The transaction waits for a lock when its session is ended from outside: nothing was written,
  // and that is known.
  pqxx::connection other(url_);
  auto blocker = std::make_unique<pqxx::work>(other);
  blocker->exec("lock table job_state in exclusive mode");
  auto answer = std::make_shared<std::promise<Result<Answers>>>();
  auto future = answer->get_future();
  store_->Accept(epoch_, {MakeKeyed(DraftJob(1), "k", 1)},
                 [answer](Result<Answers> answers) { answer->set_value(std::move(answers)); });
  const std::string waits =
      "select count(*) from pg_stat_activity where application_name = 'musterd writer' "
      "and wait_event_type = 'Lock' and datname = current_database()";
  for (int i = 0; i < 100'000 && RunSql(url_, waits) != "1"; ++i) {
  }
  EndWriter();
  blocker.reset();
  const auto answers = future.get();
  ASSERT_FALSE(answers.ok());
  EXPECT_EQ(answers.error().code, Code::kUnavailable) << answers.error().detail;
  EXPECT_EQ(RunSql(url_, "select count(*) from jobs"), "0");
  EXPECT_EQ(AcceptNow(*store_, epoch_, {MakeNew(DraftJob(2))}).error().code, Code::kAborted);
  Lead();
  MustAccept(*store_, epoch_, DraftJob(1));
}

TEST_F(Durability, ADatabaseThatTurnsReadOnlyIsUnavailableAndHealsByItself) {
  RunSql(url_, "alter role muster in database " + RunSql(url_, "select current_database()") +
                   " set default_transaction_read_only = on");
  EndWriter();
  EXPECT_FALSE(AcceptNow(*store_, epoch_, {MakeNew(DraftJob(1))}).ok());
  const auto lease = store_->Lead("durability", std::chrono::milliseconds(0));
  ASSERT_FALSE(lease.ok());
  EXPECT_EQ(lease.error().code, Code::kUnavailable);
  EXPECT_EQ(lease.error().detail, "the database is read-only; nothing was written");
  // From another database, where the role may still write.
  RunSql(SharedServer().url(), "alter role muster in database " +
                                   RunSql(url_, "select current_database()") +
                                   " reset default_transaction_read_only");
  EndWriter();
  Lead();
  MustAccept(*store_, epoch_, DraftJob(1));
}

}  // namespace
}  // namespace muster::test
