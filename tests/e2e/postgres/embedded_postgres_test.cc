// The embedded server: first start, restart, crashes of the server and of its owner, leftovers of a
// crash, refusals.
#include "schedd/store/pg/embedded_postgres.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "schedd/store/pg/server_files.h"
#include "tests/contract/store/test_server.h"

namespace muster::test {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<EmbeddedPostgres> MustStart(const std::string& dir) {
  auto started = EmbeddedPostgres::Start(dir);
  if (!started.ok()) {
    ADD_FAILURE() << started.error().detail;
    return nullptr;
  }
  return std::move(started).value();
}

bool AwaitEnd(int pidfd, int timeout_ms) {
  struct pollfd wait = {pidfd, POLLIN, 0};
  return poll(&wait, 1, timeout_ms) == 1;
}

// Waits until the supervisor has another server up.
bool AwaitRestart(const EmbeddedPostgres& postgres, std::int64_t restarts) {
  for (int i = 0; i < 1200 && postgres.restarts() < restarts; ++i) usleep(50'000);
  return postgres.restarts() >= restarts;
}

std::string DataOf(const std::string& dir) { return fs::canonical(dir).string() + "/postgres/db"; }

TEST(EmbeddedPostgres, DataOutlivesAnOrderlyStop) {
  const TempDir dir;
  {
    const auto postgres = MustStart(dir.path());
    ASSERT_NE(postgres, nullptr);
    RunSql(postgres->owner_url(), "create table t as select 42 as n");
    const pid_t pid = postgres->pid();
    postgres->Stop();
    EXPECT_EQ(postgres->pid(), 0);
    EXPECT_NE(kill(pid, 0), 0) << "the process is gone after Stop";
    postgres->Stop();
  }
  EXPECT_FALSE(fs::exists(DataOf(dir.path()) + "/postmaster.pid"));
  const auto postgres = MustStart(dir.path());
  ASSERT_NE(postgres, nullptr);
  EXPECT_EQ(RunSql(postgres->owner_url(), "select n from t"), "42");
}

TEST(EmbeddedPostgres, ItListensOnAPrivateSocketOnlyAndIsDurable) {
  const TempDir dir;
  const auto postgres = MustStart(dir.path());
  ASSERT_NE(postgres, nullptr);
  const std::string url = SuperuserUrl(*postgres);
  const auto setting = [&](const std::string& name) { return RunSql(url, "show " + name); };
  EXPECT_EQ(setting("listen_addresses"), "");
  EXPECT_EQ(setting("synchronous_commit"), "on");
  EXPECT_EQ(setting("fsync"), "on");
  EXPECT_EQ(setting("full_page_writes"), "on");
  EXPECT_EQ(setting("data_checksums"), "on");
  EXPECT_EQ(setting("jit"), "off");
  struct stat status {};
  ASSERT_EQ(stat(setting("unix_socket_directories").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
  ASSERT_EQ(stat(("/proc/" + std::to_string(postgres->pid())).c_str(), &status), 0);
  EXPECT_NE(status.st_uid, 0U) << "never as root";
}

TEST(EmbeddedPostgres, AServerKilledAloneIsStartedAgainWithItsData) {
  const TempDir dir;
  const auto postgres = MustStart(dir.path());
  ASSERT_NE(postgres, nullptr);
  RunSql(postgres->owner_url(), "create table t as select 7 as n");
  for (std::int64_t round = 1; round <= 2; ++round) {
    ASSERT_EQ(kill(postgres->pid(), SIGKILL), 0);
    ASSERT_TRUE(AwaitRestart(*postgres, round));
    EXPECT_EQ(RunSql(postgres->owner_url(), "select n from t"), "7");
  }
}

TEST(EmbeddedPostgres, TheServerEndsWithAnOwnerThatIsKilledAndTheNextOwnerGoesOn) {
  const TempDir dir;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t owner = fork();
  if (owner == 0) {
    auto started = EmbeddedPostgres::Start(dir.path());
    const int pid = started.ok() ? (*started)->pid() : -1;
    if (started.ok()) RunSql((*started)->owner_url(), "create table t as select 9 as n");
    (void)!write(ends[1], &pid, sizeof(pid));
    for (;;) pause();
  }
  int server = 0;
  ASSERT_EQ(read(ends[0], &server, sizeof(server)), static_cast<ssize_t>(sizeof(server)));
  ASSERT_GT(server, 0);
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, server, 0));
  ASSERT_GE(pidfd, 0);
  EXPECT_FALSE(EmbeddedPostgres::Start(dir.path()).ok())
      << "while its owner lives the directory is taken";
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  EXPECT_TRUE(AwaitEnd(pidfd, 60'000)) << "the server outlived its owner";
  close(pidfd);
  close(ends[0]);
  close(ends[1]);
  const auto postgres = MustStart(dir.path());
  ASSERT_NE(postgres, nullptr);
  EXPECT_EQ(RunSql(postgres->owner_url(), "select n from t"), "9");
}

TEST(EmbeddedPostgres, AStopThatIsRequestedGivesUpTheStartAndEndsARunningServer) {
  const TempDir dir;
  std::stop_source early;
  early.request_stop();
  const auto given_up = EmbeddedPostgres::Start(dir.path(), early.get_token());
  ASSERT_FALSE(given_up.ok());
  EXPECT_EQ(given_up.error().code, Code::kCancelled);
  std::stop_source stop;
  const auto started = EmbeddedPostgres::Start(dir.path(), stop.get_token());
  ASSERT_TRUE(started.ok()) << started.error().detail;
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, (*started)->pid(), 0));
  ASSERT_GE(pidfd, 0);
  stop.request_stop();
  EXPECT_TRUE(AwaitEnd(pidfd, 60'000));
  close(pidfd);
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Waits until the file has the text.
bool AwaitText(const std::string& path, const std::string& text) {
  for (int i = 0; i < 1200 && TextOf(path).find(text) == std::string::npos; ++i) usleep(50'000);
  return TextOf(path).find(text) != std::string::npos;
}

// Under db_user_namespace the server knows none of the roles by their plain names.
TEST(EmbeddedPostgres, AServerThatIsUpAndNotYetToBeReachedIsAskedAgain) {
  const TempDir dir;
  MustStart(dir.path());
  const std::string settings = DataOf(dir.path()) + "/postgresql.auto.conf";
  const std::string before = TextOf(settings);
  std::ofstream(settings) << "db_user_namespace = on\n";
  auto starting = std::async(std::launch::async, [&] { return MustStart(dir.path()); });
  const std::string log = fs::canonical(dir.path()).string() + "/postgres/server.log";
  EXPECT_TRUE(AwaitText(log, "no pg_hba.conf entry")) << TextOf(log);
  std::ofstream(settings) << before;
  kill(std::stoi(TextOf(DataOf(dir.path()) + "/postmaster.pid")), SIGHUP);
  const auto postgres = starting.get();
  ASSERT_NE(postgres, nullptr);
  EXPECT_EQ(RunSql(postgres->owner_url(), "select 1"), "1");
}

TEST(EmbeddedPostgres, ALockFileThatNamesAForeignProcessIsRemovedAndTheProcessLeftAlone) {
  const TempDir dir;
  MustStart(dir.path())->Stop();
  const pid_t stranger = fork();
  if (stranger == 0) {
    for (;;) pause();
  }
  // The state that a crash leaves, when its process id has been given to another process.
  std::ofstream(DataOf(dir.path()) + "/postmaster.pid")
      << stranger << "\n"
      << DataOf(dir.path()) << "\n1700000000\n5432\n"
      << dir.path() << "\n\n  1 2\nready   \n";
  std::ofstream(dir.path() + "/postgres/socket/.s.PGSQL.5432.lock") << stranger << "\n";
  const auto postgres = MustStart(dir.path());
  EXPECT_NE(postgres, nullptr);
  EXPECT_EQ(waitpid(stranger, nullptr, WNOHANG), 0) << "the stranger still lives";
  kill(stranger, SIGKILL);
  waitpid(stranger, nullptr, 0);
}

TEST(EmbeddedPostgres, AnInterruptedFirstStartIsStartedOver) {
  const TempDir dir;
  auto layout = pg::LayoutFor(dir.path());
  ASSERT_TRUE(layout.ok());
  fs::create_directories(layout->data + ".new/base");
  std::ofstream(layout->data + ".new/PG_VERSION") << "15\n";
  EXPECT_NE(MustStart(dir.path()), nullptr);
  EXPECT_FALSE(fs::exists(layout->data + ".new"));
}

TEST(EmbeddedPostgres, ADirectoryOfAnotherVersionIsRefusedWithASentence) {
  const TempDir dir;
  MustStart(dir.path())->Stop();
  std::ofstream(DataOf(dir.path()) + "/PG_VERSION") << "14\n";
  const auto refused = EmbeddedPostgres::Start(dir.path());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_NE(refused.error().detail.find("was made by PostgreSQL 14, which is not installed"),
            std::string::npos)
      << refused.error().detail;
}

TEST(EmbeddedPostgres, ALongDataDirectoryGetsAShortSocket) {
  const TempDir dir;
  ASSERT_EQ(chmod(dir.path().c_str(), 0711),
            0);  // only the data directory itself is opened by Start
  const std::string deep = dir.path() + "/" + std::string(90, 'x');
  const auto postgres = MustStart(deep);
  ASSERT_NE(postgres, nullptr);
  const std::string socket = RunSql(SuperuserUrl(*postgres), "show unix_socket_directories");
  EXPECT_EQ(socket.rfind("/tmp/muster-pg-", 0), 0U) << socket;
  struct stat status {};
  ASSERT_EQ(stat(socket.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
  postgres->Stop();
  fs::remove_all(socket);
}

TEST(EmbeddedPostgres, BinariesAreChosenByTheVersionOfTheData) {
  const TempDir dir;
  const std::vector<pg::ServerBinaries> installed = {{"/opt/16", 16}, {"/opt/15", 15}};
  EXPECT_EQ(pg::ChooseBinaries(installed, dir.path())->dir, "/opt/16")
      << "newest for a new database";
  std::ofstream(dir.path() + "/PG_VERSION") << "15\n";
  EXPECT_EQ(pg::ChooseBinaries(installed, dir.path())->dir, "/opt/15");
  const auto none = pg::ChooseBinaries({}, dir.path() + "/absent");
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().detail.find("install the package postgresql"), std::string::npos);
}

}  // namespace
}  // namespace muster::test
