#include "tests/contract/store/test_server.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

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

std::string AsRole(const std::string& superuser_url, const std::string& role) {
  std::string url = superuser_url;
  return url.replace(url.find("//muster@"), 9, "//" + role + "@");
}

// The file is beside the directory of the socket; a start of the server writes it anew. The line
// counts once the server has read it.
std::string SuperuserUrl(const EmbeddedPostgres& server) {
  std::string url = server.owner_url();
  url.replace(url.find("//muster_owner@"), 15, "//muster@");
  // A loaded machine may need longer than the daemon allows.
  const std::string limit = "connect_timeout=3";
  url.replace(url.find(limit), limit.size(), "connect_timeout=60");
  const std::string name = server.home() + "/pg_hba.conf";
  std::ifstream in(name);
  std::stringstream text;
  text << "local all muster trust\n" << in.rdbuf();
  std::ofstream(name) << text.str();
  kill(server.pid(), SIGHUP);
  for (int i = 0; i < 3000; ++i) {
    try {
      RunSql(url, "select 1");
      return url;
    } catch (const pqxx::failure&) {
      usleep(10'000);
    }
  }
  ADD_FAILURE() << "the server does not let the superuser in";
  return url;
}

std::string DatabaseUrl(const EmbeddedPostgres& server, const std::string& name) {
  static std::map<int, std::string> urls;  // by the server's process
  std::string& known = urls[server.pid()];
  if (known.empty()) known = SuperuserUrl(server);
  std::string url = known;
  return url.replace(url.find("/muster?"), 8, "/" + name + "?");
}

std::string EmptyDatabase(EmbeddedPostgres& server) {
  static std::atomic<int> count{0};
  const std::string name = "empty_" + std::to_string(++count);
  RunSql(DatabaseUrl(server, "muster"), "create database " + name + " owner muster_owner");
  return DatabaseUrl(server, name);
}

std::string FreshDatabase(EmbeddedPostgres& server) {
  static std::atomic<int> count{0};
  const std::string name = "test_" + std::to_string(++count);
  if (RunSql(DatabaseUrl(server, "muster"), "select 1 from pg_database where datname = 'migrated'")
          .empty()) {
    RunSql(DatabaseUrl(server, "muster"), "create database migrated owner muster_owner");
    const Status migrated = pg::MigrateUp(AsRole(DatabaseUrl(server, "migrated"), "muster_owner"));
    if (!migrated.ok()) ADD_FAILURE() << migrated.error().detail;
  }
  RunSql(DatabaseUrl(server, "muster"),
         "create database " + name + " template migrated owner muster_owner");
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
