// A waiting job's reason has numbers that change with every heartbeat: the view has the latest
// numbers, the history one event for each reason and minute.
#include "schedd/engine/live/pending_news.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "schedd/engine/configure/audit_details.h"
#include "schedd/model/reason.h"
#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr JobId kJob{7}, kOther{8};
constexpr Reason kQuota = Reason::kWaitingForQuota, kRoom = Reason::kWaitingForCapacity;

Monotonic At(std::int64_t seconds) { return Monotonic{seconds * kNanosPerSecond}; }

TEST(PendingNews, AReasonIsToldOnceInAMinute_AndWhatWasKeptIsDueThen) {
  PendingNews news;
  EXPECT_TRUE(news.Tell(kJob, kQuota, At(0)));
  EXPECT_FALSE(news.Tell(kJob, kQuota, At(1)));
  EXPECT_TRUE(news.Tell(kJob, kRoom, At(2))) << "another reason is news";
  EXPECT_FALSE(news.Tell(kJob, kQuota, At(3))) << "and back again is none";
  EXPECT_TRUE(news.Tell(kOther, kQuota, At(4)));
  EXPECT_THAT(news.TakeDue(At(59)), IsEmpty());
  EXPECT_THAT(news.TakeDue(At(60)), ElementsAre(kJob));
  EXPECT_TRUE(news.Tell(kJob, kQuota, At(60)));
  EXPECT_THAT(news.TakeDue(At(119)), IsEmpty()) << "nothing was kept of the others";
}

TEST(PendingNews, WhatChangesOtherwiseMakesEveryReasonNews) {
  PendingNews news;
  EXPECT_TRUE(news.Tell(kJob, kQuota, At(0)));
  EXPECT_FALSE(news.Tell(kJob, kQuota, At(1)));
  news.Forget(kJob);
  EXPECT_TRUE(news.Tell(kJob, kQuota, At(2)));
  EXPECT_THAT(news.TakeDue(At(61)), IsEmpty()) << "told at 2, not at 0";
  news.Clear();
  EXPECT_TRUE(news.Tell(kJob, kQuota, At(3)));
}

std::size_t PendingEvents(const EngineWorld& world, JobId job) {
  return static_cast<std::size_t>(std::count_if(
      world.events.begin(), world.events.end(),
      [&](const Event& event) { return event.job == job && event.type == kPendingEvent; }));
}

TEST(PendingNews, AJobWhoseSentenceChangesEverySecond_HasItInTheViewAndFewEvents) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  ASSERT_NE(world.Submit({.name = "holder"}), nullptr);
  world.Run();
  JobSpec wide{.name = "wide"};
  wide.pods = {{.each = {{"cpu", 7000}}}};
  const JobId id = world.Submit(wide)->id;
  world.Run();
  std::string message = world.Job(id)->message;
  const std::size_t before = PendingEvents(world, id);
  EXPECT_GE(before, 1U);
  for (int second = 1; second <= 180; ++second) {
    world.clock.Advance(1000);
    ASSERT_TRUE(world.Apply({ClusterQueueObject({.nominal = {{"cpu", 4000 + second}}})}).ok());
    world.Run();
    EXPECT_NE(world.Job(id)->message, message) << "the view is current";
    message = world.Job(id)->message;
  }
  EXPECT_LE(PendingEvents(world, id), before + 4);
  EXPECT_GE(PendingEvents(world, id), before + 2) << "and about once a minute it is told";
  world.clock.Advance(61'000);
  world.Run();
  const auto stored = world.store.ReadJob(id);
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ((*stored)->message, message) << "the last sentence is written when its time comes";
}

TEST(PendingNews, AReleasedJobSaysAgainWhyItWaits) {
  EngineWorld world;
  world.Declare({{"cpu", 0}}, {{"cpu", 8000}});
  const JobId id = world.Submit({.name = "job"})->id;
  world.Run();
  const std::size_t before = PendingEvents(world, id);
  ASSERT_TRUE(world.Do(JobVerb::kHold, id).ok());
  ASSERT_TRUE(world.Do(JobVerb::kRelease, id).ok());
  world.Run();
  EXPECT_EQ(PendingEvents(world, id), before + 1);
}

// --- the audit trail

TEST(AuditDetails, TheQuotasThatChangedAreNamedWithFromAndTo) {
  ClusterQueue before, after;
  before.resource_groups = {
      {{"cpu", "gpu"},
       {{"f", {{"cpu", {8000, std::nullopt, std::nullopt}}, {"gpu", {8, std::nullopt, 2}}}}}}};
  EXPECT_EQ(QuotaChanges(&before, &before), "");
  after = before;
  after.resource_groups[0].flavors[0].resources[1].second = {12, 4, std::nullopt};
  EXPECT_EQ(QuotaChanges(&before, &after),
            "f/gpu nominal 8 -> 12, borrowingLimit none -> 4, lendingLimit 2 -> none");
  EXPECT_THAT(QuotaChanges(nullptr, &after), HasSubstr("f/cpu nominal none -> 8; f/gpu nominal"));
  EXPECT_THAT(QuotaChanges(&after, nullptr), HasSubstr("f/cpu nominal 8 -> none"));
}

TEST(AuditDetails, AnEditOfAQuotaIsInTheTrail) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  ASSERT_TRUE(world.Apply({ClusterQueueObject({.nominal = {{"cpu", 6000}}})}).ok());
  const auto rows = world.store.ReadAudit(1);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->front().object, "clusterqueue/cq");
  EXPECT_EQ(rows->front().detail, "default/cpu nominal 4 -> 6");
}

}  // namespace
}  // namespace muster::test
