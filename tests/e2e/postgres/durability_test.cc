// Group commit on a real server: answers come only after the commit, lost answers are resolved, and
// errors of the environment are told from errors of an item.
#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <future>

#include <pqxx/pqxx>

#include "schedd/base/limits_observer.h"
#include "schedd/store/pg/pg_store.h"
#include "tests/contract/store/database_faults.h"
#include "tests/contract/store/store_fixtures.h"
#include "tests/contract/store/test_server.h"

namespace muster::test {
namespace {

class Durability : public ::testing::Test {
 protected:
  void SetUp() override {
    url_ = FreshDatabase(SharedServer());
    PgStoreOptions options;
    options.url = AsRole(url_, "muster_daemon");
    options.owner_url = AsRole(url_, "muster_owner");
    options.resolve_ms = 60'000;  // for machines that are busy
    options.health = &health_;
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
  // Returns when the writer's session waits for somebody else's lock.
  void AwaitBlockedWriter() {
    const std::string waits =
        "select count(*) from pg_stat_activity where application_name = 'musterd writer' "
        "and wait_event_type = 'Lock' and datname = current_database()";
    for (int i = 0; i < 100'000 && RunSql(url_, waits) != "1"; ++i) {
    }
  }
  // Posts one Accept; its answer, and its place among all answers, come later.
  struct PostedGroup {
    std::promise<Result<Answers>> promise;
    std::future<Result<Answers>> answers = promise.get_future();
    std::atomic<int> place{0};
  };
  std::shared_ptr<PostedGroup> Post(std::vector<NewJob> jobs) {
    auto posted = std::make_shared<PostedGroup>();
    store_->Accept(epoch_, std::move(jobs), [this, posted](Result<Answers> answers) {
      posted->place = ++answered_;
      posted->promise.set_value(std::move(answers));
    });
    return posted;
  }
  std::string Problem() { return health_.Problem(StoreHealth::Clock::now(), {}); }
  std::atomic<int> answered_{0};
  StoreHealth health_;
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
      // Over before the test may end, and `other` with it.
      const auto rows =
          pqxx::nontransaction(other).exec("select 1 from jobs where id = " + std::to_string(call));
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

TEST_F(Durability, ABadCommitKeepsWhatWasBeforeItAndEndsTheLead) {
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
  // What was decided after a commit that failed counts on it: nothing more of its epoch is written.
  ASSERT_FALSE(accepted.ok());
  EXPECT_EQ(accepted.error().code, Code::kAborted);
  EXPECT_EQ(RunSql(url_, "select count(*) from jobs"), "900");
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
  AwaitBlockedWriter();
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

TEST_F(Durability, AGroupSentBehindABadOne_IsKept_AndAnsweredAfterIt) {
  // The first group cannot end before the second one is on its way behind it.
  MustAccept(*store_, epoch_, DraftJob(1));
  pqxx::connection other(url_);
  auto blocker = std::make_unique<pqxx::work>(other);
  blocker->exec("lock table job_state in exclusive mode");
  auto twice = DraftJob(3);
  twice->uid = DraftJob(1)->uid;  // taken: fails its whole group
  const auto first = Post({MakeNew(DraftJob(2)), MakeNew(twice), MakeNew(DraftJob(4))});
  AwaitBlockedWriter();
  const auto second = Post({MakeNew(DraftJob(5)), MakeNew(DraftJob(6)), MakeNew(DraftJob(7)),
                            MakeNew(DraftJob(8, "job-1"))});
  const auto third = Post({MakeNew(DraftJob(9))});
  blocker.reset();
  const auto bad = first->answers.get(), good = second->answers.get(), last = third->answers.get();
  ASSERT_TRUE(bad.ok() && good.ok() && last.ok());
  EXPECT_TRUE((*bad)[0].ok() && (*bad)[2].ok());
  EXPECT_EQ((*bad)[1].error().code, Code::kFailedPrecondition);
  EXPECT_TRUE((*good)[0].ok() && (*good)[1].ok() && (*good)[2].ok());
  EXPECT_EQ((*good)[3].error().code, Code::kAlreadyExists);
  EXPECT_LT(first->place, second->place);
  EXPECT_LT(second->place, third->place);
  EXPECT_EQ(RunSql(url_, "select id from jobs order by id"), "1,2,4,5,6,7,9");
}

TEST_F(Durability, ALostSessionWithTwoGroupsUnderWay_IsResolvedForBoth) {
  pqxx::connection other(url_);
  auto blocker = std::make_unique<pqxx::work>(other);
  blocker->exec("lock table job_state in exclusive mode");
  const auto first = Post({MakeNew(DraftJob(1))});
  AwaitBlockedWriter();
  const auto second = Post({MakeNew(DraftJob(2))});
  EndWriter();
  blocker.reset();
  for (const auto& posted : {first, second}) {
    const auto answers = posted->answers.get();
    ASSERT_FALSE(answers.ok());
    EXPECT_TRUE(answers.error().code == Code::kUnavailable ||
                answers.error().code == Code::kAborted)  // it was sent after the loss was seen
        << answers.error().detail;
  }
  EXPECT_EQ(RunSql(url_, "select count(*) from jobs"), "0");
  Lead();
  MustAccept(*store_, epoch_, DraftJob(1));
  MustAccept(*store_, epoch_, DraftJob(2));
}

TEST_F(Durability, AGroupUnderWayOfAPassedEpoch_WritesNothing_NorDoesTheOneBehindIt) {
  pqxx::connection other(url_);
  auto leader = std::make_unique<pqxx::work>(other);  // another daemon takes over at this moment
  leader->exec("update leader set epoch = epoch + 1");
  const auto first = Post({MakeNew(DraftJob(1))});
  AwaitBlockedWriter();
  const auto second = Post({MakeNew(DraftJob(2))});
  leader->commit();
  EXPECT_EQ(first->answers.get().error().code, Code::kAborted);
  EXPECT_EQ(second->answers.get().error().code, Code::kAborted);
  EXPECT_EQ(RunSql(url_, "select count(*) from jobs"), "0");
}

TEST_F(Durability, AChangeBehindGroupsUnderWay_IsWrittenAfterThem) {
  pqxx::connection other(url_);
  auto blocker = std::make_unique<pqxx::work>(other);
  blocker->exec("lock table job_state in exclusive mode");
  const auto first = Post({MakeNew(DraftJob(1))});
  AwaitBlockedWriter();
  const auto second = Post({MakeNew(DraftJob(2))});
  std::promise<std::string> seen;  // what the change found when it was answered
  PlanCommit commit;
  commit.deleted_jobs = {JobId{1}, JobId{2}};
  auto ended = EndedCopy(*DraftJob(1), JobState::kSucceeded, 0);
  auto ended_too = EndedCopy(*DraftJob(2), JobState::kSucceeded, 0);
  commit.jobs = {ended, ended_too};
  store_->Commit(epoch_, commit, [&](const Result<CommitVersion>& version) {
    seen.set_value(version.ok() ? std::to_string(answered_) : version.error().detail);
  });
  const auto third = Post({MakeNew(DraftJob(3))});
  blocker.reset();
  EXPECT_EQ(seen.get_future().get(), "2");
  EXPECT_TRUE(first->answers.get().ok() && second->answers.get().ok() && third->answers.get().ok());
  EXPECT_EQ(RunSql(url_, "select job_id from job_state where deleted_at is not null order by 1"),
            "1,2");
}

TEST_F(Durability, AGroupOfJobsAndAChange_IsNotCalledWritten_BecauseAnotherLeaderHasItsNumbers) {
  MustAccept(*store_, epoch_, DraftJob(900));
  LockedTable jobs(url_, "job_state"), usage(url_, "quota_usage");
  const auto first = Post({MakeNew(DraftJob(1))});
  AwaitWriter(url_, "Lock");
  PlanCommit commit;
  commit.usage = {{"team-a", "spot", "cpu", 7}};
  std::promise<Result<CommitVersion>> version;
  const auto second = Post({MakeNew(DraftJob(2))});
  store_->Commit(epoch_, commit, [&](Result<CommitVersion> v) { version.set_value(std::move(v)); });
  jobs.Release();
  ASSERT_TRUE(first->answers.get().ok());
  AwaitWriter(url_, "Lock");  // the change, and perhaps job 2 with it
  Overtaker other(url_, 900, {3});
  const auto third = Post({MakeNew(DraftJob(3))});
  EndWriter();
  other.Await();
  usage.Release();
  EXPECT_EQ(version.get_future().get().error().code, Code::kUnavailable);
  EXPECT_FALSE(third->answers.get().ok());
  const auto answers = second->answers.get();
  EXPECT_EQ(answers.ok(), store_->FindJob(DraftJob(2)->uid).ok());
  EXPECT_EQ(RunSql(url_, "select count(*) from quota_usage"), "0");
}

TEST_F(Durability, AWarningMakesTheOutcomeUnknown_AndItIsAskedFor) {
  RunSql(url_,
         "create function warns() returns trigger language plpgsql as $$ begin raise warning "
         "'something is wrong'; return null; end $$");
  RunSql(url_,
         "create trigger warns after insert on jobs for each statement execute function warns()");
  // It was written, and this is known from a session that nothing warned.
  EXPECT_TRUE(AcceptNow(*store_, epoch_, {MakeNew(DraftJob(1))}).ok());
  EXPECT_EQ(RunSql(url_, "select count(*) from jobs"), "1");
  EXPECT_EQ(AcceptNow(*store_, epoch_, {MakeNew(DraftJob(2))}).error().code, Code::kAborted)
      << "the session that was warned leads no more";
  EXPECT_NE(Problem(), "");
  RunSql(url_, "drop trigger warns on jobs");
  RunSql(url_,
         "create trigger notes after insert on jobs for each statement execute function warns()");
  RunSql(url_,
         "create or replace function warns() returns trigger language plpgsql as $$ begin raise "
         "info 'nothing is wrong'; return null; end $$");
  Lead();
  EXPECT_EQ(Problem(), "");
  MustAccept(*store_, epoch_, DraftJob(3));
  MustAccept(*store_, epoch_, DraftJob(4));
}

TEST_F(Durability, ACancelledWaitForAStandby_IsNoAnswer_NorIsTheSecondOne) {
  AbsentStandby standby(url_);
  const auto posted = Post({MakeNew(DraftJob(1))});
  for (int cancelled = 0; cancelled < 3; ++cancelled) {
    AwaitWriter(url_, "SyncRep");
    CancelWriter(url_);
    EXPECT_EQ(posted->answers.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout)
        << "no standby has it";
  }
  standby.Return();
  const auto answers = posted->answers.get();
  ASSERT_TRUE(answers.ok()) << answers.error().detail;
  EXPECT_TRUE((*answers)[0].ok());
  EXPECT_EQ(AcceptNow(*store_, epoch_, {MakeNew(DraftJob(2))}).error().code, Code::kAborted);
  Lead();
  MustAccept(*store_, epoch_, DraftJob(2));
}

TEST_F(Durability, AnEndedSession_IsNoticedWithoutAWrite) {
  EXPECT_EQ(Problem(), "");
  EndWriter();
  for (int i = 0; i < 6000 && Problem().empty(); ++i) usleep(10'000);
  EXPECT_EQ(Problem(), "the connection to the database was lost");
  Lead();
  EXPECT_EQ(Problem(), "");
}

TEST_F(Durability, RefusedJobsAreAProblem_ThoughTheLeadIsKept_UntilJobsAreWrittenAgain) {
  RunSql(url_, "alter table jobs rename to jobs_of_old");
  const auto refused = AcceptNow(*store_, epoch_, {MakeNew(DraftJob(1))});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_EQ(Problem(), refused.error().detail);
  RunSql(url_, "alter table jobs_of_old rename to jobs");
  MustAccept(*store_, epoch_, DraftJob(1));
  EXPECT_EQ(Problem(), "");
}

TEST_F(Durability, RefusedJobsAreTriedAgain_UntilTheDatabaseWouldTakeThem) {
  struct {
    const char* text;
    const char* breaks;
    const char* mends;
    const char* breaks_too;  // another fault, found only once the first one is mended
    const char* mends_too;
  } const cases[] = {
      {"jobs have no table, then the audit trail has none",
       "alter table jobs rename to jobs_of_old", "alter table jobs_of_old rename to jobs",
       "alter table audit rename to audit_of_old", "alter table audit_of_old rename to audit"},
      {"keys have no table, then the audit trail takes no rows",
       "alter table idempotency_keys rename to keys_of_old",
       "alter table keys_of_old rename to idempotency_keys",
       "revoke insert on audit from muster_daemon", "grant insert on audit to muster_daemon"},
  };
  int number = 0;
  for (const auto& one : cases) {
    RunSql(url_, one.breaks);
    NewJob job = MakeNew(DraftJob(++number));
    job.idempotency = IdempotencyKey{"scope", "key", 1};
    const std::string before = RunSql(url_, "select count(*) from job_state");
    const auto refused = AcceptNow(*store_, epoch_, {job});
    ASSERT_FALSE(refused.ok()) << one.text;
    RunSql(url_, one.breaks_too);
    RunSql(url_, one.mends);
    usleep(2 * limits::kTrialEveryMs * 1000);
    EXPECT_NE(Problem(), "") << one.text;
    RunSql(url_, one.mends_too);
    for (int i = 0; i < 6000 && !Problem().empty(); ++i) usleep(10'000);
    EXPECT_EQ(Problem(), "") << one.text;
    EXPECT_EQ(RunSql(url_, "select count(*) from job_state"), before);
    MustAccept(*store_, epoch_, DraftJob(number));
  }
}

TEST_F(Durability, ADatabaseThatTurnsReadOnlyIsUnavailableAndHealsByItself) {
  RunSql(url_, "alter role muster_daemon in database " + RunSql(url_, "select current_database()") +
                   " set default_transaction_read_only = on");
  EndWriter();
  EXPECT_FALSE(AcceptNow(*store_, epoch_, {MakeNew(DraftJob(1))}).ok());
  const auto lease = store_->Lead("durability", std::chrono::milliseconds(0));
  ASSERT_FALSE(lease.ok());
  EXPECT_EQ(lease.error().code, Code::kUnavailable);
  EXPECT_EQ(lease.error().detail,
            "the database cannot be reached, or takes no writes: connection_failed in the daemon's "
            "log says why");
  RunSql(url_, "alter role muster_daemon in database " + RunSql(url_, "select current_database()") +
                   " reset default_transaction_read_only");
  Lead();
  MustAccept(*store_, epoch_, DraftJob(1));
}

}  // namespace
}  // namespace muster::test
