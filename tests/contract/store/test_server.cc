#include "tests/contract/store/test_server.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>

#include <pqxx/pqxx>

#include "schedd/store/pg/migrator.h"

namespace muster::test {
namespace {

struct Server {
  TempDir dir;
  std::unique_ptr<EmbeddedPostgres> postgres;
};

std::unique_ptr<Server>& Shared() {
  static std::unique_ptr<Server> server;
  return server;
}

class StopServer final : public ::testing::Environment {
 public:
  void TearDown() override { Shared().reset(); }
};

const auto* const kStopAtEnd = ::testing::AddGlobalTestEnvironment(new StopServer);

}  // namespace

TempDir::TempDir() {
  std::string name = "/tmp/muster-test-XXXXXX";
  MUSTER_CHECK(mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

EmbeddedPostgres& SharedServer() {
  MUSTER_CHECK(kStopAtEnd != nullptr);
  if (Shared() == nullptr) {
    auto server = std::make_unique<Server>();
    auto started = EmbeddedPostgres::Start(server->dir.path());
    if (!started.ok()) ADD_FAILURE() << started.error().detail;
    server->postgres = std::move(started).value();
    Shared() = std::move(server);
  }
  return *Shared()->postgres;
}

std::string DatabaseUrl(const EmbeddedPostgres& server, const std::string& name) {
  std::string url = server.url();
  return url.replace(url.find("/muster?"), 8, "/" + name + "?");
}

std::string EmptyDatabase(EmbeddedPostgres& server) {
  static std::atomic<int> count{0};
  const std::string name = "empty_" + std::to_string(++count);
  RunSql(server.url(), "create database " + name);
  return DatabaseUrl(server, name);
}

std::string FreshDatabase(EmbeddedPostgres& server) {
  static std::atomic<int> count{0};
  const std::string name = "test_" + std::to_string(++count);
  if (RunSql(server.url(), "select 1 from pg_database where datname = 'migrated'").empty()) {
    RunSql(server.url(), "create database migrated");
    const Status migrated = pg::MigrateUp(DatabaseUrl(server, "migrated"));
    if (!migrated.ok()) ADD_FAILURE() << migrated.error().detail;
  }
  RunSql(server.url(), "create database " + name + " template migrated");
  return DatabaseUrl(server, name);
}

std::string RunSql(const std::string& url, const std::string& statement) {
  pqxx::connection connection(url);
  pqxx::nontransaction work(connection);
  std::string text;
  for (const pqxx::row& row : work.exec(statement)) {
    if (row.size() == 0) continue;
    if (!text.empty()) text += ',';
    text += row[0].c_str();
  }
  return text;
}

}  // namespace muster::test
