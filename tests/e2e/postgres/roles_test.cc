// What the database lets its roles do (S11, S12): the daemon's role has no way to change the schema
// or what is in the audit trail, and a reader sees the rows of its own namespaces only.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <pqxx/pqxx>

#include "schedd/store/pg/migrator.h"
#include "tests/contract/store/test_server.h"

namespace muster::test {
namespace {

// The text of the error that the statement gives for this role; "" if it is carried out.
std::string RefusalOf(const std::string& url, const std::string& statement) {
  try {
    RunSql(url, statement);
    return "";
  } catch (const pqxx::failure& failure) {
    return failure.what();
  }
}

class Roles : public ::testing::Test {
 protected:
  void SetUp() override {
    superuser_ = FreshDatabase(SharedServer());
    daemon_ = AsRole(superuser_, "muster_daemon");
  }
  // Makes job `id` of a namespace, with an event, an attempt and a step.
  void AddJob(int id, const std::string& ns) {
    const std::string number = std::to_string(id);
    RunSql(superuser_,
           "insert into jobs (id, uid, namespace, kind, name, user_name, local_queue, "
           "cluster_queue, priority_class, priority, pod_sets, time_limit_s, ttl_after_finished_s, "
           "submit_time, accept_seq, manifest) values (" +
               number + ", gen_random_uuid(), '" + ns + "', 1, 'job-" + number +
               "', 'ada', 'q', 'cq', '', 0, '[]', 0, -1, 1, " + number + ", '{}')");
    RunSql(superuser_,
           "insert into job_state (job_id, live_name, state, resource_version) values (" + number +
               ", 'n" + number + "', 1, " + number + ")");
    RunSql(superuser_,
           "insert into attempts (job_id, attempt, cluster, outcome, reason, message, exit_signal) "
           "values (" +
               number + ", 1, 'east', 1, '', '', 0)");
    RunSql(superuser_,
           "insert into events (seq, time, type, job_id, object, reason, message) values (" +
               number + ", 1, 'JobAdmitted', " + number + ", 'o', '', '')");
    RunSql(superuser_,
           "insert into steps (job_id, attempt, step, name, nodes, node_count, tasks, cpus, state, "
           "exit_code, exit_signal) values (" +
               number + ", 1, 0, 'hostname', 'east', 1, 1, 1, 1, 0, 0)");
  }
  std::string superuser_, daemon_;
};

TEST_F(Roles, TheDaemonsRole_IsNeitherOwnerNorSuperuser_AndHasNoAttribute) {
  EXPECT_EQ(RunSql(superuser_,
                   "select rolsuper or rolcreaterole or rolcreatedb or rolreplication or "
                   "rolbypassrls from pg_roles where rolname in ('muster_daemon', 'muster_owner', "
                   "'muster_read')"),
            "f,f,f");
  EXPECT_EQ(
      RunSql(superuser_, "select count(*) from pg_class where relowner = 'muster_daemon'::regrole"),
      "0");
  EXPECT_EQ(RunSql(superuser_, "select pg_has_role('muster_daemon', 'muster_owner', 'member')"),
            "f");
}

TEST_F(Roles, TheDaemonMayNotChangeTheSchema) {
  int tried = 0, refused = 0;
  for (const char* statement :
       {"drop table jobs", "alter table jobs add column x int", "create table mine (x int)",
        "create schema mine", "truncate jobs", "alter table audit disable trigger all",
        "create or replace function muster_fence(wanted bigint, group_number bigint) returns void "
        "language sql as 'select'",
        "drop policy daemon on jobs", "select muster_grant_roles()", "set role muster_owner",
        "set role muster", "insert into schema_migrations values (99, 'x', 'y')",
        "copy jobs to program 'id'", "select pg_read_file('/etc/passwd')",
        "update installation set instance = gen_random_uuid()",
        "update audit_policy set min_age_ms = 1",
        "insert into read_access values ('muster_daemon', 'x')"}) {
    const std::string refusal = RefusalOf(daemon_, statement);
    const bool by_rights = refusal.find("permission denied") != std::string::npos ||
                           refusal.find("must be owner") != std::string::npos ||
                           refusal.find("must be superuser") != std::string::npos;
    EXPECT_TRUE(by_rights) << statement << ": " << refusal;
    ++tried;
    refused += by_rights ? 1 : 0;
  }
  std::printf("S12: %d statements of the daemon's role against the schema, %d refused\n", tried,
              refused);
}

TEST_F(Roles, TheAuditTrailOnlyGrows) {
  for (const char* statement : {"update audit set user_name = 'somebody'", "delete from audit",
                                "truncate audit", "drop table audit"}) {
    EXPECT_NE(RefusalOf(daemon_, statement), "") << statement;
  }
  EXPECT_EQ(RunSql(superuser_,
                   "select string_agg(privilege_type, ' ' order by privilege_type) from "
                   "information_schema.role_table_grants where grantee = 'muster_daemon' and "
                   "table_name = 'audit'"),
            "INSERT SELECT");
}

TEST_F(Roles, EveryTableIsGivenToTheDaemon) {
  EXPECT_EQ(RunSql(superuser_,
                   "select relname from pg_class where relnamespace = 'public'::regnamespace and "
                   "relkind in ('r', 'v') and not has_table_privilege('muster_daemon', oid, "
                   "'select')"),
            "")
      << "a migration that makes a table ends with select muster_grant_roles()";
}

TEST_F(Roles, AReaderSeesItsNamespacesOnly_WhateverItSets) {
  const std::string name = "reader_" + std::to_string(getpid());
  AddJob(1, "team-a");
  AddJob(2, "team-b");
  RunSql(superuser_, "create role " + name + " in role muster_read");
  RunSql(superuser_, "insert into read_access values ('" + name + "', 'team-a')");
  pqxx::connection connection(superuser_);
  pqxx::nontransaction work(connection);
  work.exec("set session authorization " + name);
  int questions = 0, foreign = 0;
  for (const char* setting : {"select 1", "set muster.namespace = 'team-b'",
                              "set search_path = public", "set role muster_read"}) {
    work.exec(setting);
    for (const char* table : {"jobs", "job_state", "attempts", "events", "steps", "workloads"}) {
      const pqxx::result rows = work.exec(std::string("select * from ") + table);
      EXPECT_EQ(rows.size(), 1U) << table << " after " << setting;
      ++questions;
      foreign += rows.size() > 1 ? static_cast<int>(rows.size()) - 1 : 0;
    }
    EXPECT_EQ(work.exec1("select namespace from jobs")[0].as<std::string>(), "team-a");
  }
  for (const char* table : {"secrets", "audit", "idempotency_keys", "access_tokens"})
    EXPECT_THROW(work.exec(std::string("select * from ") + table), pqxx::sql_error) << table;
  std::printf("S11: %d questions of a reader, %d rows of other namespaces\n", questions, foreign);
  work.exec("reset session authorization");
  RunSql(superuser_, "drop role " + name);
}

}  // namespace
}  // namespace muster::test
