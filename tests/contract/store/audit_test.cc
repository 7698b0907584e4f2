// The audit trail of both stores: rows with submissions, the chain, filters, retention; and that
// PostgreSQL refuses every other change of it (rules U30, U31, U35).
#include <chrono>
#include <pqxx/pqxx>

#include "schedd/model/audit_chain.h"
#include "schedd/store/pg/pg_store.h"
#include "schedd/telemetry/metrics.h"
#include "tests/contract/store/contract.h"
#include "tests/contract/store/store_fixtures.h"
#include "tests/contract/store/test_server.h"
#include "tests/support/fake_clock.h"

namespace muster::test {
namespace {

using AuditContract = StoreContract;

constexpr std::int64_t kDayUs = 86'400'000'000;

AuditRow RowAt(std::int64_t us, const std::string& user, const std::string& object) {
  AuditRow row;
  row.time = {us};
  row.user = user;
  row.method = "unix";
  row.verb = "create";
  row.object = object;
  return row;
}

std::int64_t NowUs() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Result<Answers> AcceptAudited(Store& store, Epoch epoch, std::vector<NewJob> jobs,
                              std::vector<AuditRow> audit) {
  auto promise = std::make_shared<std::promise<Result<Answers>>>();
  auto future = promise->get_future();
  store.Accept(epoch, std::move(jobs), std::move(audit),
               [promise](Result<Answers> answers) { promise->set_value(std::move(answers)); });
  return future.get();
}

// What is wrong with the trail; "" if nothing is.
std::string Problem(Store& store) {
  const auto anchor = store.ReadAuditAnchor();
  const auto rows = store.ReadAudit(AuditQuery{});
  if (!anchor.ok() || !rows.ok()) return "it cannot be read";
  AuditVerifier verifier(*anchor);
  for (const AuditRow& row : *rows) {
    const std::string problem = verifier.Check(row);
    if (!problem.empty()) return problem;
  }
  return "";
}

TEST_P(AuditContract, RowsOfSubmissionsAreWrittenWithTheJobs) {
  AuditRow row = RowAt(5, "ada", "job/default/job-1");
  row.groups = {"users", "a \"quoted\" one"};
  row.impersonator = "root";
  row.source = "unix:0";
  row.request_id = "r1";
  row.new_version = 1;
  row.detail = "job 1";
  const auto answers = AcceptAudited(store(), epoch(), {MakeNew(DraftJob(1))}, {row});
  ASSERT_TRUE(answers.ok() && answers->size() == 1 && answers->front().ok());
  const auto rows = store().ReadAudit(AuditQuery{});
  ASSERT_EQ(rows->size(), 1U);
  const AuditRow& read = rows->front();
  EXPECT_EQ(read.id, 1);
  EXPECT_EQ(read.prev, AuditGenesis());
  row.id = read.id;
  EXPECT_EQ(CanonicalAuditRow(read), CanonicalAuditRow(row));
  EXPECT_EQ(read.hash, AuditHash(read.prev, row));
}

TEST_P(AuditContract, ABadJobHarmsNeitherTheRowsNorTheOtherJobs) {
  MustAccept(store(), epoch(), DraftJob(1, "taken"));
  auto clash = DraftJob(3);
  clash->accept_seq = 1;  // a number that is taken: the whole group is written in parts
  const auto answers = AcceptAudited(
      store(), epoch(),
      {MakeNew(DraftJob(2)), MakeNew(clash), MakeNew(DraftJob(4, "taken")), MakeNew(DraftJob(5))},
      {RowAt(1, "ada", "job/default/2"), RowAt(2, "bob", "job/default/5")});
  ASSERT_TRUE(answers.ok());
  ASSERT_EQ(answers->size(), 4U);
  EXPECT_TRUE((*answers)[0].ok());
  EXPECT_FALSE((*answers)[1].ok());
  EXPECT_FALSE((*answers)[2].ok());
  EXPECT_TRUE((*answers)[3].ok());
  EXPECT_EQ(store().ReadAudit(AuditQuery{})->size(), 2U);
  EXPECT_EQ(Problem(store()), "");
}

// The database takes the jobs and refuses the rows, whatever the reason: then there are no jobs.
TEST_P(AuditContract, NoJobIsWrittenWithoutItsRows) {
  if (url().empty()) return;
  RunSql(url(), "alter table audit add constraint no_eve check (user_name <> 'eve') not valid");
  const auto refused = AcceptAudited(
      store(), epoch(),
      {MakeNew(DraftJob(1)), MakeNew(DraftJob(2)), MakeNew(DraftJob(3)), MakeNew(DraftJob(4))},
      {RowAt(1, "eve", "job/default")});
  ASSERT_TRUE(refused.ok());
  ASSERT_EQ(refused->size(), 4U);
  for (const auto& answer : *refused) EXPECT_FALSE(answer.ok());
  const auto taken = AcceptAudited(store(), epoch(), {MakeNew(DraftJob(5)), MakeNew(DraftJob(6))},
                                   {RowAt(2, "ada", "job/default")});
  ASSERT_TRUE(taken.ok() && taken->front().ok() && taken->back().ok());
  const auto jobs = store().ReadJobs(JobQuery{});
  ASSERT_TRUE(jobs.ok());
  ASSERT_EQ(jobs->size(), 2U);
  EXPECT_EQ(jobs->front()->id.value, 5);
  EXPECT_EQ(store().ReadAudit(AuditQuery{})->size(), 1U);
  EXPECT_EQ(Problem(store()), "");
}

// The end of the trail is read before the first write of a lead. If that fails, the plan is lost,
// and a later plan of the same epoch may depend on it.
TEST_P(AuditContract, APlanThatFailsForTheTrailEndsTheEpoch) {
  if (url().empty()) return;
  RunSql(url(), "alter table audit_anchor rename to elsewhere");
  PlanCommit commit;
  commit.audit = {RowAt(1, "ada", "clusterqueue/a")};
  EXPECT_FALSE(CommitNow(store(), epoch(), commit).ok());
  RunSql(url(), "alter table elsewhere rename to audit_anchor");
  const auto later = CommitNow(store(), epoch(), commit);
  ASSERT_FALSE(later.ok());
  EXPECT_EQ(later.error().code, Code::kAborted);
  NewLead();
  MustCommit(commit);
  EXPECT_EQ(Problem(store()), "");
}

// Groups of submissions follow one another without waiting, and some of them fail.
TEST_P(AuditContract, TheChainGoesOnOverManyGroupsPlansAndLeads) {
  std::vector<std::future<Result<Answers>>> answers;
  for (std::int64_t call = 1; call <= 300; ++call) {
    auto job = DraftJob(call);
    if (call % 50 == 0) job->accept_seq = 1;
    auto promise = std::make_shared<std::promise<Result<Answers>>>();
    answers.push_back(promise->get_future());
    store().Accept(epoch(), {MakeNew(job)}, {RowAt(call, "ada", "job/default/x")},
                   [promise](Result<Answers> got) { promise->set_value(std::move(got)); });
  }
  for (auto& answer : answers) EXPECT_TRUE(answer.get().ok());
  PlanCommit commit;
  commit.audit = {RowAt(301, "bob", "clusterqueue/a"), RowAt(302, "bob", "clusterqueue/b")};
  MustCommit(commit);
  NewLead();
  MustCommit(commit);
  EXPECT_EQ(store().ReadAudit(AuditQuery{})->size(), 304U);
  EXPECT_EQ(Problem(store()), "");
}

TEST_P(AuditContract, EachFilterNarrowsTheTrail) {
  PlanCommit commit;
  commit.audit = {RowAt(10, "ada", "job/a/x"), RowAt(20, "bob", "job/a/y"),
                  RowAt(30, "ada", "job/ab/z"), RowAt(40, "ada", "clusterqueue/a")};
  commit.audit[3].verb = "delete";
  MustCommit(commit);
  const auto times = [&](const AuditQuery& query) {
    std::vector<std::int64_t> found;
    const auto rows = store().ReadAudit(query);
    for (const AuditRow& row : *rows) found.push_back(row.time.us);
    return found;
  };
  using Times = std::vector<std::int64_t>;
  AuditQuery query;
  EXPECT_EQ(times(query), (Times{10, 20, 30, 40}));
  query.since = {20};
  query.until = {40};
  EXPECT_EQ(times(query), (Times{20, 30}));
  query = {};
  query.user = "ada";
  EXPECT_EQ(times(query), (Times{10, 30, 40}));
  query.verb = "delete";
  EXPECT_EQ(times(query), (Times{40}));
  query = {};
  query.object = "job/a/";
  EXPECT_EQ(times(query), (Times{10, 20}));
  query.object = "job/a/x";
  EXPECT_EQ(times(query), (Times{10}));
  query = {};
  query.limit = 2;
  EXPECT_EQ(times(query), (Times{10, 20}));
  query.last = true;
  EXPECT_EQ(times(query), (Times{30, 40}));
  query.last = false;
  query.after = 2;
  EXPECT_EQ(times(query), (Times{30, 40}));
}

TEST_P(AuditContract, RetentionLeavesAnAnchorAndAWholeChain) {
  const std::int64_t now = NowUs();
  PlanCommit commit;
  commit.audit = {RowAt(now - 5 * kDayUs, "ada", "a"), RowAt(now - 3 * kDayUs, "ada", "b"),
                  RowAt(now - 3'600'000'000, "ada", "c"), RowAt(now, "ada", "d")};
  MustCommit(commit);
  const std::string second = store().ReadAudit(AuditQuery{})->at(1).hash;
  PlanCommit removal;
  removal.forget_audit_before = {now};
  MustCommit(removal);
  const auto rows = store().ReadAudit(AuditQuery{});
  ASSERT_EQ(rows->size(), 2U) << "the last day stays, whatever is asked for";
  EXPECT_EQ(rows->front().object, "c");
  EXPECT_EQ(store().ReadAuditAnchor()->last_id, 2);
  EXPECT_EQ(store().ReadAuditAnchor()->hash, second);
  EXPECT_EQ(Problem(store()), "");
  MustCommit(removal);
  commit.audit.resize(1);
  MustCommit(commit);
  EXPECT_EQ(Problem(store()), "");
  EXPECT_EQ(store().ReadAudit(AuditQuery{})->size(), 3U);
}

// What an administrator does: exports the trail, lets retention remove its beginning, goes on.
TEST_P(AuditContract, WhatWasExportedAndRemoved_AndWhatIsLeft_AreOneChain) {
  // Whole days are removed.
  const std::int64_t today = NowUs() - NowUs() % kDayUs;
  PlanCommit commit;
  for (int day = 6; day >= 0; --day)
    commit.audit.push_back(RowAt(today - day * kDayUs, "ada", "day-" + std::to_string(day)));
  MustCommit(commit);
  std::vector<AuditRow> exported = *store().ReadAudit(AuditQuery{});
  for (const int kept : {4, 2}) {
    PlanCommit removal;
    removal.forget_audit_before = {today - kept * kDayUs};
    MustCommit(removal);
    PlanCommit more;
    more.audit = {RowAt(today, "bob", "later")};
    MustCommit(more);
  }
  NewLead();
  const AuditAnchor anchor = *store().ReadAuditAnchor();
  const std::vector<AuditRow> left = *store().ReadAudit(AuditQuery{});
  ASSERT_EQ(left.size(), 5U);
  EXPECT_EQ(Problem(store()), "") << "what is left begins at the anchor";
  // The exported rows lead exactly there, and then on.
  exported.resize(static_cast<std::size_t>(anchor.last_id));
  EXPECT_EQ(exported.back().object, "day-3");
  const auto whole = [&](const std::vector<AuditRow>& removed) -> std::string {
    AuditVerifier verifier({0, AuditGenesis()});
    for (const auto* part : {&removed, &left}) {
      for (const AuditRow& row : *part) {
        if (std::string problem = verifier.Check(row); !problem.empty()) return problem;
      }
    }
    return verifier.checked() == 9 ? "" : "rows were passed over";
  };
  EXPECT_EQ(whole(exported), "");
  EXPECT_EQ(exported.back().hash, anchor.hash);
  std::vector<AuditRow> forged = exported;
  forged[1].user = "eve";
  EXPECT_NE(whole(forged), "");
  forged = exported;
  forged.pop_back();
  EXPECT_NE(whole(forged), "") << "the last exported row is missing";
  // Nobody may move the beginning on without removing rows, or have it begin anew.
  AuditVerifier moved({anchor.last_id + 1, anchor.hash}), anew({0, AuditGenesis()});
  EXPECT_TRUE(moved.Check(left[0]).empty() && !moved.Check(left[1]).empty());
  EXPECT_FALSE(anew.Check(left.front()).empty());
}

// With the daemon's own rights, which are all rights in this test's database.
TEST_P(AuditContract, PostgresRefusesEveryOtherChange) {
  if (url().empty()) return;
  PlanCommit commit;
  commit.audit = {RowAt(NowUs() - 9 * kDayUs, "ada", "a"), RowAt(NowUs(), "ada", "b")};
  MustCommit(commit);
  pqxx::connection connection(url());
  for (const char* statement :
       {"update audit set user_name = 'eve'", "delete from audit", "delete from audit where id = 1",
        "truncate audit", "truncate audit cascade", "update audit_anchor set last_id = 1",
        "delete from audit_anchor", "truncate audit_anchor",
        "insert into audit_anchor (last_id, hash) select id, hash from audit where id = 2",
        "insert into audit_anchor (last_id, hash) values (1, decode(repeat('11', 32), 'hex'))",
        "insert into audit (id, time, user_name, method, verb, object, detail, prev, hash) values "
        "(9, 1, 'eve', '', '', '', '', decode(repeat('00', 32), 'hex'), decode(repeat('00', 32), "
        "'hex'))",
        "insert into audit (id, time, user_name, method, verb, object, detail) values (3, 1, "
        "'eve', '', '', '', '')"}) {
    pqxx::work work(connection);
    EXPECT_THROW(work.exec(statement), pqxx::sql_error) << statement;
  }
  EXPECT_EQ(store().ReadAudit(AuditQuery{})->size(), 2U);
  EXPECT_EQ(Problem(store()), "");
}

// The writer compares what waits with what is under way: a row of the trail with each submission
// must not make a group look twice as large as the next one.
TEST(AuditedGroups, AGroupIsAsLargeAsItsJobs) {
  FakeClock clock;
  Metrics metrics;
  PgStoreOptions options;
  options.url = FreshDatabase(SharedServer());
  options.clock = &clock;
  options.metrics = &metrics;
  const auto store = OpenPgStore(options);
  ASSERT_TRUE(store.ok());
  const auto lease = LeadPatiently(**store);
  ASSERT_TRUE(lease.ok());
  std::vector<NewJob> jobs;
  for (int id = 1; id <= 3; ++id) jobs.push_back(MakeNew(DraftJob(id)));
  const auto answers =
      AcceptAudited(**store, lease->epoch, std::move(jobs), {RowAt(1, "ada", "jobs")});
  ASSERT_TRUE(answers.ok());
  const std::string shown = metrics.Expose();
  EXPECT_NE(shown.find("muster_group_commit_rows_sum 3\n"), std::string::npos) << shown;
}

TEST_P(AuditContract, NothingGoesBeforeTheAgeThatTheOwnerHasSet) {
  if (url().empty()) return;
  const std::string owner = AsRole(url(), "muster_owner"), daemon = AsRole(url(), "muster_daemon");
  PlanCommit commit;
  commit.audit = {RowAt(NowUs() - 9 * kDayUs, "ada", "a"), RowAt(NowUs() - 5 * kDayUs, "ada", "b"),
                  RowAt(NowUs(), "ada", "c")};
  MustCommit(commit);
  const std::string all = "select muster_forget_audit(9223372036854775807, 1000000000)";
  ASSERT_TRUE(pg::KeepAuditFor(owner, 0).ok());
  EXPECT_EQ(RunSql(daemon, all), "0") << "without retention all stay";
  ASSERT_TRUE(pg::KeepAuditFor(owner, 7 * kDayUs / 1000).ok());
  EXPECT_EQ(RunSql(daemon, all), "1");
  EXPECT_EQ(store().ReadAudit(AuditQuery{})->front().object, "b");
  EXPECT_TRUE(pg::KeepAuditFor(daemon, 7 * kDayUs / 1000).ok()) << "there is nothing to change";
  EXPECT_EQ(pg::KeepAuditFor(daemon, kDayUs / 1000).error().code, Code::kFailedPrecondition);
  EXPECT_THROW(RunSql(daemon, "update audit_policy set min_age_ms = 1"), pqxx::sql_error);
  EXPECT_EQ(RunSql(daemon, all), "0");
  EXPECT_EQ(Problem(store()), "");
}

INSTANTIATE_TEST_SUITE_P(Stores, AuditContract, ::testing::Values("memory", "postgres"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace muster::test
