// Migrations on a real server, and the constraints that the database enforces.
#include "schedd/store/pg/migrator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include <pqxx/pqxx>

#include "schedd/store/pg/pg_store.h"
#include "tests/contract/store/test_server.h"

namespace muster::test {
namespace {

// Every column, constraint and index as text.
std::string SchemaOf(const std::string& url) {
  return RunSql(url,
                "select table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable "
                "|| ' ' || "
                "coalesce(column_default, '') from information_schema.columns where table_schema = "
                "'public' "
                "order by table_name, ordinal_position") +
         "\n" +
         RunSql(
             url,
             "select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) from "
             "pg_constraint where connamespace = 'public'::regnamespace order by 1") +
         "\n" +
         RunSql(url, "select indexdef from pg_indexes where schemaname = 'public' order by 1") +
         "\n" +
         RunSql(
             url,
             "select proname from pg_proc where pronamespace = 'public'::regnamespace order by 1");
}

// Takes back everything above `target`, whatever data would go.
void MigrateDown(const std::string& url, int target) {
  const Status done = pg::MigrateDown(url, target, true, pg::EmbeddedMigrations(), 0);
  EXPECT_TRUE(done.ok()) << done.error().detail;
}

TEST(Migrations, UpDownAndUpAgainGiveTheSameSchema) {
  const std::string url = EmptyDatabase(SharedServer());
  ASSERT_TRUE(pg::MigrateUp(url).ok());
  const std::string first = SchemaOf(url);
  EXPECT_NE(first.find("job_state_live_name"), std::string::npos);
  MigrateDown(url, 0);
  EXPECT_EQ(
      RunSql(url, "select table_name from information_schema.tables where table_schema = 'public'"),
      "schema_migrations");
  EXPECT_EQ(RunSql(url, "select count(*) from pg_proc where pronamespace = 'public'::regnamespace"),
            "0");
  ASSERT_TRUE(pg::MigrateUp(url).ok());
  EXPECT_EQ(SchemaOf(url), first);
}

TEST(Migrations, EachStepCanBeTakenBackAlone) {
  const std::string url = EmptyDatabase(SharedServer());
  ASSERT_TRUE(pg::MigrateUp(url).ok());
  for (int target = static_cast<int>(pg::EmbeddedMigrations().size()) - 1; target >= 0; --target) {
    MigrateDown(url, target);
    EXPECT_EQ(RunSql(url, "select count(*) from schema_migrations"), std::to_string(target));
  }
}

TEST(Migrations, OneThatWouldTakeDataWithItIsNotTakenBack_NorAnyUnderALeader) {
  const std::string url = EmptyDatabase(SharedServer());
  ASSERT_TRUE(pg::MigrateUp(url).ok());
  const std::string first = SchemaOf(url);
  const Status below = pg::MigrateDown(url, pg::kLowestSchema - 1);
  ASSERT_FALSE(below.ok());
  EXPECT_NE(below.error().detail.find("migration 20 (steps) is not taken back"), std::string::npos);
  RunSql(url,
         "update leader set epoch = 1, holder = 'host', address = 'http://a', expires = now() + "
         "interval '1 hour'");
  const Status led = pg::MigrateDown(url, pg::kLowestSchema);
  ASSERT_FALSE(led.ok());
  EXPECT_NE(led.error().detail.find("the daemon on host at http://a leads this database"),
            std::string::npos);
  EXPECT_EQ(SchemaOf(url), first);
  RunSql(url, "update leader set released = true");
  EXPECT_TRUE(pg::MigrateDown(url, pg::kLowestSchema).ok());
  EXPECT_EQ(RunSql(url, "select max(number) from schema_migrations"), "20");
}

TEST(Migrations, TheyAreNumberedWithoutGaps) {
  int number = 0;
  for (const pg::Migration& migration : pg::EmbeddedMigrations()) {
    EXPECT_EQ(migration.number, ++number);
    EXPECT_THAT(migration.down,
                ::testing::AnyOf(::testing::HasSubstr("drop"), ::testing::HasSubstr("reset")))
        << migration.name;
  }
  EXPECT_GE(number, 4);
}

TEST(Migrations, TwoDaemonsMigrateOneAfterTheOther_AndTheOneThatWaitsCanBeStopped) {
  const std::string url = EmptyDatabase(SharedServer());
  pqxx::connection other(url);
  auto migrating = std::make_unique<pqxx::work>(other);
  migrating->exec("select pg_advisory_xact_lock(7205759403792793601)");
  const std::string waits =
      "select count(*) from pg_locks where locktype = 'advisory' and not granted and database = "
      "(select oid from pg_database where datname = current_database())";
  const auto await_waiting = [&] {
    for (int i = 0; i < 100'000 && RunSql(url, waits) != "1"; ++i) {
    }
  };
  std::stop_source stop;
  auto given_up = std::async(std::launch::async, [&] {
    return pg::MigrateUp(url, pg::EmbeddedMigrations(), stop.get_token());
  });
  await_waiting();
  stop.request_stop();
  EXPECT_EQ(given_up.get().error().code, Code::kCancelled);
  auto second = std::async(std::launch::async, [&] { return pg::MigrateUp(url); });
  await_waiting();
  EXPECT_EQ(RunSql(url, "select count(*) from pg_tables where tablename = 'jobs'"), "0");
  migrating.reset();
  EXPECT_TRUE(second.get().ok());
  EXPECT_EQ(RunSql(url, "select count(*) from pg_tables where tablename = 'jobs'"), "1");
}

TEST(Migrations, ANewerSchemaIsRefused) {
  const std::string url = EmptyDatabase(SharedServer());
  ASSERT_TRUE(pg::MigrateUp(url).ok());
  RunSql(url,
         "insert into schema_migrations (number, name, checksum) values (9999, 'future', 'x')");
  PgStoreOptions options;
  options.url = url;
  const auto opened = OpenPgStore(options);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, Code::kFailedPrecondition);
  EXPECT_NE(opened.error().detail.find("newer (9999) than this program knows"), std::string::npos);
}

TEST(Migrations, AnEditedMigrationIsRefused) {
  const std::string url = EmptyDatabase(SharedServer());
  std::vector<pg::Migration> migrations = {{1, "first", "create table t (a int)", "drop table t"}};
  ASSERT_TRUE(pg::MigrateUp(url, migrations).ok());
  migrations[0].up = "create table t (a bigint)";
  const Status refused = pg::MigrateUp(url, migrations);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().detail.find("migration 1 (first) was applied in another version"),
            std::string::npos);
}

