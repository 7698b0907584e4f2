// A PostgreSQL that neither answers nor closes its connections: every call ends, a stop ends at
// once, and readers do not block all threads.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <future>
#include <thread>

#include "schedd/store/pg/migrator.h"
#include "schedd/store/pg/pg_store.h"
#include "schedd/store/pg/read_pool.h"
#include "schedd/store/pg/url.h"
#include "tests/contract/store/store_fixtures.h"
#include "tests/contract/store/test_server.h"

namespace muster::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;

// The postmaster and its children.
std::vector<pid_t> ProcessesOf(pid_t postmaster) {
  std::vector<pid_t> all = {postmaster};
  std::ifstream children("/proc/" + std::to_string(postmaster) + "/task/" +
                         std::to_string(postmaster) + "/children");
  for (pid_t pid = 0; children >> pid;) all.push_back(pid);
  return all;
}

// A private server, stopped in its tracks between Hang and GoOn.
class HungDatabase : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = EmbeddedPostgres::Start(dir_.path());
    ASSERT_TRUE(started.ok()) << started.error().detail;
    server_ = std::move(started).value();
  }
  void TearDown() override { GoOn(); }
  std::unique_ptr<Store> Open(std::stop_token stop = {}, std::int64_t resolve_ms = 2000) {
    PgStoreOptions options;
    options.url = server_->daemon_url();
    options.owner_url = server_->owner_url();
    options.stop = std::move(stop);
    options.resolve_ms = resolve_ms;
    options.health = &health_;
    auto opened = OpenPgStore(options);
    MUSTER_CHECK(opened.ok());
    return std::move(opened).value();
  }
  void Hang() {
    hung_ = ProcessesOf(server_->pid());
    for (const pid_t pid : hung_) kill(pid, SIGSTOP);
  }
  void GoOn() {
    for (const pid_t pid : hung_) kill(pid, SIGCONT);
    hung_.clear();
  }
  const TempDir dir_;
  StoreHealth health_;
  std::unique_ptr<EmbeddedPostgres> server_;
  std::vector<pid_t> hung_;
};

TEST_F(HungDatabase, EveryCallEnds_AndWhatWasSentIsUnknown) {
  const auto store = Open();
  Epoch epoch = store->Lead("t", seconds(1))->epoch;
  MustAccept(*store, epoch, DraftJob(1));
  Hang();
  const auto begun = SteadyClock::now();
  auto read = std::async(std::launch::async, [&] { return store->ReadJob(JobId{1}); });
  const auto lost = AcceptNow(*store, epoch, {MakeKeyed(DraftJob(2), "k", 1)});
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().code, Code::kUnknown) << lost.error().detail;
  EXPECT_LT(SteadyClock::now() - begun, seconds(15));
  EXPECT_NE(health_.Problem(SteadyClock::now(), seconds(5)), "");
  const auto refused = read.get();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_GT(refused.error().retry_after_ms, 0);
  EXPECT_EQ(AcceptNow(*store, epoch, {MakeNew(DraftJob(3))}).error().code, Code::kUnavailable);
  EXPECT_EQ(store->Lead("t", seconds(1)).error().code, Code::kUnavailable);
  EXPECT_LT(SteadyClock::now() - begun, seconds(30));
  GoOn();
  Result<Lease> lease = store->Lead("t", seconds(1));
  for (int i = 0; i < 600 && !lease.ok(); ++i) {
    usleep(50'000);
    lease = store->Lead("t", seconds(1));
  }
  ASSERT_TRUE(lease.ok()) << lease.error().detail;
  epoch = lease->epoch;
  // The repeated request finds what became of the first one, and there is one job either way.
  const auto again = AcceptNow(*store, epoch, {MakeKeyed(DraftJob(5, "job-2"), "k", 1)});
  ASSERT_TRUE(again.ok() && (*again)[0].ok());
  EXPECT_EQ(RunSql(server_->owner_url(), "select count(*) from jobs where name = 'job-2'"), "1");
}

TEST_F(HungDatabase, AStopEndsAllWaits) {
  std::stop_source stop;
  auto store = Open(stop.get_token(), 60'000);
  const Epoch epoch = store->Lead("t", seconds(1))->epoch;
  ASSERT_TRUE(store->Ping().ok());
  Hang();
  auto write = std::async(std::launch::async,
                          [&] { return AcceptNow(*store, epoch, {MakeNew(DraftJob(1))}); });
  auto read = std::async(std::launch::async, [&] { return store->Ping(); });
  usleep(200'000);
  const auto begun = SteadyClock::now();
  stop.request_stop();
  EXPECT_FALSE(write.get().ok());
  EXPECT_FALSE(read.get().ok());
  store.reset();
  EXPECT_LT(SteadyClock::now() - begun, seconds(8));
}

TEST_F(HungDatabase, AStartEnds_AndAnotherMigratorThatHangsIsNotWaitedForForEver) {
  Hang();
  const auto begun = SteadyClock::now();
  PgStoreOptions options;
  options.url = server_->daemon_url();
  options.owner_url = server_->owner_url();
  const auto opened = OpenPgStore(options);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, Code::kUnavailable);
  EXPECT_LT(SteadyClock::now() - begun, seconds(15));
}

TEST_F(HungDatabase, ItsOwnServerIsEndedInTheTimeThereIs) {
  Hang();
  const auto begun = SteadyClock::now();
  server_->Stop(seconds(2));
  EXPECT_LT(SteadyClock::now() - begun, seconds(10));
  for (const pid_t pid : hung_) kill(pid, SIGKILL);  // what its end left behind, stopped
  hung_.clear();
}

TEST_F(HungDatabase, ReadersKeepAFewThreads_TheOthersAreRefused_UntilItAnswersAgain) {
  ASSERT_TRUE(pg::MigrateUp(server_->owner_url()).ok());
  pg::Watchdog watchdog;
  constexpr std::size_t kConnections = 2, kReaders = 20;
  pg::ReadPool pool(pg::CompleteUrl(server_->owner_url()).value(), kConnections, watchdog,
                    {seconds(4), milliseconds(300), milliseconds(1000)});
  const auto ask = [&] {
    return pool.Run([](pqxx::transaction_base& snapshot) -> Status {
      snapshot.exec("select 1");
      return Done{};
    });
  };
  ASSERT_TRUE(ask().ok());
  Hang();
  std::atomic<std::size_t> ended{0};
  std::vector<std::thread> readers;
  for (std::size_t i = 0; i < kReaders; ++i) {
    readers.emplace_back([&] {
      const Status status = ask();
      EXPECT_EQ(status.error().code, Code::kUnavailable);
      EXPECT_GT(status.error().retry_after_ms, 0);
      ++ended;
    });
  }
  // Those that may wait do; nobody else is kept for as long as a read may take.
  const std::size_t kept = kConnections + limits::kStalledReaders;
  for (int i = 0; i < 300 && ended < kReaders - kept; ++i) usleep(10'000);
  EXPECT_GE(ended, kReaders - kept);
  for (std::thread& reader : readers) reader.join();
  EXPECT_FALSE(ask().ok()) << "it is not asked again at once";
  GoOn();
  Status status = ask();
  for (int i = 0; i < 600 && !status.ok(); ++i) {
    usleep(50'000);
    status = ask();
  }
  EXPECT_TRUE(status.ok());
}

}  // namespace
}  // namespace muster::test
