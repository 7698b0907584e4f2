// How the server learns that a daemon's host has vanished: settings of each session, unless
// somebody has said otherwise.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include <pqxx/pqxx>

#include "schedd/store/pg/read_pool.h"
#include "schedd/store/pg/statements.h"
#include "schedd/store/pg/statements_read.h"
#include "schedd/store/pg/url.h"
#include "schedd/store/pg/watchdog.h"
#include "tests/contract/store/test_server.h"

namespace muster::test {
namespace {

std::string Shown(const std::string& url, const char* setting,
                  const char* session = pg::sql::kMigratorSettings) {
  pg::Watchdog watchdog;
  auto connection = pg::OpenConnection(url, session, watchdog, std::chrono::seconds(60));
  pqxx::nontransaction work(*connection);
  return work.exec1(std::string("show ") + setting)[0].as<std::string>();
}

// The other settings have no effect on a unix socket, and are not shown there.
TEST(SessionSettings, AreAddedUnlessTheUrlOrTheRoleSaysOtherwise) {
  constexpr const char* kSetting = "client_connection_check_interval";
  const std::string admin = FreshDatabase(SharedServer());
  const std::string url = pg::CompleteUrl(AsRole(admin, "muster_daemon")).value();
  EXPECT_EQ(Shown(url, kSetting), "5s");
  EXPECT_EQ(Shown(url + " options='-c client_connection_check_interval=7s'", kSetting), "7s");
  RunSql(admin, "alter role muster_daemon set client_connection_check_interval = '9s'");
  EXPECT_EQ(Shown(url, kSetting), "9s");
  RunSql(admin, "alter role muster_daemon reset client_connection_check_interval");
  EXPECT_EQ(Shown(url, kSetting), "5s");
}

// A second for a query is a usual default for people. A recovery reads for longer.
TEST(SessionSettings, TimeoutsForPeoplesQueriesDoNotEndStatementsOfADaemon) {
  const std::string admin = FreshDatabase(SharedServer());
  const std::string url = pg::CompleteUrl(AsRole(admin, "muster_daemon")).value();
  RunSql(admin, "alter role muster_daemon set statement_timeout = '1s'");
  for (const char* session :
       {pg::sql::kMigratorSettings, pg::sql::kReaderSettings, pg::sql::kWriterSettings})
    EXPECT_EQ(Shown(url, "statement_timeout", session), "0") << session;
  RunSql(admin, "alter role muster_daemon reset statement_timeout");
  RunSql(admin, "alter role muster_daemon set lock_timeout = '1s'");
  for (const char* session : {pg::sql::kReaderSettings, pg::sql::kWriterSettings})
    EXPECT_EQ(Shown(url, "lock_timeout", session), "0") << session;
  RunSql(admin, "alter role muster_daemon reset lock_timeout");
}

}  // namespace
}  // namespace muster::test