TEST(Migrations, AFailingStepLeavesTheOnesBeforeItAndNothingOfItself) {
  const std::string url = EmptyDatabase(SharedServer());
  const std::vector<pg::Migration> migrations = {
      {1, "good", "create table good (a int)", "drop table good"},
      {2, "bad", "create table half (a int); select 1 / 0", "drop table half"}};
  EXPECT_FALSE(pg::MigrateUp(url, migrations).ok());
  EXPECT_EQ(RunSql(url,
                   "select table_name from information_schema.tables where table_schema = 'public' "
                   "order by 1"),
            "good,schema_migrations");
}

// The columns that are given; the others are generated.
#define MUSTER_TEST_DISPATCH                                                                   \
  "job_uid, attempt, job_id, cluster, incarnation, object_kind, namespace, name, remote_uid, " \
  "state, detail"

struct Refusal {
  const char* what;
  const char* statement;
  const char* rule;
};

TEST(Migrations, TheDatabaseItselfKeepsTheRules) {
  const std::string url = FreshDatabase(SharedServer());
  const std::string job =
      "insert into jobs select 1, gen_random_uuid(), 'ns', 1, 'a', null, 'u', 'q', 'cq', '', 0, "
      "'[]', null, 0, -1, 1, 1, '{}'; "
      "insert into job_state (job_id, live_name, state, resource_version) values (1, 'ns/1/a', 2, "
      "1); "
      "insert into dispatches (" MUSTER_TEST_DISPATCH
      ") select uid, 1, id, 'east', '', 'Job', 'ns', 'a', '', 4, '' from jobs";
  RunSql(url, job);
  const Refusal refusals[] = {
      {"a second live attempt",
       "insert into dispatches (" MUSTER_TEST_DISPATCH
       ") select uid, 2, id, 'west', '', 'Job', 'ns', 'a', '', 1, '' from jobs",
       "dispatches_one_live"},
      {"the same attempt twice",
       "insert into dispatches (" MUSTER_TEST_DISPATCH
       ") select uid, 1, id, 'west', '', 'Job', 'ns', 'a', '', 8, '' from jobs",
       "dispatches_pkey"},
      {"an object name in use",
       "insert into dispatches (" MUSTER_TEST_DISPATCH
       ") select uid, 2, id, 'east', '', 'Job', 'ns', 'a', '', 7, '' from jobs",
       "dispatches_name"},
      {"a second job of a live name",
       "insert into job_state (job_id, live_name, state, resource_version) values (2, 'ns/1/a', 2, "
       "1)",
       "job_state_live_name"},
      {"an unknown state", "update job_state set state = 9", "job_state_state_check"},
      {"an admitted job without admission", "update job_state set state = 3", "job_state_holds"},
      {"deleting what has not ended", "update job_state set live_name = null, deleted_at = 1",
       "job_state_deleted"},
      {"a name without an object", "update job_state set deleted_at = 1, state = 5",
       "job_state_check"},
      {"negative usage", "insert into quota_usage values ('q', 'f', 'cpu', -1)",
       "quota_usage_amount_check"},
      {"a second leader row", "insert into leader (singleton) values (true)", "leader_pkey"},
      {"an attempt of no job", "insert into attempts values (9, 1, '', 0, 0, 0, 5, '', '', 0, 0)",
       "attempts_job_id_fkey"},
  };
  for (const Refusal& refusal : refusals) {
    try {
      RunSql(url, refusal.statement);
      ADD_FAILURE() << refusal.what << " was taken";
    } catch (const pqxx::sql_error& error) {
      EXPECT_NE(std::string(error.what()).find(refusal.rule), std::string::npos)
          << refusal.what << ": " << error.what();
    }
  }
}

