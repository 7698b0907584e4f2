// Leadership between two daemons on one database: only one leads, and an old epoch writes nothing.
#include <gtest/gtest.h>

#include <chrono>
#include <pqxx/pqxx>
#include <thread>

#include "schedd/base/lease.h"
#include "schedd/base/limits_lease.h"
#include "schedd/store/pg/pg_store.h"
#include "tests/contract/store/store_fixtures.h"
#include "tests/contract/store/test_server.h"

namespace muster::test {
namespace {

class LeaseClock final : public Clock {
 public:
  Monotonic Now() const override {
    return {std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1)};
  }
  WallTime WallNow() const override { return {}; }
};
const LeaseClock kLeaseClock;

// A daemon of the name `id`, as far as the store sees it.
struct LeasingDaemon {
  LeasingDaemon(const std::string& url, const std::string& id, std::int64_t ttl_ms) {
    board.SetSelf({id, id, "http://" + id + ":1", ttl_ms, false, {}});
    Open(url);
  }
  void Open(const std::string& url) {
    PgStoreOptions options;
    options.url = url;
    options.lease = &board;
    auto opened = OpenPgStore(options);
    MUSTER_CHECK(opened.ok());
    store = std::move(opened).value();
  }
  Result<Lease> Lead() { return store->Lead(board.self().holder, std::chrono::seconds(1)); }
  /// Asks until it leads.
  Lease MustLead() {
    for (int i = 0; i < 1000; ++i) {
      const auto lease = Lead();
      if (lease.ok()) return *lease;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ADD_FAILURE() << "it never led";
    return {};
  }
  LeaseBoard board{kLeaseClock, nullptr};
  std::unique_ptr<Store> store;
};

std::unique_ptr<Store> MustOpen(const std::string& url) {
  PgStoreOptions options;
  options.url = url;
  auto opened = OpenPgStore(options);
  MUSTER_CHECK(opened.ok());
  return std::move(opened).value();
}

TEST(Leadership, AStandbyIsToldWhoLeadsAndTakesOverAtOnceWhenThatOneGivesTheLeaseUp) {
  const std::string url = FreshDatabase(SharedServer());
  LeasingDaemon first(url, "alpha", 60'000), second(url, "beta", 60'000);
  const Lease lease = first.MustLead();
  const auto refused = second.Lead();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_EQ(refused.error().detail, "another daemon leads: alpha at http://alpha:1");
  EXPECT_TRUE(second.board.OtherLeads());
  EXPECT_EQ(second.board.standing().row.address, "http://alpha:1");
  first.store.reset();
  const auto taken = second.Lead();
  ASSERT_TRUE(taken.ok()) << taken.error().detail;
  EXPECT_GT(taken->epoch, lease.epoch);
  EXPECT_LE(second.board.orders_from(), kLeaseClock.Now()) << "the leader had stopped its orders";
  MustAccept(*second.store, taken->epoch, DraftJob(1));
}

TEST(Leadership, ALeaseEndsByTheDatabasesClockAlthoughTheLeadersSessionIsThere) {
  const std::string url = FreshDatabase(SharedServer());
  LeasingDaemon first(url, "alpha", 3'000), second(url, "beta", 3'000);
  const Lease lease = first.MustLead();
  MustAccept(*first.store, lease.epoch, DraftJob(1));
  EXPECT_FALSE(second.Lead().ok());
  const Lease taken = second.MustLead();
  EXPECT_EQ(taken.epoch.value, lease.epoch.value + 1);
  EXPECT_EQ(RunSql(url, "select expires > clock_timestamp() from leader"), "t");
  const auto stale = AcceptNow(*first.store, lease.epoch, {MakeNew(DraftJob(2))});
  ASSERT_FALSE(stale.ok());
  EXPECT_EQ(RunSql(url, "select count(*) from jobs"), "1");
  EXPECT_EQ(first.Lead().error().detail, "another daemon leads: beta at http://beta:1");
}

// The row of a silent leader ends an hour later by a clock that was set back by an hour.
TEST(Leadership, ALeaseEndsAlthoughTheDatabasesClockWasSetBack) {
  const std::string url = FreshDatabase(SharedServer());
  LeasingDaemon first(url, "alpha", 1'000), second(url, "beta", 1'000);
  const Lease lease = first.MustLead();
  MustAccept(*first.store, lease.epoch, DraftJob(1));
  RunSql(url, "update leader set expires = expires + interval '1 hour'");
  EXPECT_FALSE(second.Lead().ok());
  EXPECT_GT(second.MustLead().epoch, lease.epoch);
  EXPECT_FALSE(AcceptNow(*first.store, lease.epoch, {MakeNew(DraftJob(2))}).ok());
  EXPECT_EQ(RunSql(url, "select expires < clock_timestamp() + interval '1 min' from leader"), "t");
}

// A promoted standby has another timeline, and may lack what the lost primary committed last.
TEST(Leadership, OnAPromotedStandbyNumbersGoOnAboveThoseThatTheLostPrimaryMayHaveGivenOut) {
  const std::string url = FreshDatabase(SharedServer());
  LeasingDaemon daemon(url, "alpha", 1'000);
  const auto load = [&](Epoch epoch) {
    auto loaded = daemon.store->Load(epoch, WallTime{});
    EXPECT_TRUE(loaded.ok()) << loaded.error().detail;
    return std::move(loaded).value();
  };
  const Lease first = daemon.MustLead();
  MustAccept(*daemon.store, first.epoch, DraftJob(1));
  const StoredWorld before = load(first.epoch);
  const Lease again = daemon.MustLead();
  EXPECT_EQ(again.epoch.value, first.epoch.value + 1) << "the same server: nothing is left out";
  EXPECT_EQ(load(again.epoch).last_seq, before.last_seq);
  EXPECT_TRUE(load(again.epoch).lost_numbers.empty());

  RunSql(url, "update histories set timeline = timeline + 1");
  const Lease promoted = daemon.MustLead();
  EXPECT_EQ(promoted.epoch.value, again.epoch.value + 1 + limits::kFailoverSkipsEpochs);
  Epoch epoch = promoted.epoch;
  for (int lead = 0; lead < 2; ++lead, epoch = daemon.MustLead().epoch) {
    const StoredWorld after = load(epoch);
    EXPECT_EQ(after.last_seq, before.last_seq + limits::kFailoverSkipsEvents);
    EXPECT_EQ(after.last_job_id.value, before.last_job_id.value + limits::kFailoverSkipsJobs);
    ASSERT_EQ(after.lost_numbers.size(), 1U);
    EXPECT_TRUE(after.lost_numbers[0].Has(before.last_seq + 1));
    EXPECT_FALSE(after.lost_numbers[0].Has(before.last_seq));
    EXPECT_FALSE(after.lost_numbers[0].Has(after.last_seq + 1));
  }
}

// Some managed services have none of the functions that tell the timeline.
TEST(Leadership, AServerThatDoesNotTellItsTimelineIsLedIn_AndNoNumbersAreLeftOut) {
  const std::string url = FreshDatabase(SharedServer());
  LeasingDaemon daemon(url, "alpha", 1'000);
  const Lease first = daemon.MustLead();
  RunSql(url,
         "create function public.pg_current_wal_lsn() returns pg_lsn language plpgsql as $$ begin "
         "raise feature_not_supported; end $$; alter function muster_timeline() set search_path = "
         "public, pg_catalog");
  EXPECT_EQ(RunSql(url, "select muster_timeline() is null"), "t");
  EXPECT_EQ(daemon.MustLead().epoch.value, first.epoch.value + 1);
  EXPECT_EQ(RunSql(url, "select count(*) from histories"), "1");
}

TEST(Leadership, ALeaderThatResignsGivesTheLeaseUpAndDoesNotTakeItAgain) {
  const std::string url = FreshDatabase(SharedServer());
  LeasingDaemon first(url, "alpha", 60'000), second(url, "beta", 60'000);
  const Lease lease = first.MustLead();
  first.board.Resign();
  const auto refused = first.Lead();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().detail,
            "this daemon could not read the database and leaves the lead to others");
  const auto taken = second.Lead();
  ASSERT_TRUE(taken.ok()) << taken.error().detail;
  EXPECT_GT(taken->epoch, lease.epoch);
}

TEST(Leadership, EveryWriteRenewsTheLease) {
  const std::string url = FreshDatabase(SharedServer());
  LeasingDaemon first(url, "alpha", 60'000), second(url, "beta", 60'000);
  const Lease lease = first.MustLead();
  RunSql(url, "update leader set expires = clock_timestamp() + interval '1 s'");
  MustAccept(*first.store, lease.epoch, DraftJob(1));
  EXPECT_EQ(RunSql(url, "select expires > clock_timestamp() + interval '30 s' from leader"), "t");
  EXPECT_FALSE(second.Lead().ok());
}

TEST(Leadership, ATransactionThatHoldsTheRowIsEndedWithTheLeadersSession) {
  const std::string url = FreshDatabase(SharedServer());
  LeasingDaemon first(url, "alpha", 1'000), second(url, "beta", 1'000);
  const Lease lease = first.MustLead();
  // After its first write the store leaves renewals to its daemon.
  MustAccept(*first.store, lease.epoch, DraftJob(1));
  // The session of a leader that is stopped in the midst of a transaction.
  pqxx::connection session(url);
  {
    pqxx::work own(session);
    own.exec(
        "update leader set session_pid = pg_backend_pid(), session_start = (select backend_start "
        "from pg_stat_activity where pid = pg_backend_pid())");
    own.commit();
  }
  pqxx::work stopped(session);
  stopped.exec("select 1 from leader for update");
  const Lease taken = second.MustLead();
  EXPECT_GT(taken.epoch, lease.epoch);
  EXPECT_ANY_THROW(stopped.exec("select 1")) << "its session is still there";
}

TEST(Leadership, ADaemonThatIsStartedAgainTakesItsOwnLease) {
  const std::string url = FreshDatabase(SharedServer());
  LeasingDaemon first(url, "alpha", 60'000);
  const Lease lease = first.MustLead();
  LeasingDaemon again(url, "alpha", 60'000);
  const auto taken = again.Lead();
  ASSERT_TRUE(taken.ok()) << taken.error().detail;
  EXPECT_GT(taken->epoch, lease.epoch);
  EXPECT_LE(again.board.orders_from(), kLeaseClock.Now());
}

TEST(Leadership, AStandbyLeavesAFreeLeadToOthersUntilItHasSeenOneLead) {
  const std::string url = FreshDatabase(SharedServer());
  LeasingDaemon patient(url, "beta", 10'000), first(url, "alpha", 10'000);
  LeaseBoard::Self self = patient.board.self();
  self.patient_until = kLeaseClock.Now() + 3600 * kNanosPerSecond;
  patient.board.SetSelf(self);
  EXPECT_FALSE(patient.Lead().ok());
  first.MustLead();
  EXPECT_FALSE(patient.Lead().ok());
  first.store.reset();
  EXPECT_TRUE(patient.Lead().ok());
}

TEST(Leadership, ALeaderThatWasReplacedCannotWriteEvenOverALiveSession) {
  const std::string url = FreshDatabase(SharedServer());
  const auto store = MustOpen(url);
  const auto lease = store->Lead("alpha", std::chrono::milliseconds(0));
  ASSERT_TRUE(lease.ok());
  MustAccept(*store, lease->epoch, DraftJob(1));
  // Its session is still there; only the row says that another daemon has led since (in a restored
  // or failed-over database).
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
