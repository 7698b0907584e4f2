// PostgreSQL is killed at any moment: acknowledged writes stay, refused writes are not there.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>

#include "schedd/store/pg/pg_store.h"
#include "tests/contract/store/store_fixtures.h"
#include "tests/contract/store/test_server.h"

namespace muster::test {
namespace {

// Leads again as the engine does after a failure. Only a load shows that the server runs: the
// session of a killed server may live on for a moment.
Epoch MustLead(Store& store) {
  for (int i = 0; i < 1200; ++i) {
    const auto lease = store.Lead("crash test", std::chrono::milliseconds(1000));
    if (lease.ok() && store.Load(lease->epoch, {1}).ok()) return lease->epoch;
    usleep(50'000);
  }
  ADD_FAILURE() << "the store never led again";
  return {};
}

// The number of a server that has just been started again may not be known yet.
void KillServer(const EmbeddedPostgres& postgres) {
  for (int i = 0; i < 1200 && postgres.pid() == 0; ++i) usleep(50'000);
  const int pid = postgres.pid();
  ASSERT_GT(pid, 0);
  kill(pid, SIGKILL);
}

TEST(PostgresCrash, KillNineUnderLoadLosesNoAcknowledgedJobAndInventsNone) {
  const TempDir dir;
  auto started = EmbeddedPostgres::Start(dir.path());
  ASSERT_TRUE(started.ok()) << started.error().detail;
  EmbeddedPostgres& postgres = **started;
  PgStoreOptions options;
  options.url = postgres.daemon_url();
  options.owner_url = postgres.owner_url();
  auto opened = OpenPgStore(options);
  ASSERT_TRUE(opened.ok()) << opened.error().detail;
  Store& store = **opened;

  std::set<std::int64_t> acknowledged, refused;
  std::int64_t next = 1;
  std::atomic<bool> killed{false};
  std::atomic<std::size_t> taken_so_far{0};
  for (int round = 0; round < 4; ++round) {
    Epoch epoch = MustLead(store);
    killed = false;
    const std::size_t enough = acknowledged.size() + 100;
    std::thread killer([&, round, enough] {
      // In the middle of the load, at another point each time.
      for (int i = 0; i < 60'000 && taken_so_far < enough; ++i) usleep(1'000);
      usleep(7'000 * static_cast<unsigned>(round));
      KillServer(postgres);
      killed = true;
    });
    bool alive = true;
    while (alive || !killed) {
      std::vector<NewJob> batch;
      for (int i = 0; i < 50; ++i, ++next) {
        batch.push_back(MakeKeyed(DraftJob(next), "key-" + std::to_string(next), 1));
      }
      const std::int64_t first = batch.front().record->id.value;
      const auto answers = AcceptNow(store, epoch, std::move(batch));
      for (int i = 0; i < 50; ++i) {
        const bool taken = answers.ok() && (*answers)[static_cast<std::size_t>(i)].ok();
        const Code code = answers.ok() ? Code::kOk : answers.error().code;
        if (taken) acknowledged.insert(first + i);
        if (!taken && code != Code::kUnknown) refused.insert(first + i);
      }
      taken_so_far = acknowledged.size();
      alive = answers.ok();
      if (!alive && !killed) epoch = MustLead(store);  // the former kill, noticed late
    }
    killer.join();
  }
  ASSERT_GE(acknowledged.size(), 400U);
  const Epoch epoch = MustLead(store);
  const auto loaded = store.Load(epoch, {1});
  ASSERT_TRUE(loaded.ok()) << loaded.error().detail;
  std::set<std::int64_t> there;
  for (const JobPtr& job : loaded->jobs) there.insert(job->id.value);
  for (const std::int64_t id : acknowledged) EXPECT_TRUE(there.contains(id)) << "lost job " << id;
  for (const std::int64_t id : refused)
    EXPECT_FALSE(there.contains(id)) << "refused, yet there: " << id;
  EXPECT_GE(loaded->last_job_id.value, *acknowledged.rbegin());
}

TEST(PostgresCrash, AfterARestartWritesAreAbortedUntilItLeadsAgainAndReadsHealAlone) {
  const TempDir dir;
  auto started = EmbeddedPostgres::Start(dir.path());
  ASSERT_TRUE(started.ok());
  EmbeddedPostgres& postgres = **started;
  PgStoreOptions options;
  options.url = postgres.daemon_url();
  options.owner_url = postgres.owner_url();
  auto opened = OpenPgStore(options);
  ASSERT_TRUE(opened.ok());
  Store& store = **opened;
  const Epoch epoch = MustLead(store);
  MustAccept(store, epoch, DraftJob(1));
  ASSERT_TRUE(store.Ping().ok());
  KillServer(postgres);
  for (int i = 0; i < 1200 && postgres.restarts() == 0; ++i) usleep(50'000);
  ASSERT_EQ(postgres.restarts(), 1);
  EXPECT_EQ((*store.ReadJob(JobId{1}))->name, "job-1") << "the pool replaces broken connections";
  const auto first = AcceptNow(store, epoch, {MakeNew(DraftJob(2))});
  ASSERT_FALSE(first.ok()) << "the session that led is gone";
  const auto second = AcceptNow(store, epoch, {MakeNew(DraftJob(3))});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::kAborted);
  MustAccept(store, MustLead(store), DraftJob(4));
}

TEST(PostgresCrash, WhileItIsAwayEveryCallIsUnavailable) {
  const TempDir dir;
  auto started = EmbeddedPostgres::Start(dir.path());
  ASSERT_TRUE(started.ok());
  PgStoreOptions options;
  options.url = (*started)->daemon_url();
  options.owner_url = (*started)->owner_url();
  options.resolve_ms = 200;
  auto opened = OpenPgStore(options);
  ASSERT_TRUE(opened.ok());
  Store& store = **opened;
  const Epoch epoch = MustLead(store);
  (*started)->Stop();
  const auto lost = AcceptNow(store, epoch, {MakeNew(DraftJob(1))});
  ASSERT_FALSE(lost.ok());
  EXPECT_TRUE(lost.error().code == Code::kUnknown ||  // sent, and nobody left to ask
              lost.error().code == Code::kUnavailable)
      << lost.error().detail;
  const auto away = AcceptNow(store, epoch, {MakeNew(DraftJob(2))});
  ASSERT_FALSE(away.ok());
  EXPECT_EQ(away.error().code, Code::kUnavailable);
  EXPECT_GT(away.error().retry_after_ms, 0);
  EXPECT_EQ(CommitNow(store, epoch, {}).error().code, Code::kUnavailable);
  EXPECT_EQ(store.Lead("x", std::chrono::milliseconds(0)).error().code, Code::kUnavailable);
  EXPECT_EQ(store.Ping().error().code, Code::kUnavailable);
  EXPECT_EQ(store.ReadJob(JobId{1}).error().code, Code::kUnavailable);
  const auto unopened = OpenPgStore(options);
  ASSERT_FALSE(unopened.ok());
  EXPECT_EQ(unopened.error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace muster::test
