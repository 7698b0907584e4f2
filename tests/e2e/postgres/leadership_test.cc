// Leadership between two daemons on one database: only one leads, and an old epoch writes nothing.
#include <gtest/gtest.h>

#include <future>

#include "schedd/store/pg/pg_store.h"
#include "tests/contract/store/store_fixtures.h"
#include "tests/contract/store/test_server.h"

namespace muster::test {
namespace {

std::unique_ptr<Store> MustOpen(const std::string& url) {
  PgStoreOptions options;
  options.url = url;
  auto opened = OpenPgStore(options);
  MUSTER_CHECK(opened.ok());
  return std::move(opened).value();
}

TEST(Leadership, AStandbyIsToldWhoLeadsAndTakesOverWhenThatOneEnds) {
  const std::string url = FreshDatabase(SharedServer());
  auto first = MustOpen(url);
  const auto second = MustOpen(url);
  const auto lease = first->Lead("alpha", std::chrono::milliseconds(0));
  ASSERT_TRUE(lease.ok());
  const auto refused = second->Lead("beta", std::chrono::milliseconds(50));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_EQ(refused.error().detail, "another daemon leads: alpha");
  auto waiting = std::async(std::launch::async,
                            [&] { return second->Lead("beta", std::chrono::seconds(30)); });
  first.reset();
  const auto taken = waiting.get();
  ASSERT_TRUE(taken.ok()) << taken.error().detail;
  EXPECT_GT(taken->epoch, lease->epoch);
  MustAccept(*second, taken->epoch, DraftJob(1));
}

TEST(Leadership, ALeaderThatWasReplacedCannotWriteEvenOverALiveSession) {
  const std::string url = FreshDatabase(SharedServer());
  const auto store = MustOpen(url);
  const auto lease = store->Lead("alpha", std::chrono::milliseconds(0));
  ASSERT_TRUE(lease.ok());
  MustAccept(*store, lease->epoch, DraftJob(1));
  // Its lock is still held; only the row says that another daemon has led since (in a restored or
  // failed-over database).
  RunSql(url, "update leader set epoch = epoch + 1, holder = 'beta'");
  const auto accepted = AcceptNow(*store, lease->epoch, {MakeNew(DraftJob(2))});
  ASSERT_FALSE(accepted.ok());
  EXPECT_EQ(accepted.error().code, Code::kAborted);
  PlanCommit commit;
  commit.usage = {{"team-a", "spot", "cpu", 1}};
  EXPECT_EQ(CommitNow(*store, lease->epoch, commit).error().code, Code::kAborted);
  EXPECT_EQ(store->Load(lease->epoch, {}).error().code, Code::kAborted);
  EXPECT_EQ(RunSql(url, "select count(*) from jobs"), "1");
  EXPECT_EQ(RunSql(url, "select count(*) from quota_usage"), "0");
  const auto again = store->Lead("alpha", std::chrono::milliseconds(0));
  ASSERT_TRUE(again.ok());
  MustAccept(*store, again->epoch, DraftJob(3));
}

TEST(Leadership, NothingIsWrittenBeforeAnyoneLeads) {
  const auto store = MustOpen(FreshDatabase(SharedServer()));
  EXPECT_EQ(AcceptNow(*store, Epoch{0}, {MakeNew(DraftJob(1))}).error().code, Code::kAborted);
  EXPECT_EQ(AcceptNow(*store, Epoch{1}, {MakeNew(DraftJob(1))}).error().code, Code::kAborted);
}

}  // namespace
}  // namespace muster::test
