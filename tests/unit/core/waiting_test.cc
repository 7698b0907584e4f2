// The surroundings of the queues: back-off, conditions for entering, second passes, the
// fair-sharing ledger.
#include <gtest/gtest.h>

#include <cmath>

#include "schedd/core/queue/queue_entry.h"
#include "schedd/core/queue/second_pass.h"
#include "schedd/core/quota/admission_fair_sharing.h"
#include "tests/unit/core/world.h"

namespace muster::core::testing {
namespace {

constexpr WallTime kNow{1'700'000'000'000'000};

WallTime After(std::int64_t seconds) { return {kNow.us + seconds * kMicrosPerSecond}; }

TEST(BackoffTest, DoublesUpToTheMaximum_WithALittleJitter) {
  WaitForPodsReady settings;
  settings.backoff_base_s = 60;
  settings.backoff_max_s = 300;
  const auto seconds = [&](std::int32_t count) {
    return BackoffMicros(settings, count, 0) / kMicrosPerSecond;
  };
  EXPECT_EQ(seconds(1), 60);
  EXPECT_EQ(seconds(2), 120);
  EXPECT_EQ(seconds(3), 240);
  EXPECT_EQ(seconds(4), 300);
  EXPECT_EQ(seconds(1'000'000), 300);
  EXPECT_EQ(BackoffMicros(settings, 1, 100), 60 * kMicrosPerSecond + 6000);
  EXPECT_EQ(BackoffMicros(settings, 4, 100), 300 * kMicrosPerSecond) << "the maximum holds";
}

TEST(QueueEntryTest, WhoMayWait_AndWhoMayNot) {
  World world;
  world.Queue("q", "", {{"x", "cpu", 1}});
  world.AddLocalQueue("default", "dangling", "gone");
  const auto entry = [&](auto change) {
    auto job = world.Job("q", 0, {Pods("main", 1, {{"cpu", 1}})});
    change(job.get());
    return CheckEntry(world.config(), AdmissionSettings{}, *job);
  };
  EXPECT_EQ(entry([](JobRecord*) {}), QueueEntry::kEnters);
  EXPECT_EQ(entry([](JobRecord* job) { job->local_queue = "none"; }), QueueEntry::kNoLocalQueue);
  EXPECT_EQ(entry([](JobRecord* job) { job->local_queue = "dangling"; }),
            QueueEntry::kNoClusterQueue);
  EXPECT_EQ(entry([](JobRecord* job) { job->state = JobState::kRunning; }),
            QueueEntry::kNotAdmissible);
  const auto with = [&](auto change) {
    return entry([&](JobRecord* job) { ChangeState(job, change); });
  };
  EXPECT_EQ(with([](AdmissionState* state) { state->active = false; }), QueueEntry::kNotAdmissible);
  EXPECT_EQ(with([](AdmissionState* state) { state->admission_gated_by = "team"; }),
            QueueEntry::kNotAdmissible);
  world.config().local_queues[{"default", "lq-q"}].stop_policy = StopPolicy::kHold;
  EXPECT_EQ(entry([](JobRecord*) {}), QueueEntry::kNoLocalQueue);
}

TEST(SecondPassQueueTest, WaitsLongerEachTime_AndForgetsOnSuccess) {
  auto job = std::make_shared<JobRecord>();
  job->id = {3};
  SecondPassQueue queue;
  EXPECT_FALSE(queue.Offer(job, kNow)) << "it needs none";
  auto admission = std::make_shared<Admission>();
  PodSetAssignment& pod_set = admission->pod_sets.emplace_back();
  pod_set.topology = std::make_shared<const TopologyAssignment>(
      TopologyAssignment{{"kubernetes.io/hostname"}, {TopologyDomain{{"x0"}, 1}}});
  ReserveQuota(job.get(), admission, kNow);
  SyncAdmitted(job.get(), AdmissionSettings{}, kNow);
  ChangeState(job.get(), [](AdmissionState* state) { state->unhealthy_nodes = {"y0"}; });
  EXPECT_FALSE(queue.Offer(job, kNow)) << "none of its pods stands there";
  ChangeState(job.get(), [](AdmissionState* state) { state->unhealthy_nodes = {"y0", "x0"}; });
  std::int64_t waited = 0;
  for (const std::int64_t delay : {1, 2, 4, 8, 16, 30, 30}) {
    EXPECT_TRUE(queue.Offer(job, After(waited)));
    EXPECT_FALSE(queue.Offer(job, After(waited))) << "once";
    waited += delay;
    EXPECT_EQ(queue.NextDue(), After(waited));
    EXPECT_TRUE(queue.TakeDue({After(waited).us - 1}).empty());
    EXPECT_EQ(queue.TakeDue(After(waited)).size(), 1u);
  }
  queue.Erase({3});
  EXPECT_TRUE(queue.Offer(job, kNow));
  EXPECT_EQ(queue.NextDue(), After(1));
  auto healed = std::make_shared<JobRecord>(*job);
  ChangeState(healed.get(), [](AdmissionState* state) { state->unhealthy_nodes.clear(); });
  queue.Update(healed);
  EXPECT_EQ(queue.size(), 0u);
}

class FairLedgerTest : public ::testing::Test {
 protected:
  FairLedgerTest() {
    settings_.half_life_s = 100;
    settings_.sampling_interval_s = 100;
    settings_.resource_weights = {{"memory", 0}};
  }
  const LocalQueueKey key_{"ns", "lq"};
  AdmissionFairSharing settings_;
};

TEST_F(FairLedgerTest, HistoryHalves_AndUseMovesIn) {
  FairLedger ledger(settings_);
  ledger.Restore(key_, {{"cpu", 8000}, {"memory", 1 << 30}}, kNow);
  EXPECT_DOUBLE_EQ(ledger.UsageOf(key_, 1), 8) << "cores; memory weighs nothing here";
  EXPECT_DOUBLE_EQ(ledger.UsageOf(key_, 2), 4);
  EXPECT_TRUE(std::isinf(ledger.UsageOf(key_, 0)));
  ledger.Sample(key_, {}, After(100));
  EXPECT_DOUBLE_EQ(ledger.UsageOf(key_, 1), 4);
  ledger.Sample(key_, {{"cpu", 2000}}, After(200));
  EXPECT_DOUBLE_EQ(ledger.UsageOf(key_, 1), 3);
  EXPECT_EQ(AmountOf(ledger.ConsumedBy(key_), "cpu"), 3000);
}

TEST_F(FairLedgerTest, AStoredHistory_GoesOnWithoutLoss) {
  FairLedger ledger(settings_);
  ledger.Restore(key_, {{"cpu", 8001}, {"memory", 3}}, kNow);
  ledger.Sample(key_, {}, After(50));
  ledger.PushPenalty(key_, {1}, {{"cpu", 4000}});
  FairLedger other(settings_);
  other.Restore(key_, ledger.HistoryOf(key_));
  for (FairLedger* one : {&ledger, &other}) one->Sample(key_, {{"memory", 5}}, After(100));
  EXPECT_EQ(other.HistoryOf(key_).thousandths, ledger.HistoryOf(key_).thousandths);
  EXPECT_EQ(other.HistoryOf(key_).updated, After(100));
  EXPECT_NE(AmountOf(other.HistoryOf(key_).thousandths, "memory") % 1000, 0);
  EXPECT_LT(other.UsageOf(key_, 1), ledger.UsageOf(key_, 1)) << "a penalty is not history";
  EXPECT_FALSE(other.HistoryOf({"ns", "unknown"}).updated.set());
}

TEST_F(FairLedgerTest, Penalty_CountsOnce_AndIsFoldedOrDropped) {
  FairLedger ledger(settings_);
  ledger.PushPenalty(key_, {1}, {{"cpu", 4000}});
  ledger.PushPenalty(key_, {1}, {{"cpu", 4000}});
  EXPECT_DOUBLE_EQ(ledger.UsageOf(key_, 1), 2);
  EXPECT_TRUE(ledger.ConsumedBy(key_).empty()) << "not history yet";
  ledger.FoldPenalty(key_, {1});
  ledger.FoldPenalty(key_, {1});
  EXPECT_EQ(AmountOf(ledger.ConsumedBy(key_), "cpu"), 2000);
  EXPECT_DOUBLE_EQ(ledger.UsageOf(key_, 1), 2) << "now it is history";
  ledger.PushPenalty(key_, {2}, {{"cpu", 4000}});
  ledger.DropPenalty(key_, {2});
  EXPECT_DOUBLE_EQ(ledger.UsageOf(key_, 1), 2);
}

TEST_F(FairLedgerTest, WithoutHalfLife_NothingIsRemembered) {
  settings_.half_life_s = 0;
  FairLedger ledger(settings_);
  ledger.Restore(key_, {{"cpu", 8000}}, kNow);
  ledger.Sample(key_, {{"cpu", 8000}}, After(1));
  EXPECT_DOUBLE_EQ(ledger.UsageOf(key_, 1), 0);
}

}  // namespace
}  // namespace muster::core::testing
