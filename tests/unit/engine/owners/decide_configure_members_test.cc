// The owners that decide, follow the configuration, and act for members.
#include <gtest/gtest.h>

#include "tests/support/owners_world.h"

namespace muster::test {
namespace {

class UpperOwners : public ::testing::Test {
 protected:
  UpperOwners() { world.Declare(); }
  JobPtr Running(const std::string& name = "job") {
    const JobPtr job = world.Submit({.name = name});
    world.Cycle();
    world.Report(job, RemotePhase::kRunning);
    world.Commit();
    return world.Now(job);
  }
  void Tell(bool healthy) {
    ClusterFacts facts;
    facts.cluster = "east";
    facts.healthy = healthy;
    owners.lost_members.Handle(FactsCommand{facts});
    world.Commit();
  }

  OwnersWorld world;
  Owners& owners = world.owners;
};

TEST_F(UpperOwners, ACycleChargesWhatItAdmitsBeforeItsCommit) {
  world.Submit({.name = "first", .pods = {{4, {{"cpu", 1000}}, "main"}}});
  world.Submit({.name = "second"});
  EXPECT_TRUE(owners.decider.Cycle());
  owners.decider.Cycle();
  std::size_t admitted = 0;
  for (const auto& [id, job] : owners.jobs.all()) admitted += HoldsQuota(job->state) ? 1 : 0;
  EXPECT_EQ(admitted, 1u) << "the quota is counted as taken at once";
}

TEST_F(UpperOwners, WithNothingThatWaitsThereIsNoCycle) { EXPECT_FALSE(owners.decider.Cycle()); }

TEST_F(UpperOwners, ASweepTellsTheEqualsOfAJobWhyItWaits) {
  world.Submit({.name = "first", .pods = {{9, {{"cpu", 1000}}, "main"}}});
  const JobPtr equal = world.Submit({.name = "second", .pods = {{9, {{"cpu", 1000}}, "main"}}});
  world.Cycle();
  while (owners.decider.Sweep()) {
  }
  EXPECT_NE(world.Now(equal)->message, "");
  EXPECT_NE(world.Now(equal)->reason, Reason::kPendingEvaluation);
}

TEST_F(UpperOwners, APreviewNamesWhatAnEditWouldAdmitAndChangesNothing) {
  const JobPtr job = world.Submit({.pods = {{6, {{"cpu", 1000}}, "main"}}});
  world.Cycle();
  const std::int64_t before = owners.commits.last_seq();
  Result<EditEffect> effect = Internal("no answer");
  PreviewCommand command;
  command.changes = {ClusterQueueObject({.nominal = {{"cpu", 8000}}})};
  command.done = [&](Result<EditEffect> found) { effect = found; };
  owners.decider.Handle(std::move(command));
  world.Commit();
  ASSERT_TRUE(effect.ok());
  ASSERT_EQ(effect->would_admit.size(), 1u);
  EXPECT_EQ(effect->would_admit.front()->id, job->id);
  EXPECT_EQ(owners.commits.last_seq(), before);
}

TEST_F(UpperOwners, WithoutTopologyThereAreNoTreesOfMachines) {
  EXPECT_EQ(owners.machines.ForestOf(*owners.config.view()), nullptr);
  EXPECT_FALSE(owners.machines.SecondPassDue());
}

TEST_F(UpperOwners, AnEditThatDoesNotFitChangesNothing) {
  const ConfigPtr before = owners.config.view();
  const Status refused =
      world.Apply({FlavorObject("other"), Removal(ObjectKind::kResourceFlavor, "", "default")});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().fields.front().field, "documents[1]");
  EXPECT_EQ(owners.config.view(), before);
  EXPECT_TRUE(owners.commits.tx().Empty());
}

TEST_F(UpperOwners, AQueueWithJobsThatHoldQuotaIsNotRemoved) {
  Running();
  EXPECT_FALSE(world.Apply({Removal(ObjectKind::kClusterQueue, "", "cq")}).ok());
}

TEST_F(UpperOwners, AStoppedQueueIsDrained) {
  const JobPtr job = Running();
  ASSERT_TRUE(world.Apply({ClusterQueueObject({.stop_policy = "HoldAndDrain"})}).ok());
  EXPECT_TRUE(IsTrue(*world.Now(job), "Evicted"));
}

TEST_F(UpperOwners, AReportWaitsForRoomInACommit) {
  const JobPtr job = world.Submit({});
  world.Cycle();
  Observation seen;
  seen.key = CurrentKey(*world.Now(job));
  seen.phase = RemotePhase::kRunning;
  owners.reports.Add(ObservedCommand{seen});
  EXPECT_EQ(world.Now(job)->state, JobState::kAdmitted);
  EXPECT_TRUE(owners.reports.TakeSome());
  EXPECT_EQ(world.Now(job)->state, JobState::kRunning);
  EXPECT_FALSE(owners.reports.TakeSome());
}

TEST_F(UpperOwners, NothingIsDecidedBeforeMembersHaveListed_ButNotForEver) {
  owners.reports.Reset({"east"});
  EXPECT_TRUE(owners.reports.AwaitsLists());
  world.clock.Advance(10'000);
  EXPECT_FALSE(owners.reports.AwaitsLists());
  owners.reports.Reset({"east"});
  owners.reports.Add(ListedCommand{"east", {}, {}});
  owners.reports.TakeSome();
  EXPECT_FALSE(owners.reports.AwaitsLists());
}

TEST_F(UpperOwners, AnObjectWithoutOurMarksIsLeftAlone) {
  Observation seen;
  seen.key = {UidOf("foreign"), 1, "east"};
  seen.remote_uid = "foreign";
  seen.object = {"batch/v1", "Job", "default", "theirs"};
  owners.orphans.Note(seen, nullptr);
  ASSERT_EQ(owners.orphans.set_aside().size(), 1u);
  EXPECT_EQ(owners.orphans.set_aside().begin()->second.reason, SetAsideReason::kUnowned);
  EXPECT_TRUE(owners.commits.tx().orders.empty());
  owners.orphans.ForgetAbsent("east", {});
  EXPECT_TRUE(owners.orphans.set_aside().empty());
}

TEST_F(UpperOwners, AttemptsOfAMemberThatDoesNotAnswerAreUnknownAfterItsGrace) {
  const JobPtr job = Running();
  Tell(false);
  EXPECT_FALSE(owners.lost_members.Fire());
  world.clock.Advance(world.context.options.lost_after_ms);
  EXPECT_TRUE(owners.lost_members.Fire());
  EXPECT_EQ(owners.rows.Find(CurrentKey(*job))->state, DispatchState::kUnknown);
  EXPECT_EQ(owners.jobs.holders().Find(job->id), nullptr) << "nobody waits for a victim there";
  Tell(true);
  EXPECT_NE(owners.jobs.holders().Find(job->id), nullptr);
  EXPECT_EQ(world.orders.lines.back(), "list east");
}

TEST_F(UpperOwners, ADrainedMembersJobsLeaveAndItsProgressSaysSo) {
  const JobPtr job = Running();
  Result<DrainProgress> progress = Internal("no answer");
  DrainCommand command;
  command.cluster = "east";
  command.done = [&](Result<DrainProgress> told) { progress = told; };
  owners.leaving.Handle(std::move(command));
  world.Commit();
  ASSERT_TRUE(progress.ok());
  EXPECT_EQ(progress->evicting, 1u);
  EXPECT_TRUE(IsTrue(*world.Now(job), "Evicted"));
}

TEST_F(UpperOwners, NobodyLeavesAMemberWithoutDrainTaintOrEviction) {
  Running();
  EXPECT_FALSE(owners.leaving.Next().has_value());
  EXPECT_FALSE(owners.leaving.Fire());
}

TEST_F(UpperOwners, RebalancingLooksOnlyAtQueuesThatAskForIt) {
  Running();
  EXPECT_FALSE(owners.leaving.Next().has_value());
  ASSERT_TRUE(
      world.Apply({WithAnnotation(ClusterQueueObject({}), "muster.io/rebalance", "true")}).ok());
  ASSERT_TRUE(owners.leaving.Next().has_value());
  EXPECT_EQ(*owners.leaving.Next() - world.clock.Now(), SecondsToNanos(300));
}

}  // namespace
}  // namespace muster::test