TEST(Migrations, StateUpdatesStayInTheirPage) {
  const std::string url = FreshDatabase(SharedServer());
  RunSql(url,
         "insert into job_state (job_id, live_name, state, resource_version) "
         "select n, 'ns/1/' || n, 2, n from generate_series(1, 1000) n");
  // There are few rows on each page, so there is always room in the page: only a changed index
  // could prevent HOT updates.
  RunSql(url,
         "update job_state set state = 3, admission = '{}', cluster = 'east', attempt = 1 where "
         "job_id % 10 = 0");
  RunSql(url, "update job_state set state = 4, start_time = 5 where job_id % 10 = 0");
  // The counts of a session are visible when it has ended, a moment after its client has left.
  const auto count = [&](const std::string& column) {
    return std::stoi(
        RunSql(url, "select " + column + " from pg_stat_user_tables where relname = 'job_state'"));
  };
  for (int i = 0; i < 10'000 && count("n_tup_upd") < 200; ++i) {
  }
  EXPECT_EQ(count("n_tup_upd"), 200);
  EXPECT_GT(count("n_tup_hot_upd"), 180);
}

TEST(Migrations, TheWorkloadsViewShowsPodSets) {
  const std::string url = FreshDatabase(SharedServer());
  RunSql(
      url,
      "insert into jobs select 1, gen_random_uuid(), 'ns', 1, 'a', null, 'u', 'q', 'cq', '', 0, "
      "'[{\"name\":\"main\",\"count\":3,\"requests\":{\"cpu\":1000}}]', null, 0, -1, 1, 1, '{}'; "
      "insert into job_state (job_id, live_name, state, resource_version) values (1, 'ns/1/a', 2, "
      "1)");
  EXPECT_EQ(RunSql(url, "select name || count || (requests ->> 'cpu') from pod_sets"), "main31000");
  EXPECT_EQ(RunSql(url, "select cluster_queue from workloads"), "cq");
  RunSql(url,
         "update job_state set admission_state = "
         "'{\"state\":{\"scale\":{\"parallelism\":5,\"completions\":4}}}'");
  EXPECT_EQ(RunSql(url, "select count from pod_sets"), "4") << "an elastic job's pods now";
  RunSql(url,
         "update job_state set admission_state = '{\"state\":{\"scale\":{\"parallelism\":2}}}'");
  EXPECT_EQ(RunSql(url, "select count from pod_sets"), "2");
}

}  // namespace
}  // namespace muster::test
