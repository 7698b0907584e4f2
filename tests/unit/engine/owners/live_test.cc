// The owners of the live world: members, queues, rows, works, records.
#include <gtest/gtest.h>

#include "tests/support/owners_world.h"

namespace muster::test {
namespace {

ClusterFacts FactsOf(const std::string& cluster, const std::string& incarnation) {
  ClusterFacts facts;
  facts.cluster = cluster;
  facts.incarnation = incarnation;
  facts.healthy = true;
  return facts;
}

TEST(KnownMembersOwner, TheNameThatCameFirstKeepsACluster) {
  FakeClock clock;
  KnownMembers members(clock);
  members.SetFacts(FactsOf("east", "uid-1"));
  ClusterFacts again = FactsOf("copy", "uid-1");
  members.RefuseSecondName(&again);
  EXPECT_FALSE(again.healthy);
  EXPECT_EQ(again.message, "it is member cluster east under another name");
  ClusterFacts other = FactsOf("west", "uid-2");
  members.RefuseSecondName(&other);
  EXPECT_TRUE(other.healthy);
}

TEST(KnownMembersOwner, AMemberIsLostOnlyAfterItsGrace) {
  FakeClock clock;
  KnownMembers members(clock);
  members.SetLost("east", {clock.WallNow(), clock.Now(), clock.Now() + kNanosPerSecond});
  EXPECT_FALSE(members.Answers("east"));
  EXPECT_FALSE(members.IsLost("east"));
  clock.Advance(1000);
  EXPECT_TRUE(members.IsLost("east"));
  EXPECT_TRUE(members.SetFound("east"));
  EXPECT_FALSE(members.IsLost("east"));
}

TEST(KnownMembersOwner, ARemovedMemberIsForgottenUntilItIsDeclaredAgain) {
  FakeClock clock;
  KnownMembers members(clock);
  members.SetFacts(FactsOf("east", "uid-1"));
  members.Remove("east");
  EXPECT_TRUE(members.IsRemoved("east"));
  EXPECT_TRUE(members.facts().empty());
  members.Declare("east");
  EXPECT_FALSE(members.IsRemoved("east"));
  EXPECT_TRUE(members.facts().empty());
}

TEST(KnownMembersOwner, AMemberWhoseRemovalWasNotCommittedIsHeardAgainAndKnownAsBefore) {
  FakeClock clock;
  KnownMembers members(clock);
  members.Declare("east");
  members.SetFacts(FactsOf("east", "uid-1"));
  members.Remove("east");
  members.Follow({"east"});
  EXPECT_FALSE(members.IsRemoved("east"));
  ASSERT_TRUE(members.facts().contains("east"));
  EXPECT_EQ(members.FactsOf("east").incarnation, "uid-1");
}

TEST(KnownMembersOwner, ANameThatTheConfigurationOfARecoveryLacksKeepsNoCluster) {
  FakeClock clock;
  KnownMembers members(clock);
  members.Follow({"east"});
  members.SetFacts(FactsOf("east", "uid-1"));
  members.SetFacts(FactsOf("flagged", "uid-3"));
  members.Follow({"west"});
  ClusterFacts told = FactsOf("west", "uid-1");
  members.RefuseSecondName(&told);
  EXPECT_TRUE(told.healthy) << told.message;
  EXPECT_TRUE(members.IsRemoved("east"));
  EXPECT_TRUE(members.facts().contains("flagged")) << "it reports before it is declared";
}

class LiveOwners : public ::testing::Test {
 protected:
  LiveOwners() { world.Declare(); }
  OwnersWorld world;
  Owners& owners = world.owners;
};

TEST_F(LiveOwners, WhatWasFoundOfOneJobHoldsForItsEqualsUntilTheirQueueIsWoken) {
  const JobPtr job = world.Submit({.name = "large", .pods = {{9, {{"cpu", 1000}}, "main"}}});
  const JobPtr equal = world.Submit({.name = "equal", .pods = {{9, {{"cpu", 1000}}, "main"}}});
  world.Cycle();
  const Verdict* verdict = owners.waiting.VerdictOf(*equal);
  ASSERT_NE(verdict, nullptr);
  EXPECT_NE(verdict->message, "");
  owners.waiting.Wake({"cq"});
  EXPECT_EQ(owners.waiting.VerdictOf(*equal), nullptr);
  EXPECT_TRUE(owners.waiting.queues().IsActive(job->id));
}

TEST_F(LiveOwners, QuotaThatCameFreeWakesTheJobsOfItsTree) {
  const JobPtr first = world.Submit({.name = "first", .pods = {{4, {{"cpu", 1000}}, "main"}}});
  world.Cycle();
  const JobPtr second = world.Submit({.name = "second"});
  world.Cycle();
  EXPECT_FALSE(owners.waiting.queues().IsActive(second->id));
  owners.waiting.FlushReleased(owners.jobs.tree());
  EXPECT_FALSE(owners.waiting.queues().IsActive(second->id)) << "nothing came free";
  owners.attempts.End(world.Now(first), JobEvent::kFail, Reason::kFailed, "", nullptr);
  owners.waiting.FlushReleased(owners.jobs.tree());
  EXPECT_TRUE(owners.waiting.queues().IsActive(second->id));
}

TEST_F(LiveOwners, AnOrderWhoseRowHasMovedOnIsNotSent) {
  const JobPtr job = world.Submit({});
  world.Cycle();
  ASSERT_EQ(world.orders.lines.back(), "ensure east/1");
  world.orders.lines.clear();
  Order order;
  order.action = dispatch::Action::kEnsure;
  order.key = CurrentKey(*world.Now(job));
  order.job = world.Now(job);
  owners.rows.SendOrder(order);
  EXPECT_EQ(world.orders.lines, std::vector<std::string>{"ensure east/1"});
  owners.attempts.Stop(world.Now(job), Reason::kCancelled, "", true);
  world.orders.lines.clear();
  owners.rows.SendOrder(order);
  EXPECT_TRUE(world.orders.lines.empty());
}

TEST_F(LiveOwners, ANameOnAMemberIsHeldByOneRow) {
  const JobPtr job = world.Submit({});
  world.Cycle();
  const DispatchRow row = *owners.rows.Find(CurrentKey(*world.Now(job)));
  ASSERT_NE(owners.rows.HolderOfName(row), nullptr);
  DispatchRow elsewhere = row;
  elsewhere.key.cluster = "west";
  EXPECT_EQ(owners.rows.HolderOfName(elsewhere), nullptr);
  DispatchRow gone = row;
  gone.state = DispatchState::kGone;
  owners.rows.Put(gone);
  EXPECT_EQ(owners.rows.HolderOfName(row), nullptr);
  EXPECT_FALSE(owners.rows.HasAny(job->uid));
}

TEST_F(LiveOwners, WorksAreShownAsRecordedAndEnd) {
  auto work = std::make_shared<Work>();
  work->placement = "crp";
  work->cluster = "east";
  RecordWorksCommand record;
  record.works = {work};
  record.done = [](const Status&) {};
  owners.works.Handle(std::move(record));
  EXPECT_EQ(owners.works.table().works.size(), 1u);
  EXPECT_EQ(owners.commits.tx().works.size(), 1u);
  RecordWorksCommand end;
  end.ended_works = {KeyOf(*work)};
  end.done = [](const Status&) {};
  owners.works.Handle(std::move(end));
  EXPECT_TRUE(owners.works.table().works.empty());
}

class FollowerRecorder final : public JobFollower {
 public:
  void Enter(const JobPtr& job) override { lines.push_back("enter " + job->name); }
  void Change(const JobRecord& before, const JobPtr& job) override {
    lines.push_back(std::string(JobStateName(before.state)) + " -> " +
                    std::string(JobStateName(job->state)));
  }
  void Leave(JobId) override { lines.push_back("leave"); }
  void ChangeSoft(const JobPtr&) override { lines.push_back("soft"); }
  std::vector<std::string> lines;
};

TEST_F(LiveOwners, EveryFollowerHearsOfAJobFromItsEntryToItsEnd) {
  FollowerRecorder follower;
  owners.jobs.AddFollower(&follower);
  const JobPtr job = world.Submit({});
  owners.attempts.End(world.Now(job), JobEvent::kCancel, Reason::kCancelled, "", nullptr);
  owners.jobs.Leave(world.Now(job));
  EXPECT_EQ(follower.lines,
            (std::vector<std::string>{"enter job", "Pending -> Cancelled", "leave"}));
  EXPECT_EQ(owners.jobs.Find(job->id), nullptr);
}

TEST_F(LiveOwners, AChangeIsStampedCountedAtOnceAndShownWhenDurable) {
  const JobPtr job = world.Submit({});
  const JobPtr held = owners.jobs.Put(job, changes::Held(*job), "JobHeld");
  EXPECT_GT(held->resource_version, job->resource_version);
  EXPECT_EQ(owners.commits.tx().jobs.at(job->id), held);
  EXPECT_FALSE(owners.waiting.Contains(job->id));
  EXPECT_EQ(owners.commits.committed().jobs.Find(job->id)->state, JobState::kPending);
  world.Commit();
  EXPECT_EQ(owners.commits.committed().jobs.Find(job->id)->state, JobState::kHeld);
}

TEST_F(LiveOwners, AReasonIsShownBeforeItIsWritten) {
  const JobPtr job = world.Submit({});
  owners.jobs.PutSoft(
      job,
      [](const JobRecord& one) {
    auto draft = std::make_shared<JobRecord>(one);
    draft->message = "waits";
    return draft;
      },
      true);
  EXPECT_EQ(owners.commits.committed().jobs.Find(job->id)->message, "waits");
  EXPECT_TRUE(owners.commits.tx().jobs.empty());
  owners.jobs.AddLazyRows();
  EXPECT_EQ(owners.commits.tx().jobs.at(job->id)->message, "waits");
}

TEST_F(LiveOwners, ARecountUnderOtherQuotasGivesWhatTheJobsHold) {
  const JobPtr job = world.Submit({});
  world.Cycle();
  owners.jobs.Recount(core::QuotaTree::Build(*owners.config.view()));
  const core::QuotaTree& tree = owners.jobs.tree();
  EXPECT_EQ(owners.jobs.planned().usage().At(tree.ClusterQueueIndex("cq"),
                                             tree.PairIndex("default", "cpu")),
            1000);
  EXPECT_NE(owners.jobs.holders().Find(job->id), nullptr);
}

}  // namespace
}  // namespace muster::test
